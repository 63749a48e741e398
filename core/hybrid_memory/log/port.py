"""What an engine behind L3 implements: `EventLog`, and `Archive` for what is old."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, Protocol, TypeAlias, TypedDict, Unpack

from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.scope import Scope

Key: TypeAlias = str | bytes | Callable[[], str | bytes]
"""A passphrase, or the 32 bytes of a key, or what gives one of them when the store is opened."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An event that has no position yet; ``fixed_id`` when the id is the caller's, so that it may be there already."""

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
        """The draft of an event that is to be written again, under its own id."""
        return cls(
            event.id, True, event.scope.session, event.kind, event.at, event.payload, event.sources, event.author
        )


@dataclass(frozen=True, slots=True)
class Appended:
    """Where an event stands; ``fresh`` is False when the same event was there before."""

    id: str
    position: int
    fresh: bool


@dataclass(frozen=True, slots=True)
class LogSize:
    """Counts over the whole log, and its bytes on disk with everything that shares its files.

    Messages without a session are one session; other events without one are none. ``archived`` events are not among
    them: they were dropped, and an archive has them.
    """

    owners: int
    sessions: int
    events: int
    bytes: int
    archived: int = 0


@dataclass(frozen=True, slots=True)
class LogState:
    """Where the log of an owner stands.

    Attributes:
        head: the owner's last position; 0 at first.
        mark: of the event there, see `Readable.mark`; empty at first.
        last: position and id of the last event of each kind that was asked for and that there is.
    """

    head: int = 0
    mark: str = ""
    last: Mapping[EventKind, tuple[int, str]] = field(default_factory=dict)


class Reading(TypedDict, total=False):
    """What a reading of a log may ask for; see `Selection`."""

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

    Of these kinds, or of any if none is given; with these ids, or any if None. With a limit the first ones, or the last
    ones if ``newest``; ascending in both cases.
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
        """The same as arguments of `Readable.read`."""
        return Reading(
            after=self.after,
            upto=self.upto,
            since=self.since,
            until=self.until,
            kinds=self.kinds,
            ids=self.ids,
            limit=self.limit,
            newest=self.newest,
        )

    def test(self) -> Callable[[Event], bool]:
        """Whether an event is wanted, apart from the limit."""
        ids = None if self.ids is None else set(self.ids)

        def wanted(event: Event) -> bool:
            return (
                event.position > self.after
                and (self.upto is None or event.position <= self.upto)
                and (self.since is None or event.at >= self.since)
                and (self.until is None or event.at < self.until)
                and (not self.kinds or event.kind in self.kinds)
                and (ids is None or event.id in ids)
            )

        return wanted

    def of(self, events: Iterable[Event]) -> list[Event]:
        """Those of the events, ascending, that are wanted."""
        return self.cut(list(filter(self.test(), events)))

    def cut(self, events: list[Event]) -> list[Event]:
        """The events, ascending, as far as the limit allows."""
        if self.limit is None:
            return events
        return events[max(0, len(events) - self.limit) :] if self.newest else events[: max(0, self.limit)]


class Readable(ABC):
    """What a log and an archive have in common."""

    @abstractmethod
    def read(self, scope: Scope, **which: Unpack[Reading]) -> list[Event]:
        """Events of the scope, by position; see `Selection`."""

    @abstractmethod
    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        """The last position of each owner, or of this scope's owner only; no entry where nothing was written."""

    @abstractmethod
    def size(self) -> LogSize:
        """Counts over all owners."""

    def mark(self, owner: Scope, position: int) -> str:
        """What tells the owner's event there from any other that may have its position; empty if there is none."""
        events = self.read(owner.owner, after=position - 1, upto=position)
        return events[0].mark if events else ""

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Event]:
        """The events with these ids, by position; unknown ids are left out."""
        return self.read(scope, ids=ids)

    def count(self, owner: Scope, *, after: int = 0) -> int:
        """How many events the owner has beyond this position."""
        return len(self.read(owner.owner, after=after))

    def tally(self, scope: Scope, *, newest: int) -> Counter[tuple[date, EventKind]]:
        """How many of the scope's newest events fall on each day (UTC) and are of each kind."""
        events = self.read(scope, limit=newest, newest=True)
        return Counter((event.at.astimezone(UTC).date(), event.kind) for event in events)

    @abstractmethod
    def close(self) -> None:
        """Release everything; later calls raise `MemoryClosedError`."""


class EventLog(Readable):
    """L3: the durable, append-only log; the truth that everything else is derived from."""

    @abstractmethod
    def append(self, owner: Scope, drafts: Sequence[Draft], *, seen: int | None = None) -> list[Appended]:
        """Append all or nothing, in order; durable on return.

        With drafts that were made from events of the owner, ``seen`` is their last position before these were read.

        Raises:
            IdConflictError: a fixed id is taken in its session by an event with another payload.
            OutdatedError: something of the owner was erased beyond ``seen``.
        """

    @abstractmethod
    def erase(
        self,
        owner: Scope,
        positions: Sequence[int],
        rewritten: Mapping[int, dict[str, Any]],
        note: Draft,
        *,
        seen: int | None = None,
    ) -> Appended:
        """Destroy these events of the owner, give others a new payload, and append the note: all or nothing.

        What is not there is left out. Until `scrub` the words may still stand in free pages and in the journal.
        ``seen`` is the owner's last position when it was decided what goes.

        Raises:
            OutdatedError: the owner has an event beyond ``seen``.
        """

    @abstractmethod
    def drop(self, owner: Scope, positions: Sequence[int]) -> None:
        """Remove events of the owner that an archive has, all or nothing; what is not there is left out.

        Their ids and sessions stay known: `append` answers a repetition with the old position, and another payload
        with `IdConflictError`, and `size` counts the sessions still. Nothing of the words is kept for that but a
        digest. `erase` of the same positions forgets those ids too, and what it rewrites is known by the new payload.
        """

    @abstractmethod
    def restore(self, owner: Scope, events: Sequence[Event], *, gone: Sequence[int] = ()) -> None:
        """Store the owner's events with the positions that another log gave them, all or nothing; durable on return.

        Those that are there already are left alone. What is appended later gets higher positions. Before, what stands
        at the positions that are ``gone`` is destroyed with its ids, as `erase` does it.
        """

    def state(self, owner: Scope, kinds: Collection[EventKind] = ()) -> LogState:
        """Where the log of the owner stands, with the last events of these kinds, which are not messages."""
        head = self.heads(owner).get(owner.owner, 0)
        newest = [self.read(owner.owner, kinds=(kind,), limit=1, newest=True) for kind in kinds]
        last = {event.kind: (event.position, event.id) for events in newest for event in events}
        return LogState(head, self.mark(owner, head) if head else "", last)

    def scrub(self) -> None:
        """Overwrite what was destroyed wherever the engine may still hold it; may take seconds.

        Raises:
            StoreUnavailableError: another process keeps the engine from doing so.
        """
        self.size()


class Expiring(Protocol):
    """A log that has an archive behind it."""

    def expire(self, owner: Scope, before: datetime) -> int:
        """Move messages that were said before then into the archive; returns how many.

        The owner's last event stays. Repeatable after a crash at any step.
        """
        ...


class Archive(Readable):
    """Where events go that have left the log for their age; they stay readable."""

    @abstractmethod
    def put(self, events: Sequence[Event]) -> None:
        """Take these events of one owner; durable on return. Those that are there already stay as they are."""

    @abstractmethod
    def erase(self, owner: Scope, positions: Sequence[int], rewritten: Mapping[int, dict[str, Any]]) -> None:
        """Destroy these events of the owner, and give others a new payload; what is not there is left out.

        On return no reading finds the old words, and the engine has been told to take them from its disk.
        """


class Clock(Protocol):
    """Tells the time."""

    def __call__(self) -> datetime:
        """Now; aware."""
        ...


class IdSource(Protocol):
    """Gives ids."""

    def __call__(self) -> str:
        """A new id that sorts after all earlier ones of this process."""
        ...
