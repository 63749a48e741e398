"""Pydantic AI, with its own function model behind real agents."""

import logging
from collections.abc import Callable

import pytest
from pydantic_ai import Agent, messages
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from hybrid_memory import HybridMemory, ScopedMemory
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory_hosts.pydantic_ai import HybridMemoryCapability, HybridMessageHistory, memory_toolset
from hybrid_memory_hosts.pydantic_messages import from_model_messages, to_model_messages
from tests.hosts.conftest import Broken
from tests.world import assistant, cases, user

SAID: list[ModelMessage] = messages.ModelMessagesTypeAdapter.validate_python(cases("hosts/pydantic_ai.json", "said"))


class Scripted:
    """Answers from a list; keeps what it was sent."""

    __name__ = "scripted"  # a function has one, and the host asks for it

    def __init__(self, *answers: str | ToolCallPart) -> None:
        self.answers, self.sent = list(answers), list[list[ModelMessage]]()

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.sent.append(messages)
        answer = self.answers.pop(0)
        return ModelResponse(parts=[TextPart(answer) if isinstance(answer, str) else answer])

    @property
    def asked(self) -> str:
        """What the user said last, as the model was shown it."""
        parts = [part for message in self.sent[-1] for part in message.parts if isinstance(part, UserPromptPart)]
        return str(parts[-1].content)

    @property
    def answered(self) -> str:
        """What a tool gave last."""
        parts = [part for message in self.sent[-1] for part in message.parts if isinstance(part, ToolReturnPart)]
        return str(parts[-1].content)


@pytest.fixture
def whose(memory: HybridMemory) -> Callable[[str], ScopedMemory]:
    """The memory for the deps of a run: a user, in one session."""
    return lambda user: memory.scoped(user=user, session="s1")


class TestAHistory:
    async def test_messages_come_back_as_they_were(self, alice: ScopedMemory) -> None:
        assert to_model_messages(from_model_messages(SAID)) == SAID
        history = HybridMessageHistory(alice)
        history.add(SAID[:3])
        await history.aadd(SAID[3:])
        assert history.messages() == await history.amessages() == SAID

    async def test_what_was_said_in_another_host_is_its_history(self, alice: ScopedMemory) -> None:
        alice.remember([user("When do I fly?"), assistant("On Friday.")])
        asked, answered = await HybridMessageHistory(alice).amessages()
        assert [part.content for part in asked.parts if isinstance(part, UserPromptPart)] == ["When do I fly?"]
        assert answered.parts == [TextPart("On Friday.")]

    async def test_a_window_begins_with_a_turn_and_parts_no_call(self, alice: ScopedMemory) -> None:
        history = HybridMessageHistory(alice)
        await history.aadd([SAID[0], SAID[1], SAID[2], SAID[-1]])
        (asked, answer) = await history.amessages(3)
        assert asked.parts == SAID[2].parts[3:]
        assert answer == SAID[-1]

    async def test_it_begins_anew_and_the_log_keeps_all(self, alice: ScopedMemory) -> None:
        history = HybridMessageHistory(alice)
        history.add(SAID[:1])
        history.clear()
        assert history.messages() == []
        await history.aadd(SAID[:1])
        await history.aclear()
        assert [one.text for one in alice.history()] == 2 * ["Be brief.", "I live in Berlin."]


class TestAnAgent:
    async def test_remembers_and_tells_users_apart(self, whose: Callable[[str], ScopedMemory]) -> None:
        model = Scripted("Noted.", "In Berlin.", "I do not know.")
        agent = Agent(FunctionModel(model), deps_type=str, capabilities=[HybridMemoryCapability(whose)])
        await agent.run("I live in Berlin.", deps="alice")
        result = await agent.run("Which city do I live in?", deps="alice")
        assert "user: I live in Berlin." in model.asked
        assert "user: I live in Berlin." not in str(result.all_messages())
        await agent.run("Which city do I live in?", deps="bob")
        assert model.asked == "Which city do I live in?"
        assert len(whose("alice").history()) == 4

    async def test_goes_on_without_memory_where_the_store_fails(
        self, whose: Callable[[str], ScopedMemory], broken: Broken, caplog: pytest.LogCaptureFixture
    ) -> None:
        model = Scripted(ToolCallPart("memory_remember", {"text": "Tea."}, "c1"), "Hello.")
        agent = Agent(
            FunctionModel(model),
            deps_type=str,
            capabilities=[HybridMemoryCapability(whose)],
            toolsets=[memory_toolset(whose)],
        )
        with broken(), caplog.at_level(logging.WARNING):
            assert (await agent.run("What do I drink?", deps="alice")).output == "Hello."
            with pytest.raises(StoreUnavailableError):  # the history is all that there is of the conversation
                HybridMessageHistory(whose("alice")).messages()
        assert "continues without memory" in caplog.text
        assert "were not stored: the disk is gone" in caplog.text
        assert "cannot be reached" in model.answered
