"""A question to the same policy twice: with its memory, and in a plain window."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from benchmarks.paging.policies import QUESTION
from hybrid_memory import HybridMemory, LearningConfig, MemoryConfig, Message, Role, open_memory
from hybrid_memory.models.tokenizers import token_counter
from hybrid_memory.text.tokens import PRIMING, message_tokens
from hybrid_memory_paging import PagedAgent
from hybrid_memory_paging.instructions import rendered

AGENT, USER = "assistant", "u"
IDENTITY = "You answer questions about what was said and noted."

count = token_counter()


def opened(embedder: Any = None) -> HybridMemory:
    """A memory that learns nothing by itself; without an embedder one of words."""
    config = MemoryConfig(url="memory://", embedder="hashing", learning=LearningConfig(background=False))
    return open_memory(config, embedder=embedder)


class Policy(Protocol):
    """Answers a prompt."""

    def complete(self, messages: Sequence[Message]) -> str:
        """The answer."""
        ...


@dataclass(frozen=True, slots=True)
class Answered:
    """What a policy said, the last prompt that it was shown, and the tokens of its largest one."""

    text: str
    prompt: Sequence[Message]
    most_tokens: int


@dataclass
class Watched:
    """A policy as a model, whose prompts are noted."""

    policy: Policy
    prompts: list[Sequence[Message]] = field(default_factory=list)
    name: str = "scripted"

    def complete(self, messages: Sequence[Message]) -> str:
        """What the policy answers."""
        self.prompts.append(messages)
        return self.policy.complete(messages)

    def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
        """Nothing: nobody asks a policy for a summary."""
        raise NotImplementedError


def size(prompt: Sequence[Message]) -> int:
    """Tokens of a prompt, as the memory counts them."""
    return PRIMING + sum(message_tokens(message, count) for message in prompt)


def paged(memory: HybridMemory, policy: Policy, question: str, *, max_tokens: int, session: str = "main") -> Answered:
    """The question to an agent with this memory."""
    model = Watched(policy)
    agent = PagedAgent(
        memory, agent=AGENT, user=USER, session=session, model=model, identity=IDENTITY, max_tokens=max_tokens
    )
    run = agent.send(asking(question))
    return Answered(run.text, model.prompts[-1], max(map(size, model.prompts)))


def asking(question: str) -> str:
    """The question, so that a policy knows it for one."""
    return QUESTION + " ".join(question.split())


def windowed(history: Sequence[Message], policy: Policy, question: str, *, max_tokens: int) -> Answered:
    """The question behind the newest messages that fit the same window, without functions."""
    asked = Message(content=asking(question))
    head = Message(role=Role.SYSTEM, content=IDENTITY)

    def prompt(number: int) -> list[Message]:
        return [head, *rendered([*history[len(history) - number :], asked])]

    beyond = bisect_right(range(len(history) + 1), max_tokens, key=lambda number: size(prompt(number)))
    shown = prompt(max(beyond - 1, 0))
    return Answered(policy.complete(shown), shown, size(shown))
