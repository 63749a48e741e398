import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from hybrid_memory import HybridMemory, Message
from hybrid_memory_paging import PagedAgent
from tests.faces import Open

Said = str | Exception | Callable[[Sequence[Message]], str]


def call(function: str, heartbeat: Any = True, **arguments: Any) -> str:
    """A call as the instructions ask for it."""
    return json.dumps(
        {"thoughts": "so", "function": function, "arguments": arguments, "request_heartbeat": heartbeat},
        ensure_ascii=False,
    )


def says(message: str) -> str:
    """A reply, after which the agent rests."""
    return call("send_message", heartbeat=False, message=message)


def shown(prompt: Sequence[Message]) -> str:
    """All words of a prompt."""
    return "\n".join(message.text for message in prompt)


class Script:
    """A model that answers from a list, then always the same; what is callable is given the prompt, errors are raised.

    Attributes:
        prompts: that it was given.
    """

    name = "script"

    def __init__(self, *answers: Said, otherwise: Said | None = None) -> None:
        self.answers = deque(answers)
        self.otherwise = says("ok") if otherwise is None else otherwise
        self.prompts: list[list[Message]] = []

    def complete(self, messages: Sequence[Message]) -> str:
        self.prompts.append(list(messages))
        said = self.answers.popleft() if self.answers else self.otherwise
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, str) else said(messages)

    def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


Make = Callable[..., PagedAgent]
"""Makes an agent with this model, by default of Ada in a memory of its own with this clock."""


@pytest.fixture
def make(opened: Open) -> Iterator[Make]:
    """Agents, closed after the test."""
    agents: list[PagedAgent] = []

    def made(model: Any, *, memory: HybridMemory | None = None, clock: Any = None, **settings: Any) -> PagedAgent:
        memory = memory or opened(url="memory://", embedder="none", clock=clock)
        agent = PagedAgent(memory, model=model, **{"agent": "clerk", "user": "ada", **settings})
        agents.append(agent)
        return agent

    yield made
    for agent in agents:
        agent.close()
