"""The entries of the log, and what a write and a store report."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

from hybrid_memory.log.message import Message
from hybrid_memory.scope import Scope


class Tier(StrEnum):
    """How lasting: the context window, the searchable index, the durable log."""

    CONTEXT = "context"
    SEMANTIC = "semantic"
    EPISODIC = "episodic"


class EventKind(StrEnum):
    """What an event of the log says.

    A message was said; a compaction folded the oldest turns of a session into its summary; a reset let its
    conversation start anew; recalled is what a turn was shown beside its question; a payload was put aside.
    A claim was read from a turn; learned says how far the turns were read; a rollback hides what came after a place
    in the log, or shows it again; superseded names messages that were edited, or said
    anew. Erased says what was forgotten. In a shared space: a grant gives or takes a right,
    or lets messages out of quarantine; a denial says who was refused; quarantined is a message of somebody who is not
    trusted yet. An item is a value that an application put, refreshed or destroyed under a key of its own. Used says
    how often which records were recalled. Block is a change of an agent's working context, step one of its steps.
    """

    MESSAGE = "message"
    COMPACTION = "compaction"
    RESET = "reset"
    RECALLED = "recalled"
    PAYLOAD = "payload"
    CLAIM = "claim"
    LEARNED = "learned"
    ROLLBACK = "rollback"
    SUPERSEDED = "superseded"
    ERASED = "erased"
    GRANT = "grant"
    DENIED = "denied"
    QUARANTINED = "quarantined"
    ITEM = "item"
    USED = "used"
    BLOCK = "block"
    STEP = "step"


@dataclass(frozen=True)
class Event:
    """An entry of the log.

    Attributes:
        position: its place in the log, from 1; grows with every append, with gaps.
        id: the caller's, or a time-ordered UUIDv7; unique within its scope.
        payload: JSON; for a message its fields other than id and time.
        sources: ids of the events that it was made from.
        author: who wrote it, in a shared space; empty where the owner is the author.
    """

    position: int
    id: str
    scope: Scope
    kind: EventKind
    at: datetime
    payload: dict[str, Any]
    sources: tuple[str, ...] = ()
    author: str = ""

    @cached_property
    def message(self) -> Message:
        """The message of a message event, with its id and time."""
        return Message(**self.payload, id=self.id, at=self.at)


def handle(first: int, last: int) -> str:
    """Names a stretch of the log: ``#12`` for one position, ``#12-40`` for several."""
    return f"#{first}" if first == last else f"#{first}-{last}"
