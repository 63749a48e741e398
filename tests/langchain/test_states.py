"""States of agents whose messages have no ids of their own, or are not kept from turn to turn."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain.tools import tool
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from hybrid_memory import HybridMemory
from langchain_hybrid_memory import HybridMemoryMiddleware
from tests.langchain.conftest import THREAD, ScriptedChat, calls, numbered, orphans, talk, words

if TYPE_CHECKING:
    from tests.langchain.conftest import Invoke


@tool
def weather() -> str:
    """The weather."""
    return "sunny"


class Added(AgentState[Any]):
    messages: Annotated[list[Any], operator.add]


class Replaced(AgentState[Any]):
    messages: list[Any]


def added(model: Any, layer: Any) -> Any:
    return create_agent(model, middleware=[layer], checkpointer=InMemorySaver(), state_schema=Added)


def replaced(model: Any, layer: Any) -> Any:
    return create_agent(model, middleware=[layer], checkpointer=InMemorySaver(), state_schema=Replaced)


def forgetful(model: Any, layer: Any) -> Any:
    return create_agent(model, middleware=[layer], state_schema=Replaced)


def as_pair(text: str) -> Any:
    return ("user", text)


def as_dict(text: str) -> Any:
    return {"role": "user", "content": text}


@pytest.mark.parametrize(
    ("agent_of", "given"),
    [(added, HumanMessage), (added, as_pair), (replaced, as_dict), (forgetful, HumanMessage)],
)
def test_every_turn_reaches_the_model_and_the_log_has_it_once(
    memory: HybridMemory, invoke: Invoke, agent_of: Any, given: Any
) -> None:
    model = numbered()
    agent = agent_of(model, HybridMemoryMiddleware(memory, k=0))
    talk(agent, model, memory, invoke, given, whole=agent_of is added)


@pytest.mark.in_pairs("invoke", "memory")
def test_calls_and_failures_are_written_once(memory: HybridMemory, invoke: Invoke) -> None:
    model = ScriptedChat(
        answers=[
            calls(("weather", {})), "sunny", RuntimeError("down"), AIMessage("here"), calls(("weather", {})), "dry",
        ]
    )  # fmt: skip
    layer = HybridMemoryMiddleware(memory, k=0)
    agent = create_agent(model, [weather], middleware=[layer], checkpointer=InMemorySaver(), state_schema=Added)
    for text in ("weather?", "and?", "and?", "weather?"):
        try:
            invoke(agent, {"messages": [HumanMessage(text)]}, THREAD)
        except RuntimeError:
            continue
    everything = [
        "weather?", "weather {}", "sunny", "sunny", "and?", "and?", "here", "weather?", "weather {}", "sunny", "dry",
    ]  # fmt: skip
    assert [message.text for message in memory.scoped(user="alice", session="t1").history()] == everything
    assert not orphans(model.prompts[-1])
    assert words(model.prompts[-1]) == [text.replace("weather {}", "") for text in everything[:-1]]
