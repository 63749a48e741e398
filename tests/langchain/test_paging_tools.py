"""The functions of paging as tools of LangChain agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from pydantic import SecretStr

from hybrid_memory import HybridMemory, MemoryConfig, open_memory
from hybrid_memory.errors import InvalidInputError, MemoryClosedError, StoreUnavailableError
from hybrid_memory.text.tokens import estimate_tokens
from langchain_hybrid_memory import memory_tools
from tests.langchain.conftest import ToolSuite, agent_of, calls, results, run

EXAMPLES: dict[str, dict[str, Any]] = {
    "core_memory_append": {"label": "human", "content": "Likes tea."},
    "core_memory_replace": {"label": "human", "old_content": "Ada", "new_content": "Eve"},
    "core_memory_rethink": {"label": "human", "new_content": "Her name is Ada."},
    "archival_memory_insert": {"content": "The boiler was serviced in May.", "tags": ["house"]},
    "archival_memory_search": {"query": "boiler", "tags": ["house"], "page": 0},
    "conversation_search": {"query": "tea", "page": 0},
    "conversation_search_date": {"start_date": "2026-01-01", "end_date": "2099-12-31", "page": 0},
    "expand": {"handle": "#1"},
    "fetch": {"handle": "#1", "where": "1-1"},
    "send_message": {"message": "Hello."},
}


@pytest.fixture
def filled() -> Iterator[HybridMemory]:
    with open_memory(MemoryConfig(url="memory://", embedder="hashing")) as memory:
        alice = memory.scoped(user="alice")
        alice.remember("My tea is green.")
        alice.block("human").put("Name: Ada", description="Who the user is.")
        yield memory


@pytest.fixture(params=list(EXAMPLES))
def one(request: pytest.FixtureRequest, filled: HybridMemory) -> BaseTool:
    (found,) = memory_tools(filled, user="alice", paging=True, names=[request.param])
    return found


class TestUnits(ToolSuite, ToolsUnitTests):
    examples = EXAMPLES


class TestIntegration(ToolSuite, ToolsIntegrationTests):
    examples = EXAMPLES


def test_providers_take_the_schemas(filled: HybridMemory) -> None:
    tools = memory_tools(filled, paging=True)
    assert [tool.name for tool in tools] == list(EXAMPLES)
    for tool in tools:
        parameters = convert_to_openai_tool(tool)["function"]["parameters"]
        assert set(parameters["properties"]) >= set(EXAMPLES[tool.name])
        assert all(field["description"] for field in parameters["properties"].values())
        assert "runtime" not in parameters["properties"]
    bound: Any = ChatAnthropic(model_name="any", api_key=SecretStr("none"), timeout=1, stop=None).bind_tools(tools)
    assert [schema["name"] for schema in bound.kwargs["tools"]] == list(EXAMPLES)
    openai = pytest.importorskip("langchain_openai")
    bound = openai.ChatOpenAI(model="any", api_key="none").bind_tools(tools)
    assert [schema["function"]["name"] for schema in bound.kwargs["tools"]] == list(EXAMPLES)


def test_some_are_chosen_by_name_and_the_memorys_own_are_not_among_them(filled: HybridMemory) -> None:
    (tool,) = memory_tools(filled, paging=True, names="expand")
    assert tool.name == "expand"
    with pytest.raises(InvalidInputError, match="no memory tool 'memory_recall'"):
        memory_tools(filled, paging=True, names=["memory_recall"])


@pytest.mark.parametrize("face", ["sync", "async"])
def test_every_function_does_its_work(filled: HybridMemory, face: str) -> None:
    done = {name: arguments for name, arguments in EXAMPLES.items() if name != "send_message"}
    agent = agent_of(
        memory_tools(filled, user="alice", paging=True),
        *(calls(call, start=row) for row, call in enumerate(done.items())),
    )
    told = dict(zip(done, results(run(agent, face)), strict=True))
    assert {message.status for message in told.values()} == {"success"}
    assert filled.scoped(user="alice").blocks()["human"].value == "Her name is Ada."
    assert [block.change for block in filled.scoped(user="alice").block("human").history()] == [
        "put", "append", "replace", "rethink"
    ]  # fmt: skip
    for name, words in {
        "archival_memory_search": "serviced in May", "conversation_search": "tea is green",
        "conversation_search_date": "tea is green", "expand": "My tea is green.", "fetch": "My tea is green.",
    }.items():  # fmt: skip
        assert words in told[name].text


@pytest.mark.parametrize("face", ["sync", "async"])
def test_a_message_that_is_sent_ends_the_run(filled: HybridMemory, face: str) -> None:
    tools = memory_tools(filled, user="alice", paging=True)
    state = run(agent_of(tools, calls(("send_message", {"message": "Hello Ada."}))), face)
    assert (state["messages"][-1].type, state["messages"][-1].text) == ("tool", "Hello Ada.")
    both = [("core_memory_append", {"label": "human", "content": "x"}), ("send_message", {"message": "Noted."})]
    state = run(agent_of(tools, calls(*both)), face)  # its edit may have failed, so it is asked again
    assert state["messages"][-1].text == "Done."


@pytest.mark.parametrize("face", ["sync", "async"])
@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("core_memory_append", {"label": "rules", "content": "none"}, "read-only"),
        ("core_memory_replace", {"label": "human", "old_content": "Bob", "new_content": ""}, "Bob"),
        ("core_memory_append", {"label": "human", "content": "x" * 3000}, "2000"),
        ("core_memory_rethink", {"label": "humans", "new_content": "x"}, "'human', 'rules'"),
        ("core_memory_append", {"label": "human"}, "content"),
        ("conversation_search", {"query": "tea", "page": -1}, "page"),
        ("conversation_search_date", {"start_date": "soon"}, "start_date"),
        ("expand", {"handle": "twelve"}, "#12"),
    ],
)
def test_a_wrong_call_is_answered_and_the_run_goes_on(
    filled: HybridMemory, face: str, name: str, arguments: dict[str, Any], says: str
) -> None:
    filled.scoped(user="alice").block("rules").put("Be kind.", read_only=True)
    before = filled.scoped(user="alice").blocks()
    state = run(agent_of(memory_tools(filled, user="alice", paging=True), calls((name, arguments))), face)
    (told,) = results(state)
    assert told.status == "error"
    assert says in told.text
    assert estimate_tokens(told.text) < 300
    assert state["messages"][-1].text == "Done."
    assert filled.scoped(user="alice").blocks() == before


@pytest.mark.parametrize("face", ["sync", "async"])
def test_a_store_that_fails_is_answered(filled: HybridMemory, face: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise StoreUnavailableError("the disk is full")

    agent = agent_of(
        memory_tools(filled, user="alice", paging=True), calls(("core_memory_append", EXAMPLES["core_memory_append"]))
    )
    with monkeypatch.context() as patch:
        patch.setattr(filled._runtime.services.log, "append", full)
        state = run(agent, face)
    assert [(message.status, "cannot be reached" in message.text) for message in results(state)] == [("error", True)]
    assert state["messages"][-1].text == "Done."
    filled.close()
    with pytest.raises(MemoryClosedError):
        run(agent, face)
