from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from hybrid_memory import HybridMemory
from hybrid_memory.errors import InvalidMessageError, InvalidScopeError
from hybrid_memory.tiers.context import window
from langchain_hybrid_memory import HybridChatMessageHistory, to_langchain

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
        face(history, "add_messages", SAID[:2])
        face(history, "add_messages", SAID[2:])
        face(history, "add_messages", [])
    with opened() as memory:
        history = HybridChatMessageHistory(memory, user="alice", session="s1")
        assert history.messages == SAID
        assert asyncio.run(history.aget_messages()) == SAID
        assert HybridChatMessageHistory(memory, user="alice", session="s2").messages == []
        assert HybridChatMessageHistory(memory, user="bob", session="s1").messages == []


def test_clearing_draws_a_line(memory: HybridMemory, face: Call) -> None:
    history = HybridChatMessageHistory(memory, user="alice", session="s1")
    other = HybridChatMessageHistory(memory, user="alice", session="s2")
    for each in (history, other):
        each.add_messages(SAID)
    face(history, "clear")
    assert history.messages == []
    history.add_messages(SAID[:1])
    assert history.messages == SAID[:1]
    face(history, "clear")
    assert history.messages == []
    assert other.messages == SAID
    assert [message.text for message in memory.scoped(user="alice", session="s1").history()][:1] == ["Weather?"]


def test_no_other_window_shows_the_line(memory: HybridMemory) -> None:
    history = HybridChatMessageHistory(memory, user="alice", session="s1")
    said = [HumanMessage("Hello"), AIMessage("Hi"), HumanMessage("Again"), AIMessage("Hi again")]
    history.add_messages(said[:2])
    history.clear()
    history.add_messages(said[2:])
    alice = memory.scoped(user="alice", session="s1")
    assert len(alice.history()) == 5
    assert [to_langchain(message) for message in window(alice.history(), 10)] == said
    assert len(alice.recall("clear cleared", k=10)) == 4


def test_adding_appends_whatever_the_ids(memory: HybridMemory) -> None:
    history = HybridChatMessageHistory(memory, user="alice", session="s1")
    twice = [AIMessage("Yes.", id="cached"), AIMessage("Yes.", id="cached"), AIMessage("No.", id="cached")]
    history.add_messages(twice)
    assert history.messages == twice


def test_all_or_none_are_added(memory: HybridMemory) -> None:
    history = HybridChatMessageHistory(memory, user="alice", session="s1")
    with pytest.raises(InvalidMessageError):
        history.add_messages([HumanMessage("fine"), HumanMessage("\ud800")])
    assert history.messages == []


def test_the_scope_is_checked(memory: HybridMemory) -> None:
    with pytest.raises(InvalidScopeError, match="whose memory"):
        HybridChatMessageHistory(memory, session="s1")
    with pytest.raises(InvalidScopeError, match="which conversation"):
        HybridChatMessageHistory(memory, user="alice", session=None)  # type: ignore[arg-type]
