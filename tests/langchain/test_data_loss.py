"""Histories on which a summary that replaces messages loses some; here none is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from hybrid_memory import HybridMemory, ScopedMemory
from hybrid_memory.text.tokens import estimate_tokens
from langchain_hybrid_memory import HybridMemoryMiddleware
from tests.langchain.conftest import THREAD, ScriptedChat, orphans

if TYPE_CHECKING:
    from tests.faces import Open
    from tests.langchain.conftest import Invoke


BUDGET = 2000
FILLING = (
    "We walked through the rooms, looked at the walls and windows, and wrote down what is to be mended there. " * 6
)


@tool
def look_up(number: int) -> str:
    """Look up a part."""
    return f"Part {number} is called zircon{number}. {FILLING}"


def size(prompt: Sequence[BaseMessage]) -> int:
    return sum(estimate_tokens(message.text) for message in prompt)


def reached(scoped: ScopedMemory, names: Sequence[str]) -> list[str]:
    """Those that recall finds by their name, in the words in which they were said."""
    return [name for name in names if any(name in hit.record.text for hit in scoped.recall(name, k=5))]


def kept(memory: HybridMemory, state: dict[str, Any], names: Sequence[str]) -> None:
    """Every message of the state is in the log, and every name can be recalled and expanded."""
    scoped = memory.scoped(user="alice", session="t1")
    told = [message.text for message in scoped.history()]
    assert [text for text in told if text] == [text for text in map(_words, state["messages"]) if text]
    assert reached(scoped, names) == list(names)
    summary = scoped.summary()
    folded = [message.text for first, last in summary.stretches for message in scoped.expand(f"#{first}-{last}")]
    assert folded == told[: len(folded)]


def _words(message: BaseMessage) -> str:
    calls = [f'look_up {{"number": {call["args"]["number"]}}}' for call in getattr(message, "tool_calls", [])]
    return "\n".join(part for part in (message.text, *calls) if part)


@pytest.fixture
def memory(opened: Open) -> HybridMemory:
    return opened()


def test_a_history_far_beyond_the_budget(memory: HybridMemory, invoke: Invoke) -> None:
    names = [f"zircon{row}" for row in range(50)]
    history: list[AnyMessage] = []
    for row, name in enumerate(names):
        history += [HumanMessage(f"Room {row} belongs to {name}. {FILLING}"), AIMessage(f"Noted for {name}. {FILLING}")]
    assert size(history) > 12_500
    model = ScriptedChat(answers=["It is noted."])
    agent = create_agent(model, middleware=[HybridMemoryMiddleware(memory, max_tokens=BUDGET)])
    state = invoke(agent, {"messages": [*history, HumanMessage("Whose is room 3?")]}, THREAD)
    (prompt,) = model.prompts
    assert size(prompt) <= BUDGET
    assert not orphans(prompt)
    assert "zircon3." in prompt[-1].text, "recalled beside the question"
    kept(memory, state, names)


def test_one_turn_of_the_user_with_many_calls(memory: HybridMemory, invoke: Invoke) -> None:
    def answer(prompt: list[BaseMessage]) -> AIMessage:
        row = len(model.prompts) - 1
        if row == 30:
            return AIMessage("All parts are looked up.")
        return AIMessage("", tool_calls=[{"name": "look_up", "args": {"number": row}, "id": f"c{row}"}])

    model = ScriptedChat(answer=answer)
    agent = create_agent(
        model, [look_up], middleware=[HybridMemoryMiddleware(memory, max_tokens=BUDGET)], checkpointer=InMemorySaver()
    )
    state = invoke(agent, {"messages": [HumanMessage("Look up parts 0 to 29.")]}, {**THREAD, "recursion_limit": 400})
    for prompt in model.prompts:
        assert size(prompt) <= BUDGET
        assert not orphans(prompt)
        assert any(message.type == "human" and "Look up parts 0 to 29." in message.text for message in prompt)
    assert len(state["messages"]) == 62
    kept(memory, state, [f"zircon{row}" for row in range(30)])


@pytest.mark.parametrize("checkpoints", [False, True])
def test_calls_with_long_arguments(memory: HybridMemory, invoke: Invoke, checkpoints: bool) -> None:
    def write(path: str, text: str) -> str:
        """Write a file."""
        return f"{len(text)} characters in {path}"

    def answer(prompt: list[BaseMessage]) -> AIMessage:
        row = len(model.prompts) - 1
        if row == 8:
            return AIMessage("All files are written.")
        wanted = {"path": f"zircon{row}.md", "text": f"Chapter {row}. {FILLING * 3}"}
        return AIMessage("", tool_calls=[{"name": "write", "args": wanted, "id": f"c{row}"}])

    model = ScriptedChat(answer=answer)
    layer = HybridMemoryMiddleware(memory, max_tokens=BUDGET)
    checkpointer = InMemorySaver() if checkpoints else None
    agent = create_agent(model, [write], middleware=[layer], checkpointer=checkpointer)
    state = invoke(agent, {"messages": [HumanMessage("Write eight chapters.")]}, {**THREAD, "recursion_limit": 100})
    for prompt in model.prompts:
        arguments = [str(call["args"]) for message in prompt for call in getattr(message, "tool_calls", [])]
        assert size(prompt) + sum(map(estimate_tokens, arguments)) <= BUDGET
        assert not orphans(prompt)
    written = [call["args"]["text"] for message in state["messages"] for call in getattr(message, "tool_calls", [])]
    told = [call for message in memory.scoped(user="alice", session="t1").history() for call in message.tool_calls]
    assert [call.arguments["text"] for call in told if isinstance(call.arguments, dict)] == written
    assert len(written) == 8
