"""A question to the same policy twice: with its memory, and in a plain window."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from benchmarks.paging.policies import QUESTION
from benchmarks.sets import undisturbed
from hybrid_memory import HybridMemory, Message, Role
from hybrid_memory.models.tokenizers import token_counter
from hybrid_memory.text.tokens import PRIMING, message_tokens
from hybrid_memory_paging import PagedAgent
from hybrid_memory_paging.instructions import rendered

AGENT, USER = "assistant", "u"
MAX_TOKENS = 4000
"""Of the window."""

IDENTITY = "You answer questions about what was said and noted."

count = token_counter()


def opened(embedder: Any = None) -> HybridMemory:
    """A memory that learns nothing by itself; without an embedder one of words."""
    return undisturbed(embedder=embedder or "hashing")


class Policy(Protocol):
    """Answers a prompt."""

    def complete(self, messages: Sequence[Message]) -> str:
        """The answer."""
        ...


@dataclass
class Scripted:
    """A policy as a model."""

    policy: Policy
    name: str = "scripted"

    def complete(self, messages: Sequence[Message]) -> str:
        """What the policy answers."""
        return self.policy.complete(messages)

    def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
        """Nothing: nobody asks a policy for a summary."""
        raise NotImplementedError


def size(prompt: Sequence[Message]) -> int:
    """Tokens of a prompt, as the memory counts them."""
    return PRIMING + sum(message_tokens(message, count) for message in prompt)


def paged(memory: HybridMemory, policy: Policy, question: str, *, session: str = "main") -> str:
    """The answer of an agent with this memory."""
    agent = PagedAgent(
        memory, agent=AGENT, user=USER, session=session, model=Scripted(policy), identity=IDENTITY,
        max_tokens=MAX_TOKENS,
    )  # fmt: skip
    return agent.send(asking(question)).text


def asking(question: str) -> str:
    """The question, so that a policy knows it for one."""
    return QUESTION + " ".join(question.split())


def windowed(history: Sequence[Message], policy: Policy, question: str) -> str:
    """The answer to the question behind the newest messages that fit the same window, without functions."""
    asked = Message(content=asking(question))
    head = Message(role=Role.SYSTEM, content=IDENTITY)

    def prompt(number: int) -> list[Message]:
        return [head, *rendered([*history[len(history) - number :], asked])]

    beyond = bisect_right(range(len(history) + 1), MAX_TOKENS, key=lambda number: size(prompt(number)))
    return policy.complete(prompt(max(beyond - 1, 0)))
