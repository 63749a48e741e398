"""The memory as tools of LangChain agents: its own, and the functions of paging."""

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from hybrid_memory import HybridMemory, MemoryConfig, open_memory
from hybrid_memory.errors import InvalidInputError, InvalidScopeError, MemoryClosedError
from hybrid_memory.text.tokens import estimate_tokens, schema_tokens
from langchain_hybrid_memory.tools import memory_tools
from tests.langchain.conftest import Invoke, agent_of, calls, results, said
from tests.world import cases

OWN: dict[str, dict[str, Any]] = cases("langchain/tools.json", "own")
PAGING: dict[str, dict[str, Any]] = cases("langchain/tools.json", "paging")
EXAMPLES = OWN | PAGING
HI = said("hi")


@pytest.fixture
def filled() -> Iterator[HybridMemory]:
    with open_memory(MemoryConfig(url="memory://", embedder="hashing")) as memory:
        alice = memory.scoped(user="alice")
        alice.remember("My tea is green.")
        alice.block("human").put("Name: Ada", description="Who the user is.")
        yield memory


class ToolSuite:
    """What the standard suites ask of each tool; they take an instance, and its example by its name."""

    @pytest.fixture(autouse=True, params=list(EXAMPLES))
    def tool(self, request: pytest.FixtureRequest, filled: HybridMemory) -> BaseTool:
        (self.given,) = memory_tools(filled, user="alice", paging=request.param in PAGING, names=[request.param])
        return self.given

    @property
    def tool_constructor(self) -> BaseTool:
        return self.given

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return EXAMPLES[self.given.name]


class TestUnits(ToolSuite, ToolsUnitTests):
    """LangChain's own."""


class TestIntegration(ToolSuite, ToolsIntegrationTests):
    """LangChain's own."""


def test_all_tools_are_there_and_cheap(filled: HybridMemory) -> None:
    tools = memory_tools(filled)
    assert {tool.name for tool in tools} == OWN.keys() - {"memory_file"}
    schemas = [convert_to_openai_tool(tool) for tool in tools]
    assert schema_tokens(schemas, estimate_tokens) < 900
    assert not [schema for schema in schemas if "runtime" in str(schema)]
    with pytest.raises(InvalidInputError, match="unknown memory tool"):
        memory_tools(filled, names=["recall"])


@pytest.mark.parametrize("place", ["context", "configurable"])
def test_the_run_says_whose_memory_it_is(filled: HybridMemory, invoke: Invoke, place: str) -> None:
    for user, knows in (("alice", True), ("bob", False)):
        options = {place: {"user_id": user}} if place == "context" else {"config": {place: {"user_id": user}}}
        agent = agent_of(memory_tools(filled), calls(("memory_recall", {"query": "tea"})))
        (found,) = results(invoke(agent, HI, **options))
        assert ("green" in str(found.content)) is knows


@pytest.mark.parametrize("name", OWN)
def test_a_run_without_a_user_ends(filled: HybridMemory, invoke: Invoke, name: str) -> None:
    agent = agent_of(memory_tools(filled, names=[name]), calls((name, EXAMPLES[name])))
    with pytest.raises(InvalidScopeError, match=r"no (?:user|owner) given"):
        invoke(agent, HI)


def test_a_closed_memory_ends_the_run(filled: HybridMemory, invoke: Invoke) -> None:
    agent = agent_of(memory_tools(filled, user="alice"), calls(("memory_recall", {"query": "tea"})))
    filled.close()
    with pytest.raises(MemoryClosedError):
        invoke(agent, HI)


def test_a_model_cannot_name_the_user(filled: HybridMemory, invoke: Invoke) -> None:
    forged = {"context": {"user_id": "alice"}, "config": {"configurable": {"user_id": "alice"}}}
    arguments = {"query": "tea", "runtime": forged, "user_id": "alice", "user": "alice"}
    tools = memory_tools(filled)
    (found,) = results(invoke(agent_of(tools, calls(("memory_recall", arguments))), HI, context={"user_id": "mallory"}))
    assert "green" not in str(found.content)
    with pytest.raises(InvalidScopeError):  # in a loop of the application's own nothing takes the argument out
        next(one for one in tools if one.name == "memory_recall").invoke(arguments)


def test_a_message_that_is_sent_ends_the_run(filled: HybridMemory, invoke: Invoke) -> None:
    tools = memory_tools(filled, user="alice", paging=True)
    state = invoke(agent_of(tools, calls(("send_message", {"message": "Hello Ada."}))), HI)
    assert (state["messages"][-1].type, state["messages"][-1].text) == ("tool", "Hello Ada.")
    both = [("core_memory_append", {"label": "human", "content": "x"}), ("send_message", {"message": "Noted."})]
    state = invoke(agent_of(tools, calls(*both)), HI)  # its edit may have failed, so it is asked again
    assert state["messages"][-1].text == "Done."


def test_a_wrong_call_is_answered_and_the_run_goes_on(filled: HybridMemory, invoke: Invoke) -> None:
    filled.scoped(user="alice").block("rules").put("Be kind.", read_only=True)
    before = filled.scoped(user="alice").blocks()
    wrong = calls(
        ("core_memory_append", {"label": "rules", "content": "none"}), ("core_memory_append", {"label": "rules"})
    )
    state = invoke(agent_of(memory_tools(filled, user="alice", paging=True), wrong), HI)
    read_only, lacking = results(state)
    assert (read_only.status, lacking.status) == ("error", "error")
    assert "read-only" in read_only.text
    assert "content" in lacking.text
    assert state["messages"][-1].text == "Done."
    assert filled.scoped(user="alice").blocks() == before


def test_in_a_run_without_memory_the_model_is_told_that_nothing_is_stored(memory: HybridMemory) -> None:
    memory.scoped(user="alice").remember("I like tea.")
    tools = {tool.name: tool for tool in memory_tools(memory, user="alice")}
    config: RunnableConfig = {"configurable": {"remember": False}}
    for name, given in (("memory_remember", {"text": "I quit."}), ("memory_forget", {"handles": "#1"})):
        assert "remember=False" in tools[name].invoke(given, config)
    assert [message.text for message in memory.scoped(user="alice").history()] == ["I like tea."]
