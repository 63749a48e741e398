"""The memory as tools of LlamaIndex agents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from langchain_core.utils.function_calling import convert_to_openai_tool
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.tools import FunctionTool, ToolMetadata, ToolOutput
from llama_index.core.tools.calling import acall_tool, call_tool

from hybrid_memory import HybridMemory
from hybrid_memory.errors import InvalidConfigError, InvalidInputError, InvalidScopeError
from hybrid_memory.text.tokens import estimate_tokens, schema_tokens
from hybrid_memory.tools import MEMORY_TOOLS
from langchain_hybrid_memory import memory_tools
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


def test_the_tools_are_those_of_langchain_in_the_same_words(filled: HybridMemory) -> None:
    ours = [tool.metadata.to_openai_tool() for tool in HybridMemoryToolSpec(memory=filled, user="alice").to_tool_list()]
    theirs = [convert_to_openai_tool(tool) for tool in memory_tools(filled, user="alice")]
    assert [tool["function"]["name"] for tool in ours] == [tool.name for tool in MEMORY_TOOLS]
    for here, there in zip(ours, theirs, strict=True):
        here, there = here["function"], there["function"]  # noqa: PLW2901 - what is compared
        assert (here["name"], here["description"]) == (there["name"], there["description"])
        assert here["parameters"]["properties"].keys() == there["parameters"]["properties"].keys()
        assert here["parameters"].get("required", []) == there["parameters"].get("required", [])
        for name, argument in there["parameters"]["properties"].items():
            assert argument.items() <= here["parameters"]["properties"][name].items()
    assert schema_tokens(ours, estimate_tokens) < 925


def test_some_of_them_can_be_chosen(filled: HybridMemory) -> None:
    spec = HybridMemoryToolSpec(memory=filled, user="alice", names=["memory_fetch", "memory_recall"])
    assert spec.spec_functions == ["memory_recall", "memory_fetch"]
    assert [tool.metadata.name for tool in spec.to_tool_list()] == spec.spec_functions
    pair = ("memory_forget", "amemory_forget")
    assert [tool.metadata.name for tool in spec.to_tool_list([pair])] == ["memory_forget"]
    if hasattr(spec, "to_tool_list_async"):  # since 0.14.16
        assert [tool.metadata.name for tool in asyncio.run(spec.to_tool_list_async())] == spec.spec_functions
    with pytest.raises(InvalidInputError, match="unknown memory tool 'recall': choose from"):
        HybridMemoryToolSpec(memory=filled, user="alice", names=["recall"])


def test_the_words_for_the_model_can_be_changed(filled: HybridMemory) -> None:
    told = ToolMetadata(name="look_up", description="Look it up.", fn_schema=MEMORY_TOOLS[1].arguments)
    spec = HybridMemoryToolSpec(memory=filled, user="alice", names=["memory_recall"])
    (tool,) = spec.to_tool_list(func_to_metadata_mapping={"memory_recall": told})
    assert tool.metadata is told
    output = tool.call(query="tea")
    assert output.tool_name == "look_up"
    assert "green" in output.content


def test_a_note_is_found_by_the_other_tools(filled: HybridMemory, run: Run) -> None:
    noted = run(one(filled, "memory_remember"), "call", text="我妹妹住在里斯本。")
    assert noted.content.startswith("Remembered as #")
    assert not noted.is_error
    found = run(one(filled, "memory_recall"), "call", query="妹妹住在哪里", k=1)
    handle, _, text = found.content.partition(" ")
    assert "里斯本" in text
    assert found.raw_output == found.content
    assert found.raw_input == {"args": (), "kwargs": {"query": "妹妹住在哪里", "k": 1}}
    assert "我妹妹住在里斯本。" in run(one(filled, "memory_expand"), "call", handle).content
    assert "里斯本" in run(one(filled, "memory_fetch"), "call", handle=handle).content
    changed = run(one(filled, "memory_update"), "call", handle=handle, text="我妹妹搬到波尔图了。")
    assert handle in changed.content
    assert run(one(filled, "memory_forget"), "call", handles=[handle]).content.startswith("Nothing is forgotten yet.")


@pytest.mark.parametrize("caller", [call_tool, acall_tool])
def test_a_single_argument_reaches_the_tool_with_or_without_its_name(filled: HybridMemory, caller: Any) -> None:
    expand = one(filled, "memory_expand")
    outcome = caller(expand, {"handle": "#1"})
    output: ToolOutput = asyncio.run(outcome) if asyncio.iscoroutine(outcome) else outcome
    assert "My tea is green." in output.content
    assert "My tea is green." in expand("#1").content


@pytest.mark.parametrize(
    "arguments", [{"query": "tea", "k": "many"}, {}, {"query": " "}, {"query": "a", "since": "b"}, {"query": None}]
)
def test_a_wrong_call_is_answered_as_an_error(filled: HybridMemory, run: Run, arguments: dict[str, Any]) -> None:
    output = run(one(filled, "memory_recall"), "call", **arguments)
    assert output.is_error
    assert output.content.startswith("Error: ")
    assert len(output.content) < 300


def test_nobody_named_is_an_error_before_anything_is_called(filled: HybridMemory) -> None:
    with pytest.raises(InvalidScopeError):
        HybridMemoryToolSpec(memory=filled)
    with pytest.raises(InvalidScopeError):
        HybridMemoryToolSpec(memory=filled, session="s1")
    with pytest.raises(InvalidConfigError, match="not both"):
        HybridMemoryToolSpec(memory=filled, url="memory://", user="alice")


def test_a_handle_of_somebody_else_is_nobodys(filled: HybridMemory, run: Run) -> None:
    for name in ("memory_expand", "memory_fetch"):
        output = run(one(filled, name, user="bob"), "call", handle="#1")
        assert output.is_error
        assert "green" not in output.content
    found = run(one(filled, "memory_recall", user="bob"), "call", query="tea")
    assert found.content == "Nothing is remembered about that."


def test_a_model_cannot_name_the_user(filled: HybridMemory, run: Run) -> None:
    forged = {"user": "alice", "tenant": "alice", "owner": {"user": "alice"}, "memory": "alice"}
    output = run(one(filled, "memory_recall", user="mallory"), "call", query="tea", **forged)
    assert "green" not in output.content


def test_a_store_is_opened_with_the_first_call_and_shared(config: str, run: Run) -> None:
    note, recall = HybridMemoryToolSpec(
        url=config, user="alice", names=["memory_remember", "memory_recall"]
    ).to_tool_list()
    run(note, "call", text="My tea is green.")
    assert "green" in run(recall, "call", query="tea").content
    chat = HybridChatMemory.from_defaults(url=config, user="alice", session="s1")
    assert "green" in str(chat.get(input="Which tea do I like?"))
    assert not chat.get_all()


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


def test_a_file_that_it_writes_is_found_elsewhere(filled: HybridMemory) -> None:
    tool = one(filled, "memory_file")
    made = tool.call(command="create", path="/memories/trip.md", file_text="The trip goes to Lisbon.\n")
    assert (made.content, made.is_error) == ("File created successfully at: /memories/trip.md", False)
    assert tool.call(command="view", path="/etc/passwd").is_error
    shown = asyncio.run(tool.acall(command="view", path="/memories/trip.md"))
    assert shown.content.endswith("     1\tThe trip goes to Lisbon.\n     2\t")
    alice = filled.scoped(user="alice", session="another")
    assert alice.recall("Where does the trip go?", k=1)[0].record.text == "The trip goes to Lisbon."
