"""What the model of an agent with a memory is shown, and what else of the agent that depends on."""

import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from hybrid_memory import CompactionConfig, HybridMemory, MemoryConfig, open_memory
from hybrid_memory.config.memory import DEFAULT_TOKENS
from langchain_hybrid_memory import HybridMemoryMiddleware
from tests.langchain.conftest import THREAD, Invoke, ScriptedChat, said, words


class Binding(ScriptedChat):
    """Notes which tools were bound to each call."""

    bound: list[list[str]] = Field(default_factory=list)

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        self.bound.append([one.name for one in tools])
        return self


def read(path: str, number: int) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "read_file", "args": {"path": path}, "id": f"r{number}"}])


@tool
def read_file(path: str) -> str:
    """The text of a file."""
    return "\n".join(f"{path}: line {row} of the file says {row * 7}" for row in range(400))


def test_under_pressure_the_reader_is_bound_under_its_name_and_answers(memory: HybridMemory, invoke: Invoke) -> None:
    def read_on(prompt: list[BaseMessage]) -> AIMessage:
        handle = next(found[1] for text in words(prompt) if (found := re.search(r'memory_fetch\("(#\d+)"', text)))
        fetch = {"name": "memory_fetch", "args": {"handle": handle, "where": "400-"}, "id": "f"}
        return AIMessage("", tool_calls=[fetch])

    steps = iter([read("a.txt", 1), AIMessage("read"), read("b.txt", 2), None, AIMessage("2793")])
    model = Binding(answer=lambda prompt: next(steps) or read_on(prompt))
    layer = HybridMemoryMiddleware(memory, max_tokens=8000)
    agent = create_agent(model, [read_file], middleware=[layer], checkpointer=InMemorySaver())
    for text in ("read a.txt", "read b.txt, and what is in line 400 of a.txt?"):
        state = invoke(agent, said(text), THREAD)
    assert model.bound[:2] == [["read_file"]] * 2
    assert model.bound[-1] == ["read_file", "memory_fetch"]
    answer = state["messages"][-2].text
    assert "a.txt: line 399 of the file says 2793" in answer
    assert words(model.prompts[-1])[-1] == answer  # what it read is not shortened again


def test_the_budget_is_what_is_given_or_configured_or_what_the_models_window_leaves(memory: HybridMemory) -> None:
    def budget(profile: dict[str, int], given: int | None = None, **settings: Any) -> int:
        with open_memory(MemoryConfig(url="memory://", embedder="none", **settings)) as other:
            return HybridMemoryMiddleware(other, max_tokens=given)._budget(SimpleNamespace(profile=profile))

    window = {"max_input_tokens": 16_000, "max_output_tokens": 2_000}
    assert budget(window) == 14_000
    assert budget({"max_input_tokens": 1_000_000, "max_output_tokens": 8_000}) == 128_000
    assert budget({}) == DEFAULT_TOKENS
    assert budget(window, 5_000) == 5_000
    assert budget(window, compaction=CompactionConfig(max_tokens=3_000)) == 3_000
    assert HybridMemoryMiddleware(memory)._budget(None) == DEFAULT_TOKENS


def test_an_agent_inside_a_tool_has_a_thread_beneath_and_reads_nothing_of_the_other(
    memory: HybridMemory, invoke: Invoke
) -> None:
    inner = ScriptedChat(answers=["42 trains"])
    helper: Any = create_agent(inner, middleware=[HybridMemoryMiddleware(memory)])

    def research(question: str) -> str:
        """Ask somebody who looks things up."""
        return str(helper.invoke({"messages": [("user", question)]})["messages"][-1].text)

    async def aresearch(question: str) -> str:
        return str((await helper.ainvoke({"messages": [("user", question)]}))["messages"][-1].text)

    looking = StructuredTool.from_function(research, aresearch)
    call = {"name": "research", "args": {"question": "How many trains to Porto?"}, "id": "c1"}
    model = ScriptedChat(answers=[AIMessage("", tool_calls=[call]), "There are 42."])
    agent = create_agent(model, [looking], middleware=[HybridMemoryMiddleware(memory)], checkpointer=InMemorySaver())
    invoke(agent, said("I take the night train to Porto. How many trains are there?"), THREAD)
    assert [message.role.value for message in memory.scoped(user="alice", session="t1").history()] == [
        "user", "assistant", "tool", "assistant"
    ]  # fmt: skip
    assert words(inner.prompts[0]) == ["How many trains to Porto?"]
    beneath = memory.scoped(user="alice", session="t1/research:c1").history()
    assert [(message.speaker, message.text) for message in beneath] == [
        ("caller", "How many trains to Porto?"),
        ("assistant", "42 trains"),
    ]


def test_the_agents_own_model_summarises_when_asked_to(memory: HybridMemory, invoke: Invoke) -> None:
    def answer(prompt: list[BaseMessage]) -> AIMessage:
        notes = any("notes of a long conversation" in message.text for message in prompt)
        facts = '{"facts": [{"text": "The gate code is 4711.", "turns": [1]}]}'
        return AIMessage(facts if notes else "fine")

    for own in (False, True):
        model = ScriptedChat(answer=answer)
        layer = HybridMemoryMiddleware(memory, model=own, session=f"s{own}", max_tokens=1000)
        invoke(create_agent(model, middleware=[layer]), said("The gate code is 4711."), THREAD)
        scoped = memory.scoped(user="alice", session=f"s{own}")
        scoped.remember(["The garden is full of snails again. " * 5] * 8)
        scoped.compact(keep=1)
        assert any("notes of a long" in str(prompt) for prompt in model.prompts) is own
