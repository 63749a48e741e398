"""How the turns that leave the queue become a summary: the port behind which all strategies stand.

A strategy says what the whole standing summary is after a new span. Each has a deterministic way, which works in
English and Chinese without any model, and most have a prompt for a language model, whose answer replaces it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hybrid_memory.config import CleaningLevel
from hybrid_memory.context.summary import Line
from hybrid_memory.log.event import Event
from hybrid_memory.log.message import Message
from hybrid_memory.text.cleaning import clean
from hybrid_memory.text.tokens import TokenCounter

TURN_CHARS = 1200
"""A longer turn is shown by its head and its tail."""


@dataclass(frozen=True, slots=True)
class Room:
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
class Job:
    """What is to be summarised: the turns of a span, beside the lines that stand already."""

    standing: Sequence[Line]
    span: Sequence[Event]
    room: Room


class Strategy(Protocol):
    """What a summary is made of.

    Attributes:
        name: by which it is chosen, and which the summary reports.
        schema: of the answer of a language model, as a JSON schema; None where the answer is text.
    """

    name: str
    schema: Mapping[str, Any] | None

    def extract(self, job: Job, /) -> list[Line]:
        """All lines after this span, without a model; deterministic."""
        ...

    def prompt(self, job: Job, /) -> list[Message]:
        """What to ask a language model; empty if this strategy has no use for one."""
        ...

    def read(self, answer: Any, job: Job, /) -> list[Line]:
        """All lines after this span, from the model's answer: text, or an object for a schema.

        Raises:
            ValueError: the answer says nothing usable.
        """
        ...


def transcript(span: Sequence[Event], room: Room) -> str:
    """One paragraph a turn: its number in brackets, who speaks, what is said."""
    return "\n".join(f"[{event.position}] {event.message.speaker}: {_said(event, room)}" for event in span)


def _said(event: Event, room: Room) -> str:
    text = event.message.text
    if len(text) > TURN_CHARS:
        text = f"{text[: TURN_CHARS * 2 // 3]} […] {text[-TURN_CHARS // 3 :]}"
    return clean(text, room.cleaning).strip()
