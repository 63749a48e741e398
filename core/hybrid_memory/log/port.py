"""The ports of an L3 engine: `EventLog`, and `Archive` for old events; the receipt of a write."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, TypeAlias, TypedDict, Unpack, cast

from hybrid_memory import display
from hybrid_memory.log.event import Event, EventKind, handle
from hybrid_memory.scope import Scope

Key: TypeAlias = str | bytes | Callable[[], str | bytes]
"""A passphrase, a key of 32 bytes, or a function that returns one of them when the store is opened."""


Payloads: TypeAlias = Mapping[int, dict[str, Any]]  # new payloads of events, by position


@dataclass(frozen=True, slots=True)
class Draft:
    """An event without a position yet; ``fixed_id`` if the caller chose the id, so that the event may already exist."""

    id: str
    fixed_id: bool
    session: str | None
    kind: EventKind
    at: datetime
    payload: dict[str, Any]
    sources: tuple[str, ...] = ()
    author: str = ""

    @classmethod
    def of(cls, event: Event) -> Draft:
        """A draft that writes the event again under its own id."""
        return cls(
            event.id, True, event.scope.session, event.kind, event.at, event.payload, event.sources, event.author
        )


@dataclass(frozen=True, slots=True)
class Appended:
    """The position of an event; ``fresh`` is False if the same event was already there."""

    id: str
    position: int
    fresh: bool


@dataclass(frozen=True, slots=True)
class LogSize:
    """Counts over the whole log, and its bytes on disk, including everything in the same files.

    All messages without a session count as one session; other events without one do not count. ``archived`` events are
    not included: they were dropped from the log, and an archive has them.
    """

    owners: int
    sessions: int
    events: int
    bytes: int
    archived: int = 0


@dataclass(frozen=True, slots=True)
class LogState:
    """The state of an owner's log.

    Attributes:
        head: the owner's last position; initially 0.
        mark: the mark of the event there, see `Readable.mark`; initially empty.
        last: position and mark of the last event of each requested kind that exists.
        tail: the newest events, if the engine has sent them along; see `hybrid_memory.log.moment`.
        index: the `Status` of the owner's index with its sums, if the engine has sent that along.
    """

    head: int = 0
    mark: str = ""
    last: Mapping[EventKind, tuple[int, str]] = field(default_factory=dict)
    tail: Any = field(default=None, compare=False, repr=False)
    index: Any = field(default=None, compare=False, repr=False)

    def newest(self, kinds: Iterable[EventKind]) -> tuple[int, str]:
        """Position and mark of the last event of these kinds, of those requested; 0 and empty if there is none."""
        return max([(0, ""), *filter(None, map(self.last.get, kinds))])


class Reading(TypedDict, total=False):
    """The arguments of a read; see `Selection`."""

    after: int
    upto: int | None
    since: datetime | None
    until: datetime | None
    kinds: Collection[EventKind]
    ids: Collection[str] | None
    limit: int | None
    newest: bool


@dataclass(frozen=True, slots=True)
class Selection:
    """Events with ``after < position <= upto`` and ``since <= at < until``.

    Of these kinds, or of any kind if none is given; with these ids, or any if None. With a limit, the first ones, or
    the last ones if ``newest``; always ascending.
    """

    after: int = 0
    upto: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    kinds: Collection[EventKind] = ()
    ids: Collection[str] | None = None
    limit: int | None = None
    newest: bool = False

    def asked(self) -> Reading:
        """The selection as arguments of `Readable.read`."""
        return cast("Reading", {part.name: getattr(self, part.name) for part in fields(self)})

    def test(self) -> Callable[[Event], bool]:
        """Whether an event matches, ignoring the limit."""
        ids = None if self.ids is None else set(self.ids)

        def matches(event: Event) -> bool:
            return (
                event.position > self.after
                and (self.upto is None or event.position <= self.upto)
                and (self.since is None or event.at >= self.since)
                and (self.until is None or event.at < self.until)
                and (not self.kinds or event.kind in self.kinds)
                and (ids is None or event.id in ids)
            )

        return matches

    def of(self, events: Iterable[Event]) -> list[Event]:
        """The matching ones of these events, ascending."""
        return self.cut(list(filter(self.test(), events)))

    def cut(self, events: list[Event]) -> list[Event]:
        """The events, ascending, cut to the limit."""
        if self.limit is None:
            return events
        return events[max(0, len(events) - self.limit) :] if self.newest else events[: max(0, self.limit)]


class Readable(ABC):
    """The reading methods that a log and an archive share."""

    @abstractmethod
    def read(self, scope: Scope, **which: Unpack[Reading]) -> list[Event]:
        """Events of the scope, by position; see `Selection`."""

    @abstractmethod
    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        """The last position of each owner, or of this scope's owner only; owners without events are left out."""

    def head(self, owner: Scope) -> int:
        """The owner's last position; 0 without events."""
        return self.heads(owner).get(owner.owner, 0)

    @abstractmethod
    def size(self) -> LogSize:
        """Counts over all owners."""

    def mark(self, owner: Scope, position: int) -> str:
        """A text that distinguishes the owner's event at this position from any other; empty if there is none."""
        events = self.read(owner.owner, after=position - 1, upto=position)
        return events[0].mark if events else ""

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Event]:
        """The events with these ids, by position; unknown ids are left out."""
        return self.read(scope, ids=ids)

    def count(self, owner: Scope, *, after: int = 0) -> int:
        """How many events the owner has after this position."""
        return len(self.read(owner.owner, after=after))

    @abstractmethod
    def close(self) -> None:
        """Release everything; later calls raise `MemoryClosedError`."""


class EventLog(Readable):
    """L3: the durable, append-only log from which everything else is derived.

    Attributes:
        sends_tail: whether the newest events come with its state, so that a verb need not ask for them.
    """

    sends_tail: bool = False

    @abstractmethod
    def append(self, owner: Scope, drafts: Sequence[Draft], *, seen: int | None = None) -> list[Appended]:
        """Append all drafts in order, or none; durable on return.

        If the drafts were made from events of the owner, ``seen`` is the owner's last position before these were read.

        Raises:
            IdConflictError: an event with another payload already has a fixed id in its session.
            OutdatedError: events of the owner were erased after ``seen``.
        """

    @abstractmethod
    def erase(
        self, owner: Scope, positions: Sequence[int], rewritten: Payloads, note: Draft, *, seen: int | None = None
    ) -> Appended:
        """Destroy these events of the owner, replace the payload of others, and append the note: all or nothing.

        Events that do not exist are ignored. Until `scrub`, the text may remain in free pages and in the journal.
        ``seen`` is the owner's last position when the caller decided what to erase.

        Raises:
            OutdatedError: the owner has an event after ``seen``.
        """

    @abstractmethod
    def drop(self, owner: Scope, positions: Sequence[int]) -> None:
        """Remove events of the owner that an archive has, all or nothing; ignores events that do not exist.

        Their ids and sessions stay known: `append` answers a repetition with the old position, and another payload with
        `IdConflictError`; `size` still counts the sessions. Only a digest of the payload is kept for that. `erase` of
        the same positions forgets these ids too; a rewritten event is then compared by its new payload.
        """

    @abstractmethod
    def restore(self, owner: Scope, events: Sequence[Event]) -> None:
        """Store the owner's events at the positions that another log gave them, all or nothing; durable on return.

        Existing events stay as they are. Later appends get higher positions.
        """

    def state(self, owner: Scope, kinds: Collection[EventKind] = ()) -> LogState:
        """The state of the owner's log, with the last events of these kinds (other than messages)."""
        head = self.head(owner)
        newest = [self.read(owner.owner, kinds=(kind,), limit=1, newest=True) for kind in kinds]
        last = {event.kind: (event.position, event.mark) for events in newest for event in events}
        return LogState(head, self.mark(owner, head) if head else "", last)

    def newest(self, kinds: Sequence[EventKind | None]) -> dict[Scope, dict[EventKind | None, Event]]:
        """The last event of each of these kinds, by owner; that of any kind under None."""
        last: dict[Scope, dict[EventKind | None, Event]] = defaultdict(dict)
        for owner in self.heads():
            for kind in kinds:
                for event in self.read(owner, kinds=() if kind is None else (kind,), limit=1, newest=True):
                    last[owner][kind] = event
        return last

    def scrub(self) -> None:
        """Overwrite erased data wherever the engine may still hold it; may take seconds.

        Raises:
            StoreUnavailableError: another process prevents it.
        """
        self.size()


class Archive(Readable):
    """Storage for old events that have left the log; they stay readable."""

    @abstractmethod
    def put(self, events: Sequence[Event]) -> None:
        """Store these events of one owner; durable on return. Existing events stay as they are."""

    @abstractmethod
    def erase(self, owner: Scope, positions: Sequence[int], rewritten: Payloads) -> None:
        """Destroy these events of the owner, and replace the payload of others; ignores events that do not exist.

        On return no read finds the old text, and the engine has been told to remove it from disk.
        """


Clock: TypeAlias = Callable[[], datetime]
"""Returns the current time, timezone-aware."""

IdSource: TypeAlias = Callable[[], str]  # returns a new id that sorts after all earlier ones of this process


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of a write.

    Attributes:
        ids, positions: of the events, in the order given.
        duplicates: ids that were already in the log.
        forgotten: ids of messages that were forgotten, and are not stored again under their ids.
        waiting: ids that are in the outbox because the log is unreachable; they have no position yet.
        indexed, embedded: how many records and vectors were made.
        compacted: how many messages went into the summary.
        learned: how many claims were extracted.
        archived: how many messages were archived.
        erased: how many turns, claims, records, summary lines and so on were forgotten, or would be with ``dry_run``.
        turns: with ``dry_run`` of forget, a line for each turn that would be destroyed.
        kept_out: how many terms must not come back from now on.
        note: anything unexpected, such as turns of other sessions that contain the words to forget.
    """

    ids: tuple[str, ...] = ()
    positions: tuple[int, ...] = ()
    duplicates: tuple[str, ...] = ()
    indexed: int = 0
    embedded: int = 0
    compacted: int = 0
    learned: int = 0
    erased: Mapping[str, int] = field(default_factory=dict)
    dry_run: bool = False
    waiting: tuple[str, ...] = ()
    archived: int = 0
    turns: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()
    note: str = ""
    kept_out: int = 0

    def __repr__(self) -> str:
        counts = {
            **{name: len(getattr(self, name)) for name in ("duplicates", "forgotten", "waiting")},
            **{name: getattr(self, name) for name in ("indexed", "embedded", "compacted", "learned", "archived")},
            "kept out": self.kept_out,
            **{f"erased {name}": count for name, count in self.erased.items()},
        }
        effects = [
            *([display.counted(len(self.ids), "event")] if self.ids else []),
            *([f"at {handle(self.positions[0], self.positions[-1])}"] if self.positions else []),
            *(display.amount(count, name) for name, count in counts.items() if count),
            *([self.note] if self.note else []),
        ]
        return f"<Receipt{' of a dry run' if self.dry_run else ''} {', '.join(effects) or 'nothing was done'}>"


def receipt_of(appended: Sequence[Appended]) -> Receipt:
    """The receipt for a write to the log."""
    return Receipt(
        ids=tuple(event.id for event in appended),
        positions=tuple(event.position for event in appended),
        duplicates=tuple(event.id for event in appended if not event.fresh),
    )
