"""Derives index records from events, and the texts to embed and index for them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from hybrid_memory.config import CleaningLevel
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.exchanges import is_echo
from hybrid_memory.log.message import Role
from hybrid_memory.text.cleaning import clean
from hybrid_memory.text.speakers import named, without_blocks
from hybrid_memory.text.tokenize import terms


def category_of(namespace: Iterable[str]) -> str:
    """The category of the records for items in a namespace."""
    return json.dumps(list(namespace), ensure_ascii=False, separators=(",", ":"))


SEGMENT_PAUSE = timedelta(hours=12)  # a longer pause in a session starts a new segment

PASSAGE_CHARS = 400
"""How much of a turn is embedded; the text index uses all of it. See docs/decisions/0003 and 0044."""

ITEM_CHARS = 6_000
"""How much of an item's text is embedded: models reject texts beyond some limit, and one would block all others."""

CONTEXT_CHARS = 250  # a shorter turn is extended to this length with the end of the turn it answers

FULL_CHARS = 600.0
BARE_CHARS = 40.0

_UNPRINTABLE = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127), " ")


def anchor_of(mark: str, version: str) -> str:
    """The anchor that an index stores with its position: the mark of the event there, and the version of its terms."""
    return f"{mark}~{version}" if version else mark


def anchored(anchor: str) -> tuple[str, str]:
    """The mark and the version in an anchor; both empty in an index of older stores."""
    mark, _, version = anchor.partition("~")
    return mark, version


def derive(events: Iterable[Event], tails: Mapping[str | None, Record]) -> list[tuple[Record, Record | None]]:
    """The records of these events, each with the previous turn of its segment; they continue the ``tails`` of sessions.

    System messages are instructions, not memories, and leave no record; neither do echoes and messages without words.
    The result does not depend on how the log is split into batches.
    """
    latest = dict(tails)
    derived: list[tuple[Record, Record | None]] = []
    for event in events:
        if event.kind in {EventKind.CLAIM, EventKind.ITEM} and "text" in event.payload:
            derived.append((_alone(event), None))
        if event.kind is not EventKind.MESSAGE:
            continue
        message = event.message
        text = without_blocks(message.text).translate(_UNPRINTABLE).strip()
        if message.role is Role.SYSTEM or not text or is_echo(message):
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
            importance=substance(text) if message.importance is None else message.importance,
            metadata=message.metadata,
            author=event.author,
            origin=event.origin,
        )
        latest[session] = record
        derived.append((record, previous))
    return derived


def _alone(event: Event) -> Record:
    """A claim, whose sources lead to the turn, or a text that makes an item searchable, as a record of its own."""
    payload, at, position = event.payload, event.at, event.position
    text = payload["text"].translate(_UNPRINTABLE)
    record = Record(position, event.scope, text, at, event.sources, position, ordinal=0, origin=event.origin)
    if event.kind is EventKind.ITEM:
        return replace(
            record,
            kind=RecordKind.ITEM,
            sources=(payload.get("of", event.id),),
            category=category_of(payload["namespace"]),
            metadata={"namespace": payload["namespace"], "key": payload["key"]},
        )
    return replace(
        record,
        kind=RecordKind.FACT,
        speaker=payload["subject"],
        category=payload["category"],
        importance=payload["importance"],
        valid_from=datetime.fromisoformat(payload["since"]) if "since" in payload else at,
        valid_to=datetime.fromisoformat(payload["until"]) if "until" in payload else None,
        turn=payload["source"],
        metadata=payload.get("metadata", {}),
        author=event.author,
    )


def substance(text: str) -> float:
    """``ln(1 + n / 40) / ln(16)`` for n characters, at most 600: 0 for nothing, 1 for a paragraph.

    Embedders and BM25 put short turns without content near every question; this is the counterweight.
    """
    return math.log1p(min(len(text), FULL_CHARS) / BARE_CHARS) / math.log1p(FULL_CHARS / BARE_CHARS)


def passage_and_alone(record: Record, previous: Record | None, cleaning: CleaningLevel = "light") -> tuple[str, str]:
    """The text to embed for a record, cleaned: the turn with its speaker, after the end of the turn it answers.

    And the same for the turn alone: the text is cleaned only once, as that is the expensive part.

    The tag makes passages of a chat more alike in form, so that the embedder compares what they say: on LoCoMo it
    raised R@10 by vectors alone from .51 to .62. The text of an item comes from the application and is embedded as it
    is.
    """
    if record.kind is RecordKind.ITEM:
        return record.text[:ITEM_CHARS], record.text[:ITEM_CHARS]
    turn = _line(record, cleaning)[:PASSAGE_CHARS]
    alone, room = f"<message role='user'>{turn}</message>", CONTEXT_CHARS - len(turn)
    answered = ""  # the end of the previous turn, if another speaker said it
    if previous is not None and room > 0 and _voice(previous) != _voice(record):
        answered = previous.text[-room:]
    return (f"<message role='user'>{answered}\n{turn}</message>" if answered else alone), alone


def index_terms(record: Record, cleaning: CleaningLevel = "light") -> str:
    """The terms that the text index stores for a record, separated by spaces; for a turn, its own words only."""
    return " ".join(terms(record.text if record.kind is RecordKind.ITEM else _line(record, cleaning)))


def _line(record: Record, cleaning: CleaningLevel) -> str:
    """The turn with its speaker, named once: transcripts often come as ``Name: words`` under one role."""
    text = clean(record.text, cleaning)
    return text if named(text)[0] else f"{record.speaker}: {text}"


def _voice(record: Record) -> str:
    return named(record.text)[0] or record.speaker
