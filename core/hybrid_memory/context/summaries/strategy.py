"""The port of all compaction strategies: how turns that leave the queue become a summary.

A strategy returns the whole summary after a new span. Each has a deterministic method, which works in English and
Chinese without a model, and most have a prompt for a language model, whose answer replaces the result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, Protocol, TypeAlias, cast

from hybrid_memory.config import CleaningLevel
from hybrid_memory.context.summary import Line
from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.log.event import Event
from hybrid_memory.log.message import Message
from hybrid_memory.sockets import load
from hybrid_memory.text.cleaning import clean
from hybrid_memory.text.marks import escaped
from hybrid_memory.text.tokens import TokenCounter
from hybrid_memory.text.voices import speaker_of
from hybrid_memory.validation import shown

ModelKind: TypeAlias = Literal["language", "compressor"]

_HOME = "hybrid_memory.context.summaries"

STRATEGIES = {
    "anchored": f"{_HOME}.anchored:Anchored",
    "recursive": f"{_HOME}.alternatives:Recursive",
    "window": f"{_HOME}.alternatives:WindowOnly",
}
"""The library's own, by name; packages add theirs as entry points of ``hybrid_memory.strategies``."""

_PARTS = ("name", "schema", "model", "asks_again", "extract", "prompt", "read")

_NUMBER = re.compile(r"^(?=[ \t]*\[\d+\])", re.MULTILINE)
"""A line that looks like the start of a turn in a transcript."""

TURN_CHARS = 1200
"""Of a longer turn only head and tail are shown."""


@dataclass(frozen=True, slots=True)
class SummaryRoom:
    """The budget of a summary.

    Attributes:
        standing: tokens of all lines together, kept from compaction to compaction.
        shown: tokens that a prompt has for them.
        fresh: tokens of the lines for one new span.
    """

    standing: int
    shown: int
    fresh: int
    count: TokenCounter
    cleaning: CleaningLevel = "light"


@dataclass(frozen=True, slots=True)
class SummaryJob:
    """What to summarise: the turns of a span, and the existing lines.

    Attributes:
        worth: by position, the probability that a turn of the span will be asked about, in [0, 1], if known.
    """

    standing: Sequence[Line]
    span: Sequence[Event]
    room: SummaryRoom
    worth: Mapping[int, float] = field(default_factory=dict)


class Strategy(Protocol):
    """A compaction strategy.

    Attributes:
        name: the name by which it is selected and shown in the summary.
        schema: JSON schema of a language model's answer; None if the answer is text.
        model: what ``prompt`` is for: the language model, or the `TextCompressor`, which shortens the first message.
        asks_again: whether to ask the model again, three times in all, about turns on which it failed.
    """

    name: str
    schema: Mapping[str, Any] | None
    model: ModelKind
    asks_again: bool

    def extract(self, job: SummaryJob, /) -> list[Line]:
        """All lines after this span, without a model; deterministic."""
        ...

    def prompt(self, job: SummaryJob, /) -> list[Message]:
        """The prompt for a language model; empty if this strategy does not use one."""
        ...

    def read(self, answer: Any, job: SummaryJob, /) -> list[Line]:
        """All lines after this span, from the model's answer: text, or an object for a schema.

        Raises:
            ValueError: the answer has nothing usable.
        """
        ...


def resolve_strategy(wanted: object) -> Strategy:
    """The strategy itself, or the one with this name, from the library or installed packages.

    Raises:
        InvalidConfigError: there is no strategy with this name, or the object is not a strategy.
    """
    made = _named(wanted) if isinstance(wanted, str) else wanted
    missing = [name for name in _PARTS if not hasattr(made, name)]
    if missing:
        raise InvalidConfigError(
            f"a strategy is a name, or has {', '.join(_PARTS)}; {shown(wanted)} has no {', '.join(missing)}"
        )
    return cast("Strategy", made)


@cache
def _named(name: str) -> object:
    offered = load("strategy", name, STRATEGIES)
    return offered() if isinstance(offered, type) else offered


def transcript(span: Sequence[Event], room: SummaryRoom) -> str:
    """One paragraph per turn: number in brackets, speaker, and words, which cannot look like another turn."""
    return "\n".join(f"[{event.position}] {speaker_of(event)}: {_said(event, room)}" for event in span)


def _said(event: Event, room: SummaryRoom) -> str:
    text = event.message.text
    if len(text) > TURN_CHARS:
        text = f"{text[: TURN_CHARS * 2 // 3]} […] {text[-TURN_CHARS // 3 :]}"
    return escaped(_NUMBER.sub("> ", clean(text, room.cleaning).strip()))
