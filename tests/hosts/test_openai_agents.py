"""The OpenAI Agents SDK, with a scripted model behind its real runner."""

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, set_tracing_disabled
from agents.memory import Session
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from hybrid_memory import HybridMemory, ScopedMemory
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory_hosts.openai_agents import HybridSession, MemoryInput, memory_tools
from tests.hosts.conftest import Broken
from tests.world import cases

set_tracing_disabled(True)

ITEMS: list[Any] = cases("hosts/openai_agents.json", "items")


def message(text: str) -> Any:
    content: list[Any] = [ResponseOutputText(annotations=[], text=text, type="output_text")]
    return ResponseOutputMessage(id="m", content=content, role="assistant", status="completed", type="message")


def call(name: str, **arguments: Any) -> Any:
    return ResponseFunctionToolCall(arguments=json.dumps(arguments), call_id="c1", name=name, type="function_call")


class Scripted(Model):
    """Answers from a list; keeps the inputs."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.inputs: list[list[Any]] = []

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:  # noqa: A002
        self.inputs.append(list(input))
        answer = self.answers.pop(0)
        output = [message(answer) if isinstance(answer, str) else answer]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError

    @property
    def asked(self) -> str:
        """What the user said last, as the model was shown it."""
        return str([item["content"] for item in self.inputs[-1] if item.get("role") == "user"][-1])


async def run(agent: Agent[Any], words: str, **options: Any) -> Any:
    return (await Runner.run(agent, words, **options)).final_output


class TestASession:
    async def test_items_come_back_as_they_were(self, alice: ScopedMemory) -> None:
        session = HybridSession(alice)
        assert isinstance(session, Session)
        await session.add_items(ITEMS)
        await session.add_items([])
        assert await session.get_items() == ITEMS
        assert await HybridSession(alice).get_items(4) == ITEMS[-4:]
        assert await session.get_items(0) == []
        assert len(await session.get_items(1_000)) == len(ITEMS)

    async def test_what_is_taken_away_can_be_recalled_until_it_is_forgotten(self, alice: ScopedMemory) -> None:
        session = HybridSession(alice)
        assert await session.pop_item() is None
        await session.add_items(ITEMS)
        assert [await session.pop_item() for _ in range(3)] == ITEMS[:-4:-1]
        assert await session.get_items() == ITEMS[:-3]
        await session.clear_session()
        assert await session.get_items() == []
        await session.add_items(ITEMS[:1])
        assert await session.get_items() == ITEMS[:1]
        assert len(await alice.ahistory()) == len(ITEMS) + 1
        await alice.aforget(query="Berlin")
        assert await session.get_items() == []
        assert "Berlin" not in str(await alice.ahistory())


class TestAnAgent:
    async def test_remembers_over_sessions_and_tells_users_apart(self, memory: HybridMemory) -> None:
        model = Scripted("Noted.", "In Berlin.", "I do not know.")
        agent = Agent(name="helper", model=model)
        shown = RunConfig(call_model_input_filter=MemoryInput(lambda user: memory.scoped(user=user)))
        for user, session, words in [
            ("alice", "s1", "I live in Berlin."),
            ("alice", "s2", "Which city do I live in?"),
            ("bob", "s1", "Which city do I live in?"),
        ]:
            held = HybridSession(memory.scoped(user=user, session=session))
            await run(agent, words, session=held, run_config=shown, context=user)
            if user == "bob":
                assert model.asked == "Which city do I live in?"
        alice = model.inputs[1][-1]["content"]
        assert "I live in Berlin." in alice
        assert alice.count("Which city do I live in?") == 1
        assert alice.endswith("\n\nWhich city do I live in?")
        held = HybridSession(memory.scoped(user="alice", session="s2"))
        assert (await held.get_items())[0] == {"role": "user", "content": "Which city do I live in?"}

    async def test_goes_on_without_memory_where_the_store_fails(
        self, memory: HybridMemory, broken: Broken, caplog: pytest.LogCaptureFixture
    ) -> None:
        alice = memory.scoped(user="alice")
        model = Scripted("Hello.", call("memory_remember", text="Tea."), "I cannot keep it.")
        agent = Agent(name="helper", model=model, tools=[*memory_tools(alice)])
        with broken(), caplog.at_level(logging.WARNING):
            shown = RunConfig(call_model_input_filter=MemoryInput(alice))
            assert await run(agent, "What do I drink?", run_config=shown) == "Hello."
            assert await run(agent, "Keep it.") == "I cannot keep it."
            with pytest.raises(StoreUnavailableError):  # the session is all that there is of the conversation
                await HybridSession(memory.scoped(user="alice", session="s1")).get_items()
        assert "continues without memory" in caplog.text
        assert "cannot be reached" in model.inputs[-1][-1]["output"]
