import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.store.base import GetOp, InvalidNamespaceError, Item, PutOp, SearchOp

from hybrid_memory import HybridMemory
from hybrid_memory.errors import InvalidInputError
from langchain_hybrid_memory.store import HybridMemoryStore, namespace
from tests.langchain.conftest import ScriptedChat, calls

Call = Callable[..., Any]

BOB = ("users", "bob")


def keys(found: Sequence[Item]) -> list[str]:
    return [item.key for item in found]


@pytest.fixture
def kept(memory: HybridMemory) -> HybridMemoryStore:
    """An empty store over each engine."""
    return HybridMemoryStore(memory)


def test_a_batch_with_a_fault_writes_nothing(kept: HybridMemoryStore, face: Call) -> None:
    faults: list[tuple[Any, type[Exception]]] = [
        (PutOp(("a.b",), "k", {}), InvalidNamespaceError),
        (PutOp((7,), "k", {}), InvalidNamespaceError),  # type: ignore[arg-type]
        (GetOp(("",), "k"), InvalidNamespaceError),
        (PutOp(BOB, "k", {"x": object()}), InvalidInputError),
        (PutOp(BOB, "k", {"x": float("nan")}), InvalidInputError),
        (PutOp(BOB, "k", {"x": "\ud800"}), InvalidInputError),
        (PutOp(BOB, "k", ["x"]), InvalidInputError),  # type: ignore[arg-type]
        (SearchOp((), {"x": {"$near": 1}}), InvalidInputError),
        (SearchOp((), {"x": {"y": {"$near": 1}}}), InvalidInputError),
        ("get everything", InvalidInputError),
    ]
    for fault, error in faults:
        with pytest.raises(error):
            face(kept).batch([PutOp(BOB, "fine", {}), fault])
    assert kept.search(()) == []


def test_only_what_is_to_be_indexed_is_found(kept: HybridMemoryStore, face: Call) -> None:
    kept.put(BOB, "whole", {"title": "cats", "body": {"text": "about dogs"}})
    kept.put(BOB, "body", {"title": "cats", "body": {"text": "about dogs"}}, index=["body.text"])
    kept.put(BOB, "none", {"title": "cats"}, index=False)
    found = face(kept).search(BOB, query="dogs")
    assert [item.score is None for item in found] == [False, False, True]
    assert found[0].key == "body"
    kept.put(BOB, "whole", {"title": "cats", "body": {"text": "about dogs"}}, index=False)
    assert keys([item for item in face(kept).search(BOB, query="dogs") if item.score is not None]) == ["body"]


def calling(*wanted: tuple[str, dict[str, Any]]) -> ScriptedChat:
    return ScriptedChat(answers=[*(calls(one, start=row) for row, one in enumerate(wanted)), "done"])


@dataclass
class Context:
    user_id: str


@tool
def save(text: str, runtime: ToolRuntime[Context]) -> str:
    """Keep a text."""
    assert runtime.store is not None
    runtime.store.put(namespace("users", runtime.context.user_id), "note", {"text": text})
    return "kept"


@tool
async def look_up(query: str, runtime: ToolRuntime[Context]) -> str:
    """Find a text."""
    assert runtime.store is not None
    found = await runtime.store.asearch(namespace("users", runtime.context.user_id), query=query)
    return "; ".join(item.value["text"] for item in found)


async def test_tools_of_an_agent_use_it(kept: HybridMemoryStore) -> None:
    def agent(*wanted: tuple[str, dict[str, Any]]) -> Any:
        return create_agent(calling(*wanted), [save, look_up], store=kept, context_schema=Context)

    asked = {"messages": [("user", "hi")]}
    saving = agent(("save", {"text": "Ann takes the train"}))
    await asyncio.to_thread(saving.invoke, asked, context=Context("ann@x.org"))
    await agent(("save", {"text": "Ben takes the ship"})).ainvoke(asked, context=Context("ben@x.org"))
    for user, text in (("ann@x.org", "Ann takes the train"), ("ben@x.org", "Ben takes the ship")):
        result = await agent(("look_up", {"query": "who takes the train?"})).ainvoke(asked, context=Context(user))
        (answer,) = [message for message in result["messages"] if isinstance(message, ToolMessage)]
        assert answer.content == text
