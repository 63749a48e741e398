"""The memory as tools of LlamaIndex agents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.tools import FunctionTool

from hybrid_memory import HybridMemory
from llamaindex_hybrid_memory import HybridChatMemory
from llamaindex_hybrid_memory.tools import HybridMemoryToolSpec
from tests.llamaindex.conftest import Run, calls

Scripted = Callable[..., Any]


@pytest.fixture
def filled(store: HybridMemory) -> HybridMemory:
    store.scoped(user="alice").remember("My tea is green.")
    return store


def one(memory: HybridMemory, name: str, **whose: Any) -> FunctionTool:
    (tool,) = HybridMemoryToolSpec(memory=memory, names=[name], **(whose or {"user": "alice"})).to_tool_list()
    return tool


def results(messages: list[ChatMessage]) -> list[str]:
    return [message.content or "" for message in messages if message.role is MessageRole.TOOL]


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


async def test_an_agent_remembers_and_recalls_in_parallel_calls(filled: HybridMemory, scripted: Scripted) -> None:
    llm = scripted(
        calls(("memory_remember", {"text": "我妹妹住在里斯本。"}), ("memory_recall", {"query": "green tea"})),
        calls(("memory_recall", {"query": "妹妹住在哪里"}), ("memory_recall", {"query": "tea", "k": 99})),
        "Done.",
    )
    chat = HybridChatMemory.from_defaults(user="alice", session="s1", memory=filled)
    agent = FunctionAgent(llm=llm, tools=list(HybridMemoryToolSpec(memory=filled, user="alice").to_tool_list()))
    with blockbuster_ctx():
        response: Any = await agent.run("hi", memory=chat)

    assert response.response.content == "Done."
    # The agent takes results as they come.
    told = [(call.tool_kwargs, call.tool_output) for call in response.tool_calls]
    assert [output.is_error for _, output in told].count(True) == 1
    for arguments, words in (
        ({"text": "我妹妹住在里斯本。"}, "Remembered as #"),
        ({"query": "green tea"}, "My tea is green."),
        ({"query": "妹妹住在哪里"}, "里斯本"),
        ({"query": "tea", "k": 99}, "Error: k:"),
    ):
        (output,) = [output for given, output in told if given == arguments]
        assert words in output.content
    assert sorted(results(await chat.aget_all())) == sorted(output.content for _, output in told)
    # The note stands outside of the session: no message between a call and its result.
    assert [message.role.value for message in await chat.aget_all()] == [
        "user", "assistant", "tool", "tool", "assistant", "tool", "tool", "assistant",
    ]  # fmt: skip
