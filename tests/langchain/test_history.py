from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda

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


def test_nobody_reads_the_history_of_another_than_who_is_signed_in(memory: HybridMemory) -> None:
    memory.scoped(user="ann", session="t").remember("My code is 4711.")
    read: RunnableLambda[str, Any] = RunnableLambda(lambda _: HybridChatMessageHistory(memory, session="t").messages)
    config: RunnableConfig = {"configurable": {"user_id": "ann", "langgraph_auth_user_id": "ben"}}
    with pytest.raises(InvalidScopeError, match="signed in"):
        read.invoke("", config)
