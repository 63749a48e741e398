"""Logs that wrap another: delegating, read-only, without hidden stretches (rollbacks, the past), or with an archive."""

from __future__ import annotations

import logging
import threading
import time
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NoReturn, TypeAlias, Unpack

from hybrid_memory.errors import InvalidInputError, OutdatedError, StoreUnavailableError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Appended, Archive, Draft, EventLog, LogSize, LogState, Payloads, Reading, Selection
from hybrid_memory.scope import Scope


def _inner(method: str) -> Any:
    return lambda log, *args, **kwargs: getattr(log._log, method)(*args, **kwargs)  # noqa: SLF001 - its own


class DelegatingLog(EventLog):
    """Delegates every call to another log; a mark is as it is now, also where this log is as it was."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.sends_tail = log.sends_tail

    append, read, erase, drop, restore, scrub = map(_inner, ("append", "read", "erase", "drop", "restore", "scrub"))
    heads, mark, state, newest = map(_inner, ("heads", "mark", "state", "newest"))
    count, size, close = map(_inner, ("count", "size", "close"))


class ReadOnlyLog(DelegatingLog):
    """A log that can only be read; writes raise `InvalidInputError`."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise InvalidInputError("this memory is opened read-only: open it without read_only to change it")

    append = erase = drop = restore = scrub = _refuse


Stretches: TypeAlias = tuple[tuple[int, int], ...]  # first and last position of each, ascending and disjoint

MAX_POSITION = 2**62


@dataclass(frozen=True, slots=True)
class Horizon:
    """The end of a view of the past: a position, or an instant; inclusive."""

    upto: int | None = None
    until: datetime | None = None

    def __str__(self) -> str:
        return f"position {self.upto}" if self.until is None else f"{self.until:%Y-%m-%d %H:%M:%S}"

    @property
    def before(self) -> datetime | None:
        """The first instant after it."""
        return None if self.until is None else self.until + timedelta(microseconds=1)


def hidden(rollbacks: Sequence[Event], horizon: Horizon | None = None) -> Stretches:
    """The hidden stretches, given all rollback events of an owner by position.

    A rollback shows the log as it was at a position, including the rollbacks before it, and hides everything in
    between. So a rollback to the position of an earlier rollback undoes that one.
    """
    before = None if horizon is None else horizon.before
    upto = MAX_POSITION if horizon is None or horizon.upto is None else horizon.upto
    seen = [event for event in rollbacks if event.position <= upto and (before is None or event.at < before)]
    stretches = [(upto + 1, MAX_POSITION)]
    end = len(seen)
    while end:
        last = seen[end - 1]
        stretches.append((last.payload["to"] + 1, last.position))
        end = bisect_right(seen, last.payload["to"], hi=end - 1, key=lambda event: event.position)
    return joined(stretches)


def replaced(events: Sequence[Event], before: Mapping[int, str] | None = None) -> dict[int, str]:
    """The messages superseded by these events, in order: their ids by position.

    ``before`` are those already superseded.
    """
    found = dict(before or {})
    for event in events:
        found |= zip(event.payload["positions"], event.payload["ids"], strict=True)
        for position in event.payload["restored"]:
            found.pop(position, None)
    return found


def within(position: int, stretches: Iterable[tuple[int, int]]) -> bool:
    """Whether a position is in one of the stretches."""
    return any(first <= position <= last for first, last in stretches)


def joined(stretches: Iterable[tuple[int, int]]) -> Stretches:
    """The same positions as disjoint stretches that do not touch, ascending."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(stretches):
        if first > last:
            continue
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)


def outermost(stretches: Iterable[tuple[int, int]]) -> Stretches:
    """The stretches, in order, without those inside the one before them."""
    kept: list[tuple[int, int]] = []
    for first, last in stretches:
        if not kept or first < kept[-1][0] or last > kept[-1][1]:
            kept.append((first, last))
    return tuple(kept)


def runs(positions: Iterable[int]) -> Stretches:
    """The stretches formed by these positions."""
    return joined((position, position) for position in positions)


def visible(position: int, stretches: Stretches) -> bool:
    """Whether a position is in none of the hidden stretches."""
    row = bisect_right(stretches, (position, MAX_POSITION)) - 1
    return row < 0 or stretches[row][1] < position


class VisibleLog(DelegatingLog):
    """A log without its hidden stretches; a view of the past, which has a horizon, is read-only."""

    def __init__(self, log: EventLog, stretches: Stretches, horizon: Horizon | None = None) -> None:
        super().__init__(log if horizon is None else ReadOnlyLog(log))
        self._hidden = stretches
        self._horizon = horizon

    def read(self, scope: Scope, **which: Unpack[Reading]) -> list[Event]:
        wanted = Selection(**which)
        before = None if self._horizon is None else self._horizon.before
        wanted = replace(wanted, until=min(filter(None, (wanted.until, before)), default=None))
        if wanted.ids is not None or wanted.limit is None:
            events = self._log.read(scope, **replace(wanted, limit=None).asked())
            return wanted.cut([event for event in events if visible(event.position, self._hidden)])
        found: list[Event] = []
        first, last, batch = wanted.after + 1, MAX_POSITION if wanted.upto is None else wanted.upto, wanted.limit
        while first <= last and len(found) < wanted.limit:
            edge = last if wanted.newest else first
            row = bisect_right(self._hidden, (edge, MAX_POSITION)) - 1
            if row >= 0 and edge <= self._hidden[row][1]:  # skipped, as a rollback may hide much
                begin, end = self._hidden[row]
                first, last = (first, begin - 1) if wanted.newest else (end + 1, last)
                continue
            part = self._log.read(scope, **replace(wanted, after=first - 1, upto=last, limit=batch).asked())
            kept = [event for event in part if visible(event.position, self._hidden)]
            found = kept + found if wanted.newest else found + kept
            if len(part) < batch:
                break
            first, last = (first, part[0].position - 1) if wanted.newest else (part[-1].position + 1, last)
            batch *= 2
        return wanted.cut(found)

    newest, count = EventLog.newest, EventLog.count  # by its own readings


_ARCHIVED = (EventKind.MESSAGE,)  # the kinds that go to the archive; others are small, and read at every start

_log = logging.getLogger(__name__)


class ArchivedLog(DelegatingLog):
    """An event log that keeps old messages in an archive; reads return them as if they were still in the log.

    While the archive is unreachable, writes and reads that need none of its events still work; everything else raises
    `StoreUnavailableError`. Until the archive has answered once for an owner, the log assumes that it holds events of
    that owner. Only this log uses the archive. ``refresh`` is how long to trust what is known of how far an owner's
    archive reaches: events archived by another process may be missing from reads for at most this long.
    """

    def __init__(self, log: EventLog, archive: Archive, *, refresh: timedelta = timedelta(seconds=2)) -> None:
        super().__init__(log)
        self._archive = archive
        self._refresh_seconds = refresh.total_seconds()
        self._reaches: dict[Scope, tuple[int, float | None]] = {}
        self._reaches_lock = threading.Lock()
        self._moving = threading.RLock()  # what is being moved must not be erased or counted half-way

    def read(self, scope: Scope, **which: Unpack[Reading]) -> list[Event]:
        # The hot log first: what leaves it between the two readings is in the archive by then.
        wanted, hot = Selection(**which), self._log.read(scope, **which)
        if (wanted.kinds and not set(wanted.kinds) & set(_ARCHIVED)) or (wanted.limit is not None and wanted.limit < 1):
            return hot
        if wanted.ids is not None:
            # Elsewhere another session may have the same id.
            found = set() if scope.session is None else {event.id for event in hot}
            wanted = replace(wanted, ids=sorted(set(wanted.ids) - found))
            if not wanted.ids:
                return hot
        between = wanted
        if wanted.limit is not None and len(hot) >= wanted.limit:  # of the archive only what stands between these
            edge = hot[0].position if wanted.newest else hot[-1].position
            between = replace(wanted, after=edge) if wanted.newest else replace(wanted, upto=edge)
        if self._reach(scope, beyond=between.after) <= between.after:
            return hot
        # Of an event that an interrupted `expire` left in both, the one in the hot log.
        events = {event.position: event for event in (*self._archive.read(scope, **between.asked()), *hot)}
        return wanted.cut([events[position] for position in sorted(events)])

    def erase(
        self, owner: Scope, positions: Sequence[int], rewritten: Payloads, note: Draft, *, seen: int | None = None
    ) -> Appended:
        """Erase from both parts; see `EventLog.erase`.

        The note goes to the hot log after the archive is done; if this fails halfway, call it again.
        """
        with self._moving:
            if seen is not None and self._log.head(owner) > seen:
                raise OutdatedError(f"events of {owner} were appended beyond {seen}")
            self._archive.erase(owner, positions, rewritten)
            appended = self._log.erase(owner, positions, rewritten, note, seen=seen)
            self._archive.erase(owner, positions, rewritten)  # what another process archived meanwhile
            return appended

    def mark(self, owner: Scope, position: int) -> str:
        return self._log.mark(owner, position) or EventLog.mark(self, owner, position)

    def state(self, owner: Scope, kinds: Collection[EventKind] = ()) -> LogState:
        return replace(self._log.state(owner, kinds), tail=None)  # in which archived events may be missing

    newest = EventLog.newest  # by its own readings

    def count(self, owner: Scope, *, after: int = 0) -> int:
        with self._moving:
            hot = self._log.count(owner, after=after)
            reach = self._reach(owner, beyond=after)
            if reach <= after:
                return hot
            # An `expire` that was cut short leaves events in both.
            old = self._log.read(owner.owner, after=after, upto=reach, kinds=_ARCHIVED)
            twice = self._archive.get(owner.owner, [event.id for event in old])
            both = {event.position for event in old} & {event.position for event in twice}
            return hot + self._archive.count(owner, after=after) - len(both)

    def size(self) -> LogSize:
        """Counts over all owners, in both parts; events that an interrupted `expire` left in both are counted twice."""
        with self._moving:
            hot, old = self._log.size(), self._archive.size()
        return LogSize(hot.owners, hot.sessions, hot.events + old.events, hot.bytes + old.bytes)

    def expire(self, owner: Scope, before: datetime, batch: int = 1000) -> int:
        """Move the owner's messages dated before the given time to the archive; returns how many.

        A batch leaves the hot log only once the archive has it, so that no event is ever in neither, and an interrupted
        call can be repeated. The owner's last event stays in the log.

        Raises:
            StoreUnavailableError: the archive or the log failed; the rest is still in the hot log.
        """
        owner = owner.owner
        moved = after = 0
        while True:
            with self._moving:
                head = self._log.head(owner)
                events = self._log.read(owner, after=after, upto=head - 1, until=before, kinds=_ARCHIVED, limit=batch)
                if not events:
                    return moved
                self._archive.put(events)
                self._reach(owner)  # while it answers, so that it is known when it does not
                self._reached(owner, events[-1].position)
                if self._log.read(owner, after=head, kinds=[EventKind.ERASED], limit=1):
                    # What another process erased or rewrote since these events were read goes from the archive too.
                    first, last = events[0].position, events[-1].position
                    left = self._log.read(owner, after=first - 1, upto=last, kinds=_ARCHIVED)
                    present = {event.position: event.payload for event in left}
                    gone = [event.position for event in events if event.position not in present]
                    changed = {
                        event.position: present[event.position]
                        for event in events
                        if event.position in present and present[event.position] != event.payload
                    }
                    self._archive.erase(owner, gone, changed)
                self._log.drop(owner, [event.position for event in events])
            moved += len(events)
            after = events[-1].position

    def close(self) -> None:
        try:
            self._archive.close()
        finally:
            self._log.close()

    def _reach(self, scope: Scope, *, beyond: int = 0) -> int:
        """The last position that the owner's archive has or had; 0 if it never had any.

        Asks the archive if the known value is old, unless it already lies beyond the position.
        """
        owner, now = scope.owner, time.monotonic()
        reach, asked = self._reaches.get(owner, (0, None))
        if reach > beyond or (asked is not None and now - asked < self._refresh_seconds):
            return reach
        try:
            return self._reached(owner, self._archive.head(owner), now)
        except StoreUnavailableError as error:
            if asked is None:
                raise
            _log.warning("%s; until the archive is back, only events that are not in it can be read", error)
            return self._reached(owner, reach, time.monotonic())

    def _reached(self, owner: Scope, reach: int, asked: float | None = None) -> int:
        """Record how far the owner's archive reaches at least, and when the archive said so, if it was asked."""
        with self._reaches_lock:
            known, before = self._reaches.get(owner, (0, None))
            reach = max(known, reach)
            self._reaches[owner] = (reach, before if asked is None else asked)
            return reach
