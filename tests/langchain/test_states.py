"""States of agents whose messages have no ids of their own, or are not kept from turn to turn."""

from __future__ import annotations

import operator
from typing import Annotated, Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from hybrid_memory import HybridMemory
from langchain_hybrid_memory import HybridMemoryMiddleware
from tests.langchain.conftest import Invoke, numbered, talk


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
    ("agent_of", "given"), [(added, HumanMessage), (added, as_pair), (replaced, as_dict), (forgetful, HumanMessage)]
)
def test_every_turn_reaches_the_model_and_the_log_has_it_once(
    memory: HybridMemory, invoke: Invoke, agent_of: Any, given: Any
) -> None:
    model = numbered()
    agent = agent_of(model, HybridMemoryMiddleware(memory, k=0))
    talk(agent, model, memory, invoke, given, whole=agent_of is added)
