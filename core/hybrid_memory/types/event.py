"""The entries of the log, and what a write and a store report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

from hybrid_memory.types.message import Message
from hybrid_memory.types.scope import Scope
from hybrid_memory.types.summary import Audit
from hybrid_memory.types.work import WorkStats


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
    in the log, or shows it again; erased says what was forgotten. In a shared space: a grant gives or takes a right,
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


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a write did.

    Attributes:
        ids, positions: of the events, in the order given.
        duplicates: those of the ids that were in the log before.
        quarantined: those of the ids that wait for an admin of the space to approve them.
        waiting: those of the ids that are in the outbox, because the log could not be reached; they have no position.
        indexed, embedded: how many records and vectors were derived.
        folded: how many messages went into the summary.
        learned: how many claims were read from turns.
        archived: how many messages went into the archive.
        erased: what was forgotten where, or with ``dry_run`` would be: turns, claims, records, summary lines, ...
    """

    ids: tuple[str, ...] = ()
    positions: tuple[int, ...] = ()
    duplicates: tuple[str, ...] = ()
    indexed: int = 0
    embedded: int = 0
    folded: int = 0
    learned: int = 0
    erased: Mapping[str, int] = field(default_factory=dict)
    dry_run: bool = False
    quarantined: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    archived: int = 0


@dataclass(frozen=True, slots=True)
class Migration:
    """What was copied.

    Attributes:
        owners, events: how many; indexed, embedded: records and vectors that were derived in the copy.
        checksum: SHA-256 over the events of all owners, the same in the original and in the copy.
    """

    owners: int
    events: int
    indexed: int
    embedded: int
    checksum: str


@dataclass(frozen=True, slots=True)
class Stats:
    """What a store holds, and how far its index follows the log.

    Attributes:
        owners, sessions, events, records, vectors: counts.
        unindexed: events that the text index has not seen; pending: records that wait for their vector.
        size_bytes: on disk, all files; 0 in memory.
        embedder: its name, or None in text-only mode.
        work: what was done so far by this process, and its caches.
        waiting: messages in the outbox.
        compactions: what became of the critical items of all turns that were folded.
    """

    url: str
    owners: int
    sessions: int
    events: int
    records: int
    vectors: int
    unindexed: int
    pending: int
    size_bytes: int
    embedder: str | None
    work: WorkStats
    waiting: int = 0
    compactions: Audit = field(default_factory=Audit)
