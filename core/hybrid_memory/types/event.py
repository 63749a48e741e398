"""The entries of the log, and what a write and a store report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

from hybrid_memory.types import display
from hybrid_memory.types.message import Message
from hybrid_memory.types.scope import Scope
from hybrid_memory.types.summary import Audit, handle
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
        note: what the caller may not expect, such as turns of other sessions that hold the words to be forgotten.
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
    note: str = ""

    def __repr__(self) -> str:
        return f"<Receipt{' of a dry run' if self.dry_run else ''} {', '.join(self._told()) or 'nothing was done'}>"

    def _repr_html_(self) -> str:
        rows = [(display.text(told),) for told in self._told()] or [("nothing was done",)]
        ids = display.fold(f"{len(self.ids)} ids", display.text(", ".join(self.ids))) if self.ids else ""
        return display.card("receipt of a dry run" if self.dry_run else "receipt", display.table((), rows) + ids)

    def _told(self) -> list[str]:
        """What was done, each in a few words."""
        lists = {"duplicates": self.duplicates, "quarantined": self.quarantined, "waiting": self.waiting}
        counts = {
            **{name: len(ids) for name, ids in lists.items()},
            **{name: getattr(self, name) for name in ("indexed", "embedded", "folded", "learned", "archived")},
            **{f"erased {name}": count for name, count in self.erased.items()},
        }
        return [
            *([display.counted(len(self.ids), "event")] if self.ids else []),
            *([f"at {handle(self.positions[0], self.positions[-1])}"] if self.positions else []),
            *(f"{count:,} {name}" for name, count in counts.items() if count),
            *([self.note] if self.note else []),
        ]


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

    def __repr__(self) -> str:
        copied = f"{display.counted(self.owners, 'owner')}, {display.counted(self.events, 'event')}"
        made = f"{display.counted(self.indexed, 'record')}, {display.counted(self.embedded, 'vector')}"
        return f"<Migration of {copied}; {made} made; checksum {self.checksum[:8]}>"


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

    def __repr__(self) -> str:
        behind = f"; {self.unindexed:,} to be indexed, {self.pending:,} to be embedded" if self._behind else ""
        return f"<Stats of {self.url}: {self._log}, {self._index}, {self.size_bytes / 1e6:,.1f} MB{behind}>"

    @property
    def _log(self) -> str:
        counts = {"owner": self.owners, "session": self.sessions, "event": self.events}
        return ", ".join(display.counted(number, noun) for noun, number in counts.items())

    @property
    def _index(self) -> str:
        return f"{display.counted(self.records, 'record')}, {display.counted(self.vectors, 'vector')}"

    @property
    def _behind(self) -> bool:
        return bool(self.unindexed or self.pending)

    def _repr_html_(self) -> str:
        log, index = display.EPISODIC, display.SEMANTIC
        told = [
            (log, "L3, the log", self._log),
            (index, "L2, the index", f"{self._index} ({self.embedder or 'words alone'})"),
            (index, "behind the log", f"{self.unindexed:,} events to index, {self.pending:,} records to embed"),
            (log, "on disk", f"{self.size_bytes / 1e6:,.1f} MB"),
        ]
        if self.waiting:
            told.append((display.PLAIN, "in the outbox", f"{self.waiting:,} messages"))
        if self.compactions.compactions:
            told.append((display.CONTEXT, "folded", repr(self.compactions)[1:-1]))
        rows = [(display.legend([display.Part(name, 0, hue)]), display.text(words)) for hue, name, words in told]
        return display.card(
            display.text(self.url), display.table((), rows) + display.fold("work", self.work._repr_html_())
        )
