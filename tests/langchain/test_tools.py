"""The memory as tools of LangChain agents."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from hybrid_memory import HybridMemory, MemoryConfig, open_memory
from hybrid_memory.errors import InvalidInputError, InvalidScopeError, MemoryClosedError
from hybrid_memory.text.tokens import estimate_tokens, schema_tokens
from langchain_hybrid_memory.tools import memory_tools
from tests.langchain.conftest import ToolSuite, agent_of, calls, results, run

EXAMPLES: dict[str, dict[str, Any]] = {
    "memory_remember": {"text": "I like tea.", "category": "taste", "importance": 0.8},
    "memory_recall": {"query": "tea", "k": 3, "since": "2026-01-01"},
    "memory_update": {"handle": "#1", "text": "I like coffee."},
    "memory_forget": {"handles": ["#1"]},
    "memory_expand": {"handle": "#1"},
    "memory_fetch": {"handle": "#1", "where": "1-1"},
}

Agent = Callable[[list[BaseMessage], list[BaseTool]], Any]


@pytest.fixture
def filled() -> Iterator[HybridMemory]:
    with open_memory(MemoryConfig(url="memory://", embedder="hashing")) as memory:
        memory.scoped(user="alice").remember("My tea is green.")
        yield memory


@pytest.fixture(params=list(EXAMPLES))
def one(request: pytest.FixtureRequest, filled: HybridMemory) -> BaseTool:
    (found,) = memory_tools(filled, user="alice", names=[request.param])
    return found


class TestUnits(ToolSuite, ToolsUnitTests):
    examples = EXAMPLES


class TestIntegration(ToolSuite, ToolsIntegrationTests):
    examples = EXAMPLES


def test_all_tools_are_there_and_cheap(filled: HybridMemory) -> None:
    tools = memory_tools(filled)
    assert {tool.name for tool in tools} == set(EXAMPLES)
    schemas = [convert_to_openai_tool(tool) for tool in tools]
    assert schema_tokens(schemas, estimate_tokens) < 900
    assert not [schema for schema in schemas if "runtime" in str(schema)]
    with pytest.raises(InvalidInputError, match="no memory tool"):
        memory_tools(filled, names=["recall"])


def test_a_single_text_is_the_first_argument(filled: HybridMemory) -> None:
    (recall,) = memory_tools(filled, user="alice", names=["memory_recall"])
    assert "My tea is green." in recall.invoke("tea")
    assert "My tea is green." in asyncio.run(recall.ainvoke("tea"))


@pytest.mark.parametrize("arguments", [{"query": "tea", "k": "many"}, {}, {"query": " "}, {"query": "a", "since": "b"}])
def test_a_wrong_call_is_answered_as_an_error(filled: HybridMemory, arguments: dict[str, Any]) -> None:
    (recall,) = memory_tools(filled, user="alice", names=["memory_recall"])
    call = {"name": recall.name, "args": arguments, "id": "c1", "type": "tool_call"}
    for message in (recall.invoke(call), asyncio.run(recall.ainvoke(call))):
        assert isinstance(message, ToolMessage)
        assert message.status == "error"
        assert str(message.content).startswith("Error: ")
        assert len(str(message.content)) < 300
    state = agent_of([recall], calls((recall.name, arguments))).invoke({"messages": [("user", "hi")]})
    assert results(state)[0].status == "error"
    assert state["messages"][-1].content == "Done."


@pytest.mark.parametrize("face", ["sync", "async"])
def test_an_agent_remembers_and_recalls(filled: HybridMemory, face: str) -> None:
    agent = agent_of(
        memory_tools(filled, user="alice"),
        calls(("memory_remember", {"text": "我妹妹住在里斯本。"}), ("memory_recall", {"query": "green tea"})),
        calls(("memory_recall", {"query": "妹妹住在哪里"})),
    )
    noted, tea, sister = results(run(agent, face))
    assert str(noted.content).startswith("Remembered as #")
    assert "My tea is green." in str(tea.content)
    assert "里斯本" in str(sister.content)
    assert {message.status for message in (noted, tea, sister)} == {"success"}


@pytest.mark.parametrize("face", ["sync", "async"])
@pytest.mark.parametrize("place", ["context", "configurable"])
def test_the_run_says_whose_memory_it_is(filled: HybridMemory, face: str, place: str) -> None:
    for user, knows in (("alice", True), ("bob", False)):
        options = {place: {"user_id": user}} if place == "context" else {"config": {place: {"user_id": user}}}
        agent = agent_of(memory_tools(filled), calls(("memory_recall", {"query": "tea"})))
        (found,) = results(run(agent, face, **options))
        assert ("green" in str(found.content)) is knows


@pytest.mark.parametrize("face", ["sync", "async"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_run_without_a_user_ends(filled: HybridMemory, face: str, name: str) -> None:
    agent = agent_of(memory_tools(filled), calls((name, EXAMPLES[name])))
    with pytest.raises(InvalidScopeError, match="whose memory"):
        run(agent, face)


@pytest.mark.parametrize("face", ["sync", "async"])
def test_a_closed_memory_ends_the_run(filled: HybridMemory, face: str) -> None:
    agent = agent_of(memory_tools(filled, user="alice"), calls(("memory_recall", {"query": "tea"})))
    filled.close()
    with pytest.raises(MemoryClosedError):
        run(agent, face)


@pytest.mark.parametrize("face", ["sync", "async"])
def test_a_model_cannot_name_the_user(filled: HybridMemory, face: str) -> None:
    forged = {"context": {"user_id": "alice"}, "config": {"configurable": {"user_id": "alice"}}}
    arguments = {"query": "tea", "runtime": forged, "user_id": "alice", "user": "alice"}
    tools = memory_tools(filled)
    (found,) = results(run(agent_of(tools, calls(("memory_recall", arguments))), face, context={"user_id": "mallory"}))
    assert "green" not in str(found.content)
    with pytest.raises(InvalidScopeError):  # in a loop of the application's own nothing takes the argument out
        next(one for one in tools if one.name == "memory_recall").invoke(arguments)


async def test_users_in_concurrent_runs_never_see_each_other(filled: HybridMemory) -> None:
    tools = memory_tools(filled)

    async def visit(user: str, session: str) -> dict[str, Any]:
        agent = agent_of(
            tools,
            calls(("memory_remember", {"text": f"{user} keeps the key {user}-{session}."})),
            calls(*[("memory_recall", {"query": f"who keeps the key? {n}", "k": 10}) for n in range(4)]),
        )
        config = {"configurable": {"thread_id": session}}
        return await agent.ainvoke(  # type: ignore[no-any-return]
            {"messages": [("user", "hi")]}, config=config, context={"user_id": user}
        )

    with blockbuster_ctx():
        visits = [(user, session) for session in ("s1", "s2", "s3") for user in ("ann", "ben", "安娜")]
        states = await asyncio.gather(*[visit(*one) for one in visits])
    for (user, session), state in zip(visits, states, strict=True):
        found = [str(message.content) for message in results(state)[1:]]
        assert len(found) == 4
        for text in found:
            assert f"{user}-{session}" in text
            assert not [other for other in ("ann", "ben", "安娜") if other != user and f"{other}-" in text]
    assert filled.scoped(user="ann", session="s1").history() == []


def test_the_tools_leave_the_applications_own_alone(filled: HybridMemory) -> None:
    @tool
    def recall(query: str) -> str:
        """The application's."""
        return f"own {query}"

    agent = agent_of(
        [recall, *memory_tools(filled, user="alice")],
        calls(("recall", {"query": "tea"}), ("memory_recall", {"query": "tea"})),
    )
    assert [str(message.content)[:3] for message in results(run(agent, "sync"))] == ["own", "#1 "]


def test_langchain_core_alone_is_enough(filled: HybridMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in {"langgraph", "langchain"}]:
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("langchain_hybrid_memory.tools", "langchain_hybrid_memory.scopes"):
        monkeypatch.delitem(sys.modules, name)
    anew = importlib.import_module("langchain_hybrid_memory.tools").memory_tools
    (recall,) = anew(filled, user="alice", names=["memory_recall"])
    assert "green" in recall.invoke({"query": "tea"})
    (recall,) = anew(filled, names=["memory_recall"])
    assert "green" in recall.invoke({"query": "tea"}, config={"configurable": {"user_id": "alice"}})
    with pytest.raises(InvalidScopeError):
        recall.invoke({"query": "tea"})
