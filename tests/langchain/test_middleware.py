import logging
import operator
import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain.tools import tool
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from hybrid_memory import CompactionConfig, HybridMemory, MemoryConfig, open_memory
from hybrid_memory.config import DEFAULT_TOKENS
from hybrid_memory.errors import InvalidScopeError, StoreUnavailableError
from langchain_hybrid_memory import HybridMemoryMiddleware
from tests.langchain.conftest import THREAD, Invoke, ScriptedChat, numbered, said, talk, words


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


def calls(*cities: str, start: int = 1) -> AIMessage:
    wanted = [{"name": "weather", "args": {"city": city}, "id": f"c{row}"} for row, city in enumerate(cities, start)]
    return AIMessage("", tool_calls=wanted)


def asked_for(message: BaseMessage) -> list[Any]:
    assert isinstance(message, AIMessage)
    return message.tool_calls


def logged(memory: HybridMemory, user: str = "alice", session: str = "t1") -> list[str]:
    return [message.text for message in memory.scoped(user=user, session=session).history()]


@pytest.mark.in_pairs("invoke", "memory")
def test_what_is_said_is_kept_and_the_state_stays_as_it_is(memory: HybridMemory, invoke: Invoke) -> None:
    model = ScriptedChat(answers=["hello", calls("Rome", "Oslo"), "sunny in both", "bye"])
    agent = create_agent(
        model, [weather], system_prompt="Be brief.",
        middleware=[HybridMemoryMiddleware(memory)], checkpointer=InMemorySaver(),
    )  # fmt: skip
    for text in ("hi", "the weather in Rome and Oslo?", "thanks"):
        state = invoke(agent, said(text), THREAD)
    everything = [
        "hi", "hello", "the weather in Rome and Oslo?",
        'weather {"city": "Rome"}\nweather {"city": "Oslo"}', "sunny in Rome", "sunny in Oslo", "sunny in both",
        "thanks", "bye",
    ]  # fmt: skip
    assert logged(memory) == everything
    assert [message.type for message in state["messages"]] == [
        "human", "ai", "human", "ai", "tool", "tool", "ai", "human", "ai"
    ]  # fmt: skip
    assert "hybrid_memory" not in state
    assert words(model.prompts[-1]) == ["Be brief.", *words(state["messages"][:-1])]
    assert asked_for(model.prompts[2][-3]) == asked_for(state["messages"][3]) != []


@pytest.mark.in_pairs("invoke", "memory")
def test_the_users_turn_is_kept_when_the_model_raises(memory: HybridMemory, invoke: Invoke) -> None:
    model = ScriptedChat(answers=[RuntimeError("down"), calls("Rome"), RuntimeError("down again"), "at last"])
    agent = create_agent(model, [weather], middleware=[HybridMemoryMiddleware(memory)], checkpointer=InMemorySaver())
    for text in ("first", "second"):
        with pytest.raises(RuntimeError, match="down"):
            invoke(agent, said(text), THREAD)
    assert logged(memory) == ["first", "second", 'weather {"city": "Rome"}', "sunny in Rome"]
    invoke(agent, said("third"), THREAD)
    assert words(model.prompts[-1]) == ["first", "second", "", "sunny in Rome", "third"]
    assert logged(memory)[-2:] == ["third", "at last"]


@pytest.mark.parametrize(
    "config", [{}, {"configurable": {"thread_id": "t1"}}, {"configurable": {"user_id": "alice"}}], ids=str
)
def test_a_run_without_user_or_session_ends_before_anything_is_written(
    memory: HybridMemory, invoke: Invoke, config: Any
) -> None:
    model = ScriptedChat(answers=["hello"])
    with pytest.raises(InvalidScopeError, match=r"no (?:user|owner|session) given"):
        invoke(create_agent(model, middleware=[HybridMemoryMiddleware(memory)]), said("hi"), config)
    assert memory.stats().events == 0
    assert not model.prompts


def test_a_budget_too_small_for_the_system_prompt_is_told_once_and_ends_no_run(
    memory: HybridMemory, invoke: Invoke, caplog: pytest.LogCaptureFixture
) -> None:
    model = ScriptedChat(answers=["hello", "Ann"])
    layer = HybridMemoryMiddleware(memory, max_tokens=300)
    agent = create_agent(model, system_prompt="word " * 400, middleware=[layer], checkpointer=InMemorySaver())
    for text in ("hi, I am Ann", "who am I?"):
        invoke(agent, said(text), THREAD)
    assert words(model.prompts[-1])[1:] == ["hi, I am Ann", "hello", "who am I?"]
    (warning,) = [record.getMessage() for record in caplog.records if "max_tokens" in record.getMessage()]
    assert "max_tokens=300 is too small" in warning


@pytest.mark.in_pairs("invoke", "memory")
def test_a_store_that_fails_does_not_end_the_run_and_loses_nothing(
    memory: HybridMemory, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model = ScriptedChat(answers=["one", "two", "three"])
    agent = create_agent(model, middleware=[HybridMemoryMiddleware(memory)], checkpointer=InMemorySaver())
    invoke(agent, said("first"), THREAD)

    def full(*_: Any) -> None:
        raise StoreUnavailableError("the disk is full")

    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(memory._runtime.services.log, "append", full)
        invoke(agent, said("second"), THREAD)
    assert "the disk is full" in caplog.text
    assert words(model.prompts[1]) == ["first", "one", "second"]
    assert logged(memory) == ["first", "one"]
    invoke(agent, said("third"), THREAD)
    assert logged(memory) == ["first", "one", "second", "two", "third", "three"]


def test_what_is_forgotten_does_not_come_back_from_the_state(memory: HybridMemory, invoke: Invoke) -> None:
    model = ScriptedChat(answers=["noted", "done", "hm"])
    agent = create_agent(model, middleware=[HybridMemoryMiddleware(memory)], checkpointer=InMemorySaver())
    invoke(agent, said("the code is 4711"), THREAD)
    invoke(agent, said("forget that"), THREAD)
    memory.scoped(user="alice").forget(query="4711")
    invoke(agent, said("which code?"), THREAD)
    assert not any("4711" in text for text in (*words(model.prompts[-1]), *logged(memory)))


@pytest.mark.parametrize("row", [0, 2, 4])
def test_what_is_removed_is_recalled_in_no_thread(memory: HybridMemory, invoke: Invoke, row: int) -> None:
    model = ScriptedChat(answers=list("abcde"))
    agent = create_agent(model, middleware=[HybridMemoryMiddleware(memory)], checkpointer=InMemorySaver())
    mine = memory.scoped(user="alice", session="t1")
    mine.remember("The code of another program is 4712.")
    codes = ["The code of the door is 4711.", "The code of the safe is 4713.", "The code of the bike is 4714."]
    for text in codes:
        invoke(agent, said(text), THREAD)
    gone = agent.get_state(THREAD).values["messages"][row]
    agent.update_state(THREAD, {"messages": [RemoveMessage(id=gone.id)]})
    invoke(agent, said("What is the code?"), THREAD)
    held = [text for text in codes if text != gone.text]
    hits = [hit.record.text for hit in memory.scoped(user="alice", session="t2").recall("What is the code?", k=20)]
    assert gone.text not in hits
    assert {"The code of another program is 4712.", *held} <= set(hits)
    assert gone.text not in " ".join([*words(model.prompts[-1]), *logged(memory)])
    agent.update_state(THREAD, {"messages": [gone]})
    invoke(agent, said("And now?"), THREAD)
    assert gone.text in logged(memory)


@pytest.mark.parametrize("given", ["constructor", "configurable", "context"])
def test_a_run_without_memory_recalls_and_stores_nothing(memory: HybridMemory, invoke: Invoke, given: str) -> None:
    memory.scoped(user="alice", session="old").remember(["I am allergic to nuts.", "My sister Zoe keeps bees."])
    before = [event.id for event in memory.scoped(user="alice").events(kinds=("message",))]
    model = ScriptedChat(answers=[calls("Rome"), "sunny", "She is Zoe."])
    middleware = HybridMemoryMiddleware(memory, remember=given != "constructor")
    agent: Any = create_agent(
        model, [weather], system_prompt="Be brief.", middleware=[middleware], checkpointer=InMemorySaver(),
        context_schema=dict[str, Any],
    )  # fmt: skip
    configurable = {**THREAD["configurable"], **({"remember": False} if given == "configurable" else {})}
    context = {"context": {"remember": False}} if given == "context" else {}
    for text in ("I quit my secret job. The weather in Rome?", "Who keeps bees, for a nut cake?"):
        state = invoke(agent, said(text), {"configurable": configurable}, **context)
    assert [event.id for event in memory.scoped(user="alice").events(kinds=("message",))] == before
    assert "secret" not in str([event.payload for event in memory.scoped(user="alice").events()])
    assert len(state["messages"]) == 6
    prompt = words(model.prompts[-1])
    assert prompt[:2] == ["Be brief.", "I quit my secret job. The weather in Rome?"]
    assert prompt[-1] == "Who keeps bees, for a nut cake?"
    assert "allergic to nuts" in prompt[-2]
    assert "Zoe keeps bees" in prompt[-2]
    assert model.prompts[1][-2:] == [model.prompts[1][-2], state["messages"][2]]


class Added(AgentState[Any]):
    messages: Annotated[list[Any], operator.add]


class Replaced(AgentState[Any]):
    messages: list[Any]


@pytest.mark.parametrize(
    ("schema", "saver", "given"),
    [
        (Added, InMemorySaver(), HumanMessage), (Added, InMemorySaver(), lambda text: ("user", text)),
        (Replaced, InMemorySaver(), lambda text: {"role": "user", "content": text}), (Replaced, None, HumanMessage),
    ],
    ids=["message", "pair", "dict", "without a checkpointer"],
)  # fmt: skip
def test_every_turn_reaches_the_model_and_the_log_has_it_once(
    memory: HybridMemory, invoke: Invoke, schema: Any, saver: Any, given: Any
) -> None:
    model, layer = numbered(), HybridMemoryMiddleware(memory, k=0)
    agent: Any = create_agent(model, middleware=[layer], checkpointer=saver, state_schema=schema)
    talk(agent, model, memory, invoke, given, whole=schema is Added)


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
