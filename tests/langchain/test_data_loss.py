"""Histories on which a summary that replaces messages loses some; here none is lost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from hybrid_memory import HybridMemory, LearningConfig, MemoryConfig, ScopedMemory, open_memory
from hybrid_memory.text.tokens import estimate_tokens
from langchain_hybrid_memory import HybridMemoryMiddleware

if TYPE_CHECKING:
    from tests.faces import Open
    from tests.langchain.conftest import Invoke, ScriptedChat

    Scripted = type[ScriptedChat]
    Orphans = Callable[[Sequence[BaseMessage]], list[str]]

THREAD: Any = {"configurable": {"thread_id": "t1", "user_id": "alice"}}
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


def test_a_history_far_beyond_the_budget(
    memory: HybridMemory, scripted: Scripted, invoke: Invoke, orphans: Orphans
) -> None:
    names = [f"zircon{row}" for row in range(50)]
    history: list[AnyMessage] = []
    for row, name in enumerate(names):
        history += [HumanMessage(f"Room {row} belongs to {name}. {FILLING}"), AIMessage(f"Noted for {name}. {FILLING}")]
    assert size(history) > 12_500
    model = scripted(answers=["It is noted."])
    agent = create_agent(model, middleware=[HybridMemoryMiddleware(memory, max_tokens=BUDGET)])
    state = invoke(agent, {"messages": [*history, HumanMessage("Whose is room 3?")]}, THREAD)
    (prompt,) = model.prompts
    assert size(prompt) <= BUDGET
    assert not orphans(prompt)
    assert "zircon3." in prompt[-1].text, "recalled beside the question"
    kept(memory, state, names)


def test_one_turn_of_the_user_with_many_calls(
    memory: HybridMemory, scripted: Scripted, invoke: Invoke, orphans: Orphans
) -> None:
    def answer(prompt: list[BaseMessage]) -> AIMessage:
        row = len(model.prompts) - 1
        if row == 30:
            return AIMessage("All parts are looked up.")
        return AIMessage("", tool_calls=[{"name": "look_up", "args": {"number": row}, "id": f"c{row}"}])

    model = scripted(answer=answer)
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
def test_calls_with_long_arguments(
    memory: HybridMemory, scripted: Scripted, invoke: Invoke, orphans: Orphans, checkpoints: bool
) -> None:
    def write(path: str, text: str) -> str:
        """Write a file."""
        return f"{len(text)} characters in {path}"

    def answer(prompt: list[BaseMessage]) -> AIMessage:
        row = len(model.prompts) - 1
        if row == 8:
            return AIMessage("All files are written.")
        wanted = {"path": f"zircon{row}.md", "text": f"Chapter {row}. {FILLING * 3}"}
        return AIMessage("", tool_calls=[{"name": "write", "args": wanted, "id": f"c{row}"}])

    model = scripted(answer=answer)
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


def test_words_between_two_results_of_one_call(
    memory: HybridMemory, scripted: Scripted, invoke: Invoke, orphans: Orphans
) -> None:
    calls: Any = [{"name": "look_up", "args": {"number": row}, "id": f"c{row}"} for row in range(2)]
    history: list[AnyMessage] = [HumanMessage(f"Turn {row} about quartz{row}. {FILLING}") for row in range(30)]
    history += [
        HumanMessage("Look up 0 and 1."),
        AIMessage("", tool_calls=calls),
        ToolMessage("Part 0 is called zircon0.", tool_call_id="c0"),
        HumanMessage("Please hurry."),
        ToolMessage("Part 1 is called zircon1.", tool_call_id="c1"),
    ]
    model = scripted(answers=["zircon0 and zircon1"])
    agent = create_agent(model, [look_up], middleware=[HybridMemoryMiddleware(memory, max_tokens=BUDGET)])
    state = invoke(agent, {"messages": history}, THREAD)
    (prompt,) = model.prompts
    assert not orphans(prompt)
    assert size(prompt) <= BUDGET
    shown = [message.text for message in prompt if message.type in {"human", "tool"}][-4:]
    assert [text.splitlines()[-1] for text in shown] == [
        "Look up 0 and 1.", "Part 0 is called zircon0.", "Part 1 is called zircon1.", "Please hurry."
    ]  # fmt: skip
    kept(memory, state, ["zircon0", "zircon1", *(f"quartz{row}" for row in range(30))])


@pytest.mark.parametrize(
    ("fault", "invoke"),
    [(RuntimeError("rate limit"), "blocking"), ("", "async"), ("Error generating summary: timeout", "async")],
    indirect=["invoke"],
)
def test_a_summariser_that_fails(
    fault: Any, store: str, scripted: Scripted, invoke: Invoke, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []

    def summarise(prompt: str) -> str:
        asked.append(prompt)
        if isinstance(fault, Exception):
            raise fault
        return str(fault)

    model = scripted(answer=lambda prompt: AIMessage("Noted."))
    config = MemoryConfig(url=store, embedder="hashing", learning=LearningConfig(background=False))
    with caplog.at_level(logging.WARNING), open_memory(config, language_model=summarise) as memory:
        agent = create_agent(
            model, middleware=[HybridMemoryMiddleware(memory, max_tokens=800)], checkpointer=InMemorySaver()
        )
        for row in range(8):
            text = f"Room {row} belongs to zircon{row}. {FILLING}"
            state = invoke(agent, {"messages": [HumanMessage(text)]}, THREAD)
            memory.scoped(user="alice", session="t1").flush()
        assert asked, "the model was asked"
        summary = memory.scoped(user="alice", session="t1").summary()
        assert summary.lines, "and its failure made no difference"
        assert "Error" not in summary.text
        assert all(size(prompt) <= 800 for prompt in model.prompts)
        kept(memory, state, [f"zircon{row}" for row in range(8)])
