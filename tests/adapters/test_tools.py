"""The memory as a tool of LangChain's and LlamaIndex's agents: what a wrong call is told, and whose memory it reads."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from hybrid_memory import HybridMemory
from langchain_hybrid_memory.tools import memory_tools
from llamaindex_hybrid_memory.tools import HybridMemoryToolSpec

Call = Callable[..., Any]
Recall = Callable[[str, dict[str, Any]], tuple[bool, str]]


def langchain(memory: HybridMemory, user: str, call: Call, arguments: dict[str, Any]) -> tuple[bool, str]:
    (recall,) = memory_tools(memory, user=user, names=["memory_recall"])
    message = call(recall, {"name": recall.name, "args": arguments, "id": "c1", "type": "tool_call"})
    return message.status == "error", str(message.content)


def llamaindex(
    memory: HybridMemory, user: str, call: Callable[..., Any], arguments: dict[str, Any]
) -> tuple[bool, str]:
    (recall,) = HybridMemoryToolSpec(memory=memory, user=user, names=["memory_recall"]).to_tool_list()
    output = call(recall, arguments)
    return output.is_error, output.content


HOSTS: dict[str, tuple[Callable[..., tuple[bool, str]], Call]] = {
    "langchain": (langchain, lambda tool, call: tool.invoke(call)),
    "langchain async": (langchain, lambda tool, call: asyncio.run(tool.ainvoke(call))),
    "llamaindex": (llamaindex, lambda tool, arguments: tool.call(**arguments)),
    "llamaindex async": (llamaindex, lambda tool, arguments: asyncio.run(tool.acall(**arguments))),
}


@pytest.fixture(params=HOSTS)
def recall(request: pytest.FixtureRequest, memory: HybridMemory) -> Recall:
    """Whether a call of the tool by somebody failed, and its answer; Alice's tea is green."""
    memory.scoped(user="alice").remember("My tea is green.")
    answered, call = HOSTS[request.param]
    return lambda user, arguments: answered(memory, user, call, arguments)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"query": "tea", "k": "many"}, "k: "), ({}, "query: "), ({"query": None}, "query: "),
        ({"query": " "}, "empty"), ({"query": "a", "since": "b"}, "such as '2026-05-03'"),
    ],
)  # fmt: skip
def test_a_wrong_call_is_answered_as_an_error(recall: Recall, arguments: dict[str, Any], says: str) -> None:
    failed, told = recall("alice", arguments)
    assert failed
    assert told.startswith("Error: ")
    assert says in told
    assert len(told) < 300


def test_a_model_cannot_name_the_user(recall: Recall) -> None:
    forged = {"user": "alice", "user_id": "alice", "tenant": "alice", "owner": {"user": "alice"}, "memory": "alice"}
    assert "green" not in recall("mallory", {"query": "tea", **forged})[1]
    assert "green" in recall("alice", {"query": "tea"})[1]
