"""How the turns that leave the queue become a summary: the port behind which all strategies stand.

A strategy says what the whole standing summary is after a new span. Each has a deterministic way, which works in
English and Chinese without any model, and most have a prompt for a language model, whose answer replaces it.
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
from hybrid_memory.sockets import found
from hybrid_memory.text.cleaning import clean
from hybrid_memory.text.marks import escaped
from hybrid_memory.text.tokens import TokenCounter
from hybrid_memory.text.voices import speaker_of
from hybrid_memory.validation import shown

ModelKind: TypeAlias = Literal["language", "compressor"]

_HOME = "hybrid_memory.context.summaries"

STRATEGIES = {
    "anchored": f"{_HOME}.anchored:Anchored",
    "regenerate": f"{_HOME}.anchored:Regenerate",
    "compact": f"{_HOME}.alternatives:Dense",
    "recursive": f"{_HOME}.alternatives:Recursive",
    "window": f"{_HOME}.alternatives:WindowOnly",
    "merging": f"{_HOME}.alternatives:Merging",
    "importance": f"{_HOME}.alternatives:Importance",
    "llmlingua": f"{_HOME}.alternatives:Shortened",
}
"""Our own, by name; packages add theirs as entry points of ``hybrid_memory.strategies``."""

_PARTS = ("name", "schema", "extract", "prompt", "read")

_NUMBER = re.compile(r"^(?=[ \t]*\[\d+\])", re.MULTILINE)
"""A line that begins like a turn of a transcript."""

TURN_CHARS = 1200
"""A longer turn is shown by its head and its tail."""


@dataclass(frozen=True, slots=True)
class SummaryRoom:
    """What a summary may cost.

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
    """What is to be summarised: the turns of a span, beside the lines that stand already.

    Attributes:
        worth: by position, how likely turns of the span are to be asked about, in [0, 1], where that is known.
    """

    standing: Sequence[Line]
    span: Sequence[Event]
    room: SummaryRoom
    worth: Mapping[int, float] = field(default_factory=dict)


class Strategy(Protocol):
    """What a summary is made of; one written for version 0.9 may lack ``model`` and ``asks_again``.

    Attributes:
        name: by which it is chosen, and which the summary reports.
        schema: of the answer of a language model, as a JSON schema; None where the answer is text.
        model: what ``prompt`` is for: the language model, or the `TextCompressor`, which shortens the first message.
        asks_again: whether the model is asked again, three times in all, about turns that it failed on.
    """

    name: str
    schema: Mapping[str, Any] | None
    model: ModelKind
    asks_again: bool

    def extract(self, job: SummaryJob, /) -> list[Line]:
        """All lines after this span, without a model; deterministic."""
        ...

    def prompt(self, job: SummaryJob, /) -> list[Message]:
        """What to ask a language model; empty if this strategy has no use for one."""
        ...

    def read(self, answer: Any, job: SummaryJob, /) -> list[Line]:
        """All lines after this span, from the model's answer: text, or an object for a schema.

        Raises:
            ValueError: the answer says nothing usable.
        """
        ...


def resolve_strategy(wanted: object) -> Strategy:
    """The strategy itself, or the one of this name among ours and the installed packages'.

    Raises:
        InvalidConfigError: nobody offers the name, or the object is no strategy.
    """
    made = _named(wanted) if isinstance(wanted, str) else wanted
    missing = [name for name in _PARTS if not hasattr(made, name)]
    if missing:
        raise InvalidConfigError(
            f"a strategy is a name, or has {', '.join(_PARTS)}; {shown(wanted)} has no {', '.join(missing)}"
        )
    return cast("Strategy", made)


def asks_again(way: Strategy) -> bool:
    """Whether a model is asked again about turns that it failed on."""
    return getattr(way, "asks_again", way.schema is not None)


@cache
def _named(name: str) -> object:
    offered = found("strategy", name, STRATEGIES)
    return offered() if isinstance(offered, type) else offered


def transcript(span: Sequence[Event], room: SummaryRoom) -> str:
    """One paragraph a turn: its number in brackets, who speaks, what is said, which can begin no other turn."""
    return "\n".join(f"[{event.position}] {speaker_of(event)}: {_said(event, room)}" for event in span)


def _said(event: Event, room: SummaryRoom) -> str:
    text = event.message.text
    if len(text) > TURN_CHARS:
        text = f"{text[: TURN_CHARS * 2 // 3]} […] {text[-TURN_CHARS // 3 :]}"
    return escaped(_NUMBER.sub("> ", clean(text, room.cleaning).strip()))
