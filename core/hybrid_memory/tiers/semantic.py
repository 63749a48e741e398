"""L2: which events of the log become records, and the words that the index takes from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from hybrid_memory.text.tokenize import terms
from hybrid_memory.types import Event, Record, Role

SEGMENT_PAUSE = timedelta(hours=4)
"""A longer silence in a session begins a new segment."""

CONTEXT_CHARS = 250
"""How much of the previous turn goes in front of a turn before it is embedded; see docs/decisions/0003."""

PASSAGE_CHARS = 2000
"""How much of a turn is embedded: about the 512 tokens that the default embedder reads at once."""

_UNPRINTABLE = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127), " ")


@dataclass(frozen=True, slots=True)
class Derived:
    """A new record, and the turn before it in its segment."""

    record: Record
    previous: Record | None


def derive(events: Iterable[Event], tails: Mapping[str | None, Record]) -> list[Derived]:
    """The records of these events, which continue the sessions that end in ``tails``.

    System messages are instructions, not memories; a message without words leaves no record.
    The result does not depend on how the log is cut into batches.
    """
    latest = dict(tails)
    derived = []
    for event in events:
        message = event.message
        text = message.text.translate(_UNPRINTABLE).strip()
        if message.role is Role.SYSTEM or not text:
            continue
        session = event.scope.session
        previous = latest.get(session)
        if previous is not None and abs(event.at - previous.at) > SEGMENT_PAUSE:
            previous = None
        record = Record(
            id=event.position,
            scope=event.scope,
            text=text,
            at=event.at,
            sources=(event.id,),
            segment=event.position if previous is None else previous.segment,
            ordinal=0 if previous is None else previous.ordinal + 1,
            speaker=message.speaker,
            importance=message.importance,
            metadata=message.metadata,
        )
        latest[session] = record
        derived.append(Derived(record, previous))
    return derived


def passage(record: Record, previous: Record | None) -> str:
    """What is embedded for a record: the end of the previous turn as context, then the turn with its speaker."""
    turn = f"{record.speaker}: {record.text[:PASSAGE_CHARS]}"
    if previous is None:
        return turn
    return f"{previous.speaker}: {previous.text[:CONTEXT_CHARS]}\n{turn}"


def index_terms(record: Record, previous: Record | None) -> str:
    """What the text index takes for a record, as terms separated by spaces."""
    words = terms(f"{record.speaker}: {record.text}")
    if previous is not None:
        words += terms(previous.text[:CONTEXT_CHARS])
    return " ".join(words)
