from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
)
from langchain.tools import tool
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from hybrid_memory import HybridMemory
from hybrid_memory.errors import InvalidScopeError, StoreUnavailableError
from langchain_hybrid_memory import HybridMemoryMiddleware
from tests.langchain.conftest import THREAD, ScriptedChat, numbered, said, words

if TYPE_CHECKING:
    from tests.faces import Open
    from tests.langchain.conftest import Invoke


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


def test_an_agent_without_a_checkpointer_goes_on_where_it_was(opened: Open, invoke: Invoke) -> None:
    for text in ("I live in Rome", "nice weather", "where do I live?"):
        memory = opened()  # as after a restart
        model = ScriptedChat(answers=["fine"])
        invoke(create_agent(model, middleware=[HybridMemoryMiddleware(memory)]), said(text), THREAD)
        memory.close()
    assert words(model.prompts[0])[-5:] == ["I live in Rome", "fine", "nice weather", "fine", "where do I live?"]


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


def test_an_edited_call_is_shown_as_it_was_run(memory: HybridMemory, invoke: Invoke) -> None:
    for order in (0, 1):
        model = ScriptedChat(answers=[calls("Rome"), "sunny", "fine"])
        middleware: list[Any] = [HybridMemoryMiddleware(memory)]
        middleware.insert(order, HumanInTheLoopMiddleware(interrupt_on={"weather": True}))
        agent = create_agent(model, [weather], middleware=middleware, checkpointer=InMemorySaver())
        thread: RunnableConfig = {"configurable": {"thread_id": "t1", "user_id": f"order {order}"}}
        invoke(agent, said("weather?"), thread)
        edit = {"type": "edit", "edited_action": {"name": "weather", "args": {"city": "Oslo"}}}
        invoke(agent, Command(resume={"decisions": [edit]}), thread)
        invoke(agent, said("thanks"), thread)
        state = agent.get_state(thread).values["messages"]
        assert "sunny in Oslo" in state[2].text
        assert words(model.prompts[-1]) == words(state[:-1])
        assert asked_for(model.prompts[-1][1]) == asked_for(state[1]) != []
        assert state[2].text in logged(memory, f"order {order}")


@pytest.mark.in_pairs("invoke", "memory")
def test_a_store_that_fails_does_not_end_the_run_and_loses_nothing(
    memory: HybridMemory,
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
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


def test_messages_that_others_take_out_of_the_state_are_not_shown_and_stay_in_the_log(
    memory: HybridMemory, invoke: Invoke
) -> None:
    class Trim(AgentMiddleware[Any, Any, Any]):
        def before_model(self, state: Any, runtime: Any) -> dict[str, Any]:
            return {"messages": [RemoveMessage(id=old.id) for old in state["messages"][:-3]]}

    model = ScriptedChat(answers=["a", "b", "c", "d"])
    agent = create_agent(model, middleware=[Trim(), HybridMemoryMiddleware(memory)], checkpointer=InMemorySaver())
    for text in ("1", "2", "3", "4"):
        invoke(agent, said(text), THREAD)
    assert words(model.prompts[-1]) == logged(memory)[:-1] == ["3", "c", "4"]
    kept = memory.scoped(user="alice", session="t1")._runtime.services.truth.read(memory.scoped(user="alice").scope)
    assert [event.message.text for event in kept if event.kind == "message"] == ["1", "a", "2", "b", "3", "c", "4", "d"]


@pytest.mark.parametrize("place", [0, 1])
def test_langchains_own_summary_stays_in_the_prompt(memory: HybridMemory, invoke: Invoke, place: int) -> None:
    model, writer = numbered(), ScriptedChat(answer=lambda _: AIMessage("They live in Rome."))
    layers: list[Any] = [SummarizationMiddleware(model=writer, trigger=("messages", 6), keep=("messages", 3))]
    layers.insert(place, HybridMemoryMiddleware(memory, k=0))
    agent = create_agent(model, middleware=layers, checkpointer=InMemorySaver())
    for turn in range(6):
        invoke(agent, said(f"question {turn}"), THREAD)
        summaries = [text for text in words(model.prompts[-1]) if "They live in Rome." in text]
        assert len(summaries) == bool(writer.prompts)
        assert words(model.prompts[-1])[-1] == f"question {turn}"
    assert writer.prompts
    assert logged(memory) == [text for turn in range(6) for text in (f"question {turn}", f"answer {turn + 1}")]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_stream_has_the_words_of_the_answer_only(memory: HybridMemory, asynchronous: bool) -> None:
    model = ScriptedChat(answers=[calls("Rome"), "it is sunny"])
    agent = create_agent(model, [weather], middleware=[HybridMemoryMiddleware(memory)])

    async def streamed() -> list[Any]:
        return [part async for part in agent.astream(said("weather?"), THREAD, stream_mode="messages")]

    parts: list[Any]
    if asynchronous:
        parts = asyncio.run(streamed())
    else:
        parts = list(agent.stream(said("weather?"), THREAD, stream_mode="messages"))
    assert "".join(part.text for part, _ in parts if part.type == "AIMessageChunk").strip() == "it is sunny"
    assert logged(memory)[-1].strip() == "it is sunny"


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


def test_what_is_redacted_before_it_is_never_written(memory: HybridMemory, invoke: Invoke) -> None:
    model = ScriptedChat(answers=["noted", "yes"])
    agent = create_agent(
        model, middleware=[PIIMiddleware("email", strategy="redact"), HybridMemoryMiddleware(memory)],
        checkpointer=InMemorySaver(),
    )  # fmt: skip
    invoke(agent, said("mail me at bob@example.com"), THREAD)
    invoke(agent, said("do you have it?"), THREAD)
    assert logged(memory)[0] == "mail me at [REDACTED_EMAIL]"
    assert not any("bob@example.com" in text for prompt in model.prompts for text in words(prompt))
