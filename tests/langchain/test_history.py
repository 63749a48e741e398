from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

from hybrid_memory import HybridMemory
from hybrid_memory.errors import InvalidScopeError
from langchain_hybrid_memory import HybridChatMessageHistory

Call = Callable[..., Any]

SAID: list[BaseMessage] = [
    HumanMessage("Weather?", id="h1"),
    AIMessage("", tool_calls=[{"name": "weather", "args": {}, "id": "c1"}], usage_metadata=None),
    ToolMessage("12 degrees", tool_call_id="c1", status="error"),
    AIMessage(""),
    *(HumanMessage(f"line {number}") for number in range(30)),
]


def test_it_is_the_raw_log(opened: Call, face: Call) -> None:
    with opened() as memory:
        history = HybridChatMessageHistory(memory, user="alice", session="s1")
        face(history).add_messages(SAID[:2])
        face(history).add_messages(SAID[2:])
        face(history).add_messages([])
    with opened() as memory:
        history = HybridChatMessageHistory(memory, user="alice", session="s1")
        assert history.messages == SAID
        assert asyncio.run(history.aget_messages()) == SAID
        assert HybridChatMessageHistory(memory, user="alice", session="s2").messages == []
        assert HybridChatMessageHistory(memory, user="bob", session="s1").messages == []


def test_clearing_starts_anew_and_forgets_nothing(memory: HybridMemory, face: Call) -> None:
    history = HybridChatMessageHistory(memory, user="alice", session="s1")
    other = HybridChatMessageHistory(memory, user="alice", session="s2")
    for each in (history, other):
        each.add_messages(SAID)
    face(history).clear()
    assert history.messages == []
    history.add_messages(SAID[:1])
    assert history.messages == SAID[:1]
    face(history).clear()
    assert history.messages == []
    assert other.messages == SAID
    alice = memory.scoped(user="alice", session="s1")
    assert len(alice.history()) == len(SAID) + 1
    assert "line 7" in [hit.record.text for hit in alice.recall("line 7", k=5, scope="session")]


@given(st.lists(st.sampled_from("HAT"), max_size=12), st.integers(0, 6), st.integers(0, 3))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_newest_messages_reach_back_to_the_turns_asked_for(
    memory: HybridMemory, face: Call, kinds: list[str], limit: int, rounds: int
) -> None:
    history = HybridChatMessageHistory(memory, user="alice", session=f"s{memory.stats().events}-{len(kinds)}")
    made = {"H": HumanMessage("h"), "A": AIMessage("a"), "T": ToolMessage("t", tool_call_id="c")}
    history.clear()
    history.add_messages([made[kind] for kind in kinds])
    newest = [message.role.value for message in face(history).recent(limit, rounds)]
    everything = [message.role.value for message in face(history).recent()]
    assert len(everything) == len(kinds)
    assert newest == everything[len(everything) - len(newest) :]
    assert len(newest) >= min(limit, len(everything))
    if limit:
        assert newest.count("user") >= min(rounds, everything.count("user"))
        fits = everything[len(everything) - min(limit, len(everything)) :].count("user") >= rounds
        assert len(newest) <= limit or not fits
    else:
        assert newest == []


def ways(chain: Any, config: RunnableConfig) -> dict[str, Callable[[str], Any]]:
    """Each way to run a chain once, by name."""

    async def astreamed(words: str) -> None:
        _ = [chunk async for chunk in chain.astream({"input": words}, config)]

    return {
        "invoke": lambda words: chain.invoke({"input": words}, config),
        "ainvoke": lambda words: asyncio.run(chain.ainvoke({"input": words}, config)),
        "batch": lambda words: chain.batch([{"input": words}], config),
        "stream": lambda words: list(chain.stream({"input": words}, config)),
        "astream": lambda words: asyncio.run(astreamed(words)),
    }


FACTORIES: list[Callable[[HybridMemory], Callable[..., HybridChatMessageHistory]]] = [
    lambda memory: lambda: HybridChatMessageHistory(memory),
    lambda memory: lambda session_id: HybridChatMessageHistory(memory, session=session_id),
]


@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")
@pytest.mark.parametrize("factory", FACTORIES, ids=["of the run", "of a session"])
def test_a_run_names_the_user_and_the_session(memory: HybridMemory, factory: Callable[..., Any]) -> None:
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{input}")])
    chain = RunnableWithMessageHistory(
        prompt | FakeListChatModel(responses=["Noted."]),
        factory(memory),
        input_messages_key="input",
        history_messages_key="history",
    )
    for user in ("ann", "ben"):
        config: RunnableConfig = {"configurable": {"user_id": user, "session_id": "monday"}}
        for way, run in ways(chain, config).items():
            run(f"{user} by {way}")
    for user in ("ann", "ben"):
        kept = [message.text for message in memory.scoped(user=user, session="monday").history()]
        assert kept == [text for way in ways(chain, {}) for text in (f"{user} by {way}", "Noted.")]
    assert sorted(map(str, memory.owners())) == ["user='ann'", "user='ben'"]


def test_nobody_reads_the_history_of_another_than_who_is_signed_in(memory: HybridMemory) -> None:
    memory.scoped(user="ann", session="t").remember("My code is 4711.")
    read: RunnableLambda[str, Any] = RunnableLambda(lambda _: HybridChatMessageHistory(memory, session="t").messages)
    config: RunnableConfig = {"configurable": {"user_id": "ann", "langgraph_auth_user_id": "ben"}}
    with pytest.raises(InvalidScopeError, match="signed in"):
        read.invoke("", config)
