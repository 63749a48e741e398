"""What is asked of the engine behind L3."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeAlias

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


@dataclass(frozen=True, slots=True)
class Appended:
    """Where an event stands; ``fresh`` is False when the same event was there before."""

    id: str
    position: int
    fresh: bool


@dataclass(frozen=True, slots=True)
class LogSize:
    """Counts over the whole log, and its bytes on disk with everything that shares its files.

    What is said without a session is one session; what the library notes without one is none.
    """

    owners: int
    sessions: int
    events: int
    bytes: int


class EventLog(Protocol):
    """L3: the durable, append-only log; the truth that everything else is derived from."""

    def append(self, owner: Scope, drafts: Sequence[Draft]) -> list[Appended]:
        """Append all or nothing, in order; durable on return.

        Raises:
            IdConflictError: a fixed id is taken in its session by an event with another payload.
        """
        ...

    def read(
        self,
        scope: Scope,
        *,
        after: int = 0,
        upto: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        kinds: Collection[EventKind] = (),
        limit: int | None = None,
        newest: bool = False,
    ) -> list[Event]:
        """Events of the scope with ``after < position <= upto`` and ``since <= at < until``, by position.

        Of these kinds, or of any if none is given. With a limit the first ones, or the last ones if ``newest``;
        ascending in both cases.
        """
        ...

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Event]:
        """The events with these ids, by position; unknown ids are left out."""
        ...

    def erase(
        self, owner: Scope, positions: Sequence[int], rewritten: Mapping[int, dict[str, Any]], note: Draft
    ) -> Appended:
        """Destroy these events of the owner, give others a new payload, and append the note: all or nothing.

        What is not there is left out. Until `scrub` the words may still stand in free pages and in the journal.
        """
        ...

    def drop(self, owner: Scope, positions: Sequence[int]) -> None:
        """Remove events of the owner that an archive has, all or nothing; what is not there is left out.

        Their ids and sessions stay known: `append` answers a repetition with the old position, and another payload
        with `IdConflictError`, and `size` counts the sessions still. Nothing of the words is kept for that but a
        digest. `erase` of the same positions forgets those ids too, and what it rewrites is known by the new payload.
        """
        ...

    def restore(self, owner: Scope, events: Sequence[Event]) -> None:
        """Store the owner's events with the positions that another log gave them, all or nothing; durable on return.

        Those that are there already are left alone. What is appended later gets higher positions.
        """
        ...

    def scrub(self) -> None:
        """Overwrite what was destroyed wherever the engine may still hold it; may take seconds.

        Raises:
            StoreUnavailableError: another process keeps the engine from doing so.
        """
        ...

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        """The last position of each owner, or of this scope's owner only; no entry where nothing was written."""
        ...

    def count(self, owner: Scope, *, after: int = 0) -> int:
        """How many events the owner has beyond this position."""
        ...

    def size(self) -> LogSize:
        """Counts over all owners."""
        ...

    def close(self) -> None:
        """Release everything; later calls raise `MemoryClosedError`."""
        ...


class Expiring(Protocol):
    """A log that has an archive behind it."""

    def expire(self, owner: Scope, before: datetime) -> int:
        """Move messages that were said before then into the archive; returns how many.

        The owner's last event stays. Repeatable after a crash at any step.
        """
        ...


class Archive(Protocol):
    """Where events go that have left the log for their age; they stay readable."""

    def put(self, events: Sequence[Event]) -> None:
        """Take these events of one owner; durable on return. Those that are there already stay as they are."""
        ...

    def read(
        self,
        scope: Scope,
        *,
        after: int = 0,
        upto: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        kinds: Collection[EventKind] = (),
        limit: int | None = None,
        newest: bool = False,
    ) -> list[Event]:
        """Archived events of the scope; as `EventLog.read`."""
        ...

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Event]:
        """The archived events with these ids; as `EventLog.get`."""
        ...

    def erase(self, owner: Scope, positions: Sequence[int], rewritten: Mapping[int, dict[str, Any]]) -> None:
        """Destroy these events of the owner, and give others a new payload; what is not there is left out.

        On return no reading finds the old words, and the engine has been told to take them from its disk.
        """
        ...

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        """The last archived position of each owner, or of this scope's owner only; as `EventLog.heads`."""
        ...

    def count(self, owner: Scope, *, after: int = 0) -> int:
        """How many of the owner's archived events stand beyond this position."""
        ...

    def size(self) -> LogSize:
        """Counts over all owners."""
        ...

    def close(self) -> None:
        """Release everything; later calls raise `MemoryClosedError`."""
        ...


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
