"""Whose memory a run works on."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from langchain_core.runnables import RunnableLambda

from hybrid_memory import HybridMemory, Scope
from hybrid_memory.errors import InvalidScopeError
from langchain_hybrid_memory import HybridChatMessageHistory, HybridMemoryRetriever
from langchain_hybrid_memory.scopes import Binding

NUMBER = UUID("12345678-1234-5678-1234-567812345678")


def runtime(
    context: Any = None, configurable: dict[str, Any] | None = None, signed_in: str | None = None
) -> SimpleNamespace:
    server = SimpleNamespace(user=SimpleNamespace(identity=signed_in)) if signed_in else None
    return SimpleNamespace(context=context, config={"configurable": configurable}, server_info=server)


@dataclass
class Context:
    user_id: str | None = None
    session_id: str | None = None


CASES: list[tuple[dict[str, Any], Any, Scope]] = [
    ({"user": "ann", "session": "s"}, None, Scope(user="ann", session="s")),
    ({}, runtime(Context("ann", "s")), Scope(user="ann", session="s")),
    ({}, runtime({"user_id": "ann", "tenant_id": "t", "agent_id": "a"}), Scope("t", "ann", "a")),
    ({}, runtime({"user": "ann", "session": "s", "tenant": "t"}), Scope("t", "ann", session="s")),
    ({}, runtime(None, {"user_id": "ann", "thread_id": "s"}), Scope(user="ann", session="s")),
    ({}, runtime(None, {"langgraph_user_id": "ann"}), Scope(user="ann")),
    ({}, runtime(None, {"user_id": "ann", "session_id": "s", "thread_id": "x"}), Scope(user="ann", session="s")),
    ({}, runtime(signed_in="ann"), Scope(user="ann")),
    ({}, runtime(None, {"langgraph_auth_user_id": "ann"}), Scope(user="ann")),
    ({}, runtime({"user_id": "ann"}, signed_in="ann"), Scope(user="ann")),
    ({"user": "ann"}, runtime({"user_id": "ben", "session_id": "s"}), Scope(user="ann", session="s")),
    ({"user": "ann"}, runtime(None, {"thread_id": "s"}, signed_in="ben"), Scope(user="ann", session="s")),
    ({"session": "s"}, runtime({"user_id": "ann"}, {"thread_id": "x"}), Scope(user="ann", session="s")),
    ({}, runtime({"user_id": "ann"}, {"user_id": "ben", "thread_id": "s"}), Scope(user="ann", session="s")),
    ({}, runtime(Context(), {"user_id": "ben"}), Scope(user="ben")),
    ({}, runtime({"user_id": 7, "session_id": NUMBER}), Scope(user="7", session=str(NUMBER))),
    ({}, runtime({"user_id": "a@b.c/安"}), Scope(user="a@b.c/安")),
]


@pytest.mark.parametrize(("bound", "run", "scope"), CASES)
def test_the_nearest_name_counts(memory: HybridMemory, bound: dict[str, Any], run: Any, scope: Scope) -> None:
    assert Binding(memory, **bound).scoped(run).scope == scope


@pytest.mark.parametrize(
    ("bound", "run"),
    [
        ({}, None), ({}, runtime()),
        ({}, runtime({"session_id": "s", "tenant_id": "t", "agent_id": "a"}, {"thread_id": "s"})),
        ({"tenant": "t", "session": "s"}, None), ({}, runtime({"user_id": ""}, {"user_id": "ann"})),
        ({}, runtime({"user_id": "a\x00"})), ({"user": ""}, runtime({"user_id": "ann"})),
        ({}, runtime({"user_id": object(), "user": True})), ({}, runtime("ann")),
        ({}, {"context": {"user_id": "ann"}, "config": {"configurable": {"user_id": "ann"}}}),
        ({}, runtime({"user_id": "ben"}, signed_in="ann")),
        ({}, runtime(None, {"user_id": "ben", "langgraph_auth_user_id": "ann"})),
    ],
)  # fmt: skip
def test_without_a_user_or_with_another_than_the_signed_in_nothing_is_opened(
    memory: HybridMemory, bound: dict[str, Any], run: Any
) -> None:
    with pytest.raises(InvalidScopeError):
        Binding(memory, **bound).scoped(run)


@pytest.mark.parametrize("face", ["sync", "async"])
def test_a_chain_finds_the_user_in_its_configuration(memory: HybridMemory, face: str) -> None:
    def step(_: str) -> Scope:
        return Binding(memory).scoped().scope

    async def astep(_: str) -> Scope:
        return Binding(memory).scoped().scope

    chain = RunnableLambda(step, astep)
    config: Any = {"configurable": {"user_id": "ann", "session_id": "s1"}}
    found = chain.invoke("", config) if face == "sync" else asyncio.run(chain.ainvoke("", config))
    assert found == Scope(user="ann", session="s1")
    with pytest.raises(InvalidScopeError):
        chain.invoke("")


READS: dict[str, Callable[[HybridMemory], object]] = {
    "retriever": lambda memory: HybridMemoryRetriever(memory=memory).invoke("code"),
    "history": lambda memory: HybridChatMessageHistory(memory, session="t").messages,
}


@pytest.mark.parametrize("read", READS)
def test_nobody_but_who_is_signed_in_is_served(memory: HybridMemory, read: str) -> None:
    memory.scoped(user="ann", session="t").remember("My code is 4711.")
    chain: RunnableLambda[str, Any] = RunnableLambda(lambda _: READS[read](memory))
    with pytest.raises(InvalidScopeError, match="signed in"):
        chain.invoke("", {"configurable": {"user_id": "ann", "langgraph_auth_user_id": "ben"}})
