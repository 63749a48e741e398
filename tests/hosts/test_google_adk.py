"""Google's ADK, with a scripted model behind its real runner."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.session import Session
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types
from pydantic import Field

from hybrid_memory import HybridMemory
from hybrid_memory.errors import InvalidInputError, StoreUnavailableError
from hybrid_memory_hosts.google_adk import HybridMemoryService, HybridSessionService
from tests.hosts.conftest import Broken
from tests.world import cases

WHO: dict[str, Any] = {"app_name": "app", "user_id": "alice"}


def content(role: str, *parts: Any) -> types.Content:
    return types.Content(role=role, parts=[types.Part(**part) for part in parts])


def said(words: str, **fields: Any) -> Event:
    return Event(author="user", invocation_id="i1", content=content("user", {"text": words}), **fields)


EVENTS = [Event.model_validate(given) for given in cases("hosts/google_adk.json", "events")]


class Scripted(BaseLlm):
    """Answers from a list; keeps what it was sent."""

    model: str = "scripted"
    answers: list[Any] = Field(default_factory=list)
    sent: list[LlmRequest] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.sent.append(llm_request.model_copy(deep=False, update={"contents": list(llm_request.contents)}))
        answer = self.answers.pop(0)
        part = {"text": answer} if isinstance(answer, str) else {"function_call": answer}
        yield LlmResponse(content=content("model", part))

    @property
    def shown(self) -> str:
        """All that the model was told; where a preloaded memory stands depends on the version."""
        request = self.sent[-1]
        said = [part.text or "" for one in request.contents for part in one.parts or ()]
        return "\n".join([str(request.config.system_instruction), *said])


def runner(memory: HybridMemory, model: Scripted, *tools: Any, **agent: Any) -> Runner:
    return Runner(
        app_name="app",
        agent=LlmAgent(name="helper", model=model, tools=[*tools], **agent),
        session_service=HybridSessionService(memory),
        memory_service=HybridMemoryService(memory),
    )


async def say(run: Runner, user: str, session: str, words: str) -> list[Event]:
    return [
        event
        async for event in run.run_async(
            user_id=user,
            session_id=session,
            new_message=content("user", {"text": words}),
            run_config=RunConfig(max_llm_calls=5),
        )
    ]


@pytest.fixture
def service(memory: HybridMemory) -> HybridSessionService:
    return HybridSessionService(memory)


async def filled(service: HybridSessionService, *events: Event, session_id: str = "s1") -> Session:
    session = await service.create_session(**WHO, session_id=session_id)
    for event in events:
        await service.append_event(session, event.model_copy(deep=True))
    return session


async def again(service: HybridSessionService, session_id: str = "s1", **config: Any) -> Session:
    found = await service.get_session(**WHO, session_id=session_id, config=GetSessionConfig(**config))
    assert found is not None
    return found


class TestSessions:
    async def test_events_come_back_as_they_were(self, service: HybridSessionService) -> None:
        session = await filled(service, *EVENTS)
        found = await again(service)
        assert found.events == session.events == EVENTS
        assert found.state == session.state == {"seen": None, "n": [1]}
        assert found.last_update_time == session.last_update_time == EVENTS[-1].timestamp

    async def test_state_follows_its_prefix(self, service: HybridSessionService, memory: HybridMemory) -> None:
        first = await service.create_session(
            **WHO, session_id="s1", state={"app:a": 1, "user:u": 1, "own": 1, "temp:t": 1}
        )
        assert first.state == {"app:a": 1, "user:u": 1, "own": 1}
        delta = {"app:a": 2, "user:u": 2, "own": 2, "temp:t": 2}
        event = await service.append_event(first, said("hi", actions=EventActions(state_delta=delta)))
        assert first.state == {"app:a": 2, "user:u": 2, "own": 2, "temp:t": 2}
        assert "temp:t" not in event.actions.state_delta
        assert (await again(service)).state == {"app:a": 2, "user:u": 2, "own": 2}
        second = await service.create_session(**WHO, session_id="s2")
        assert second.state == {"app:a": 2, "user:u": 2}
        bob = await service.create_session(app_name="app", user_id="bob")
        assert bob.state == {"app:a": 2}
        other = await service.create_session(app_name="other", user_id="alice")
        assert other.state == {}
        assert await service.get_user_state(**WHO) == {"u": 2}
        await memory.aforget(user="alice")
        assert await service.get_user_state(**WHO) == {}

    async def test_they_are_made_listed_and_deleted(self, service: HybridSessionService, memory: HybridMemory) -> None:
        await filled(service, said("one", timestamp=20.0), session_id=" s1 ")
        await filled(service, said("two", timestamp=10.0), session_id="s2")
        bob = await service.create_session(app_name="app", user_id="bob")
        with pytest.raises(AlreadyExistsError):
            await service.create_session(**WHO, session_id="s1")
        listed = (await service.list_sessions(app_name="app")).sessions
        assert [(one.user_id, one.id) for one in listed] == [("alice", "s2"), ("alice", "s1"), ("bob", bob.id)]
        assert [one.events for one in listed] == [[], [], []]
        await service.delete_session(**WHO, session_id="s1")
        await service.delete_session(**WHO, session_id="nowhere")
        assert await service.get_session(**WHO, session_id="s1") is None
        assert [one.id for one in (await service.list_sessions(**WHO)).sessions] == ["s2"]
        assert (await service.list_sessions(app_name="nowhere")).sessions == []
        assert "one" in [one.text for one in memory.scoped(user="alice", agent="app").history()]
        assert (await filled(service, session_id="s1")).events == []

    async def test_an_event_that_is_given_again_changes_nothing(
        self, service: HybridSessionService, broken: Broken
    ) -> None:
        session = await filled(service)
        event = said("hi", actions=EventActions(state_delta={"user:n": 1, "own": 1}))
        with broken(), pytest.raises(StoreUnavailableError):
            await service.append_event(session, event)
        assert (session.events, session.state) == ([], {})
        for _ in range(2):
            await service.append_event(session, event)
        partial = said("h", partial=True)
        assert await service.append_event(session, partial) is partial
        assert session.events == (await again(service)).events == [event]
        assert (await again(service)).state == {"user:n": 1, "own": 1}
        with pytest.raises(SessionNotFoundError):
            await service.append_event(session.model_copy(update={"id": "nowhere"}), said("hi"))


class TestMemories:
    async def test_a_session_of_another_service_is_added_once(self, memory: HybridMemory) -> None:
        elsewhere, service = InMemorySessionService(), HybridMemoryService(memory)
        session = await elsewhere.create_session(**WHO, session_id="s1")
        for event in EVENTS:
            await elsewhere.append_event(session, event.model_copy(deep=True))
        for _ in range(2):
            await service.add_session_to_memory(session)
        found = await service.search_memory(**WHO, query="Which city does she live in?")
        assert found.memories[0].content == content("user", {"text": "I live in Berlin."})
        assert found.memories[0].author == "user"
        assert len(memory.scoped(user="alice", agent="app").history()) == len(EVENTS) + 1
        for other in ({**WHO, "user_id": "bob"}, {**WHO, "app_name": "other"}):
            assert (await service.search_memory(**other, query="Which city does she live in?")).memories == []
        await service.delete_memory(**WHO, memory_id=found.memories[0].id)
        await service.add_session_to_memory(session)
        left = (await service.search_memory(**WHO, query="Which city does she live in?")).memories
        assert "Berlin" not in str(left)
        with pytest.raises(InvalidInputError, match="which memory"):
            await service.delete_memory(**WHO)


class TestAnAgent:
    async def test_remembers_over_sessions_and_tells_users_apart(self, memory: HybridMemory) -> None:
        model = Scripted(answers=["Noted.", "In Berlin.", "I do not know."])
        run = runner(memory, model, PreloadMemoryTool())
        for user, session in [("alice", "s1"), ("alice", "s2"), ("bob", "s1")]:
            await run.session_service.create_session(app_name="app", user_id=user, session_id=session)
        await say(run, "alice", "s1", "I live in Berlin.")
        await say(run, "alice", "s2", "Which city do I live in?")
        assert "user: I live in Berlin." in model.shown
        await say(run, "bob", "s1", "Which city do I live in?")
        assert "Berlin" not in model.shown
