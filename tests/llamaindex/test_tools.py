"""The memory as tools of LlamaIndex agents."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.tools import FunctionTool

from hybrid_memory import HybridMemory
from llamaindex_hybrid_memory.tools import HybridMemoryToolSpec
from tests.llamaindex.conftest import Run


@pytest.fixture
def filled(store: HybridMemory) -> HybridMemory:
    store.scoped(user="alice").remember("My tea is green.")
    return store


def one(memory: HybridMemory, name: str, **whose: Any) -> FunctionTool:
    (tool,) = HybridMemoryToolSpec(memory=memory, names=[name], **(whose or {"user": "alice"})).to_tool_list()
    return tool


@pytest.mark.parametrize(
    "arguments", [{"query": "tea", "k": "many"}, {}, {"query": " "}, {"query": "a", "since": "b"}, {"query": None}]
)
def test_a_wrong_call_is_answered_as_an_error(filled: HybridMemory, run: Run, arguments: dict[str, Any]) -> None:
    output = run(one(filled, "memory_recall"), "call", **arguments)
    assert output.is_error
    assert output.content.startswith("Error: ")
    assert len(output.content) < 300


def test_a_model_cannot_name_the_user(filled: HybridMemory, run: Run) -> None:
    forged = {"user": "alice", "tenant": "alice", "owner": {"user": "alice"}, "memory": "alice"}
    output = run(one(filled, "memory_recall", user="mallory"), "call", query="tea", **forged)
    assert "green" not in output.content
