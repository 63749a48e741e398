"""A question to the same policy twice: with its memory, and in a plain window; and what was to be seen of it."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from benchmarks.paging.policies import QUESTION
from hybrid_memory import (
    HybridMemory,
    LearningConfig,
    MemoryConfig,
    Message,
    PagingConfig,
    Role,
    open_memory,
)
from hybrid_memory.log.message import PRESSURE
from hybrid_memory.models.tokenizers import token_counter
from hybrid_memory.text.tokens import PRIMING, message_tokens
from hybrid_memory_paging import PagedAgent
from hybrid_memory_paging.instructions import rendered

AGENT, USER = "assistant", "u"
IDENTITY = "You answer questions about what was said and noted."
PAGING = PagingConfig()
FULL, NEAR = 0.72, 0.66
"""Shares of the window: beyond one the agent must have been warned, below the other it must not. It estimates how long
a prompt is once it is written, so that it may see 70 % a little earlier or later."""


count = token_counter()


def opened(url: str = "memory://", embedder: Any = None) -> HybridMemory:
    """A memory that learns nothing by itself; without an embedder one of words."""
    config = MemoryConfig(url=url, embedder="hashing", learning=LearningConfig(background=False))
    return open_memory(config, embedder=embedder)


class Policy(Protocol):
    """Answers a prompt."""

    @property
    def name(self) -> str:
        """Of the policy."""
        ...

    def complete(self, messages: Sequence[Message]) -> str:
        """The answer."""
        ...

    def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
        """Not asked for."""
        ...


@dataclass(frozen=True, slots=True)
class Ask:
    """A call of the model.

    Attributes:
        tokens: of the prompt.
        flushes: how often messages had left the window until then.
    """

    prompt: Sequence[Message]
    tokens: int
    flushes: int


@dataclass
class Watched:
    """A policy as a model, each of whose prompts is noted."""

    policy: Policy
    agent: PagedAgent | None = None
    asks: list[Ask] = field(default_factory=list)
    name: str = "scripted"

    def complete(self, messages: Sequence[Message]) -> str:
        """What the policy answers."""
        flushes = self.agent.memory.summary().audit.compactions if self.agent else 0
        self.asks.append(Ask(messages, size(messages), flushes))
        return self.policy.complete(messages)

    def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
        """What the policy answers."""
        return self.policy.structured(messages, schema)


@dataclass
class Tally:
    """What was seen over all questions to an agent.

    Attributes:
        steps, searched, tokens: answers, searches, and mean tokens of the prompts, of each question.
        largest: prompt, as a share of the window.
        calls: of functions.
        flushes: times that messages left a window.
        warned: windows in which the model was asked at `FULL` or more, by the number of their warnings.
        early: warnings in windows in which it was never asked near that.
        lost: messages that the log does not have.
    """

    steps: list[int] = field(default_factory=list)
    searched: list[int] = field(default_factory=list)
    tokens: list[float] = field(default_factory=list)
    largest: float = 0.0
    calls: int = 0
    flushes: int = 0
    warned: Counter[int] = field(default_factory=Counter)
    early: int = 0
    lost: int = 0

    def row(self) -> dict[str, Any]:
        """The columns of a table."""
        full = sum(self.warned.values())
        return {
            "questions": len(self.steps),
            "steps": statistics.fmean(self.steps),
            "searches": statistics.fmean(self.searched),
            "prompt": round(statistics.fmean(self.tokens)),
            "largest": self.largest,
            "calls": self.calls,
            "flushes": self.flushes,
            "full": full,
            "warned once": self.warned[1],
            "else": full - self.warned[1] + self.early,
            "lost": self.lost,
        }


COLUMNS = (
    "questions", "steps", "searches", "prompt", "largest", "calls", "flushes", "full", "warned once", "else", "lost"
)  # fmt: skip
NOTE = (
    "of a question: answers of the model, searches, mean tokens of a prompt; of all: largest prompt as a share of the\n"
    "window, calls, flushes, windows in which the model was asked at 72 % or more, those of them with one warning;\n"
    "to be 0: those with none or several and warnings in other windows, messages that the log lost"
)


def size(prompt: Sequence[Message]) -> int:
    """Tokens of a prompt, as the memory counts them."""
    return PRIMING + sum(message_tokens(message, count) for message in prompt)


@dataclass(frozen=True, slots=True)
class Answered:
    """What a policy said, and the last prompt that it was shown."""

    text: str
    prompt: Sequence[Message]


def paged(
    memory: HybridMemory, policy: Policy, question: str, tally: Tally, *, max_tokens: int, session: str = "main"
) -> Answered:
    """The question to an agent with this memory."""
    watched = Watched(policy)
    agent = PagedAgent(
        memory, agent=AGENT, user=USER, session=session, model=watched, identity=IDENTITY, max_tokens=max_tokens,
        paging=PAGING,
    )  # fmt: skip
    watched.agent = agent
    said = {message.id: message.text for message in agent.memory.history()}
    run = agent.send(asking(question))
    said |= {message.id: message.text for message in run.messages}
    kept = agent.memory.history()
    there = {message.id: message.text for message in kept}
    tally.lost += sum(there.get(id_) != text for id_, text in said.items())
    tally.calls += len(run.calls)
    tally.searched.append(sum("search" in name for name in run.calls))
    note(tally, watched.asks, Counter(_episode(message) for message in kept if message.event == PRESSURE), max_tokens)
    return Answered(run.text, watched.asks[-1].prompt)


def asking(question: str) -> str:
    """The question, so that a policy knows it for one."""
    return QUESTION + " ".join(question.split())


def note(tally: Tally, asks: Sequence[Ask], warnings: Counter[int], max_tokens: int) -> None:
    """Count what was seen of a question; warnings by the number of the window."""
    tally.steps.append(len(asks))
    tally.tokens.append(statistics.fmean(ask.tokens for ask in asks))
    tally.largest = max(tally.largest, *(ask.tokens / max_tokens for ask in asks))
    tally.flushes += asks[-1].flushes
    full = {ask.flushes for ask in asks if ask.tokens >= FULL * max_tokens}
    tally.warned.update(warnings[number] for number in full)
    near = {ask.flushes for ask in asks if ask.tokens >= NEAR * max_tokens}
    tally.early += sum(times for number, times in warnings.items() if number not in near)


def _episode(warning: Message) -> int:
    """After how many flushes the model was warned, as the id of the warning tells it."""
    return int(str(warning.id).removeprefix(f"{PRESSURE}-").partition(".")[0])


def windowed(history: Sequence[Message], policy: Policy, question: str, *, max_tokens: int) -> Answered:
    """The question behind the newest messages that fit the same window, without functions."""
    asked = Message(content=asking(question))
    head = Message(role=Role.SYSTEM, content=IDENTITY)

    def prompt(number: int) -> list[Message]:
        return [head, *rendered([*history[len(history) - number :], asked])]

    beyond = bisect_right(range(len(history) + 1), max_tokens, key=lambda number: size(prompt(number)))
    shown = prompt(max(beyond - 1, 0))
    return Answered(policy.complete(shown), shown)
