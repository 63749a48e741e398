"""A LangChain retriever over a memory: what is its own; see tests/adapters for what both frameworks have."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from hybrid_memory import HybridMemory, MemoryConfig, open_memory
from hybrid_memory.errors import InvalidInputError, InvalidScopeError
from langchain_hybrid_memory import HybridMemoryRetriever


@pytest.fixture
def told(memory: HybridMemory) -> HybridMemory:
    alice = memory.scoped(user="alice")
    alice.remember("My sister lives in Lisbon.", id="m1", metadata={"topic": "family"})
    alice.remember("My cat sleeps on the sofa.", metadata={"topic": "pets"})
    return memory


def test_what_is_wrong_is_refused(told: HybridMemory) -> None:
    with pytest.raises(ValidationError, match="limit"):
        HybridMemoryRetriever(memory=told, user="alice", limit=3)  # type: ignore[call-arg]
    retriever = HybridMemoryRetriever(memory=told, user="alice")
    with pytest.raises(InvalidInputError, match="unknown filter limit"):
        retriever.invoke("sister", limit=3)
    with pytest.raises(InvalidInputError, match="k must be"):
        retriever.invoke("sister", k=0)


def test_nobody_but_who_is_signed_in_is_served(told: HybridMemory) -> None:
    signed_in: RunnableConfig = {
        "configurable": {"langgraph_auth_user_id": "bob"}, "metadata": {"user_id": "alice"}
    }  # fmt: skip
    with pytest.raises(InvalidScopeError, match="signed in"):
        HybridMemoryRetriever(memory=told).invoke("sister", signed_in)


SHARED = open_memory(MemoryConfig(url="memory://", embedder="hashing"))
SHARED.scoped(user="alice").remember(
    ["My cat sleeps.", "It rains in Berlin.", "The launch is on Friday.", "我住在上海。"]
)


class TestRetriever(RetrieversIntegrationTests):
    """LangChain's own tests."""

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return HybridMemoryRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": SHARED, "user": "alice"}

    @property
    def retriever_query_example(self) -> str:
        return "Where is the cat?"
