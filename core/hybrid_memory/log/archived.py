"""L3 in two parts: a hot log, and an archive for old messages."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Unpack

from hybrid_memory.errors import OutdatedError, StoreUnavailableError
from hybrid_memory.log.delegating import DelegatingLog
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Appended, Archive, Draft, EventLog, LogSize, Reading, Selection
from hybrid_memory.scope import Scope

_ARCHIVED = (EventKind.MESSAGE,)
"""The kinds that go to the archive; others are small, and read at every start."""

_log = logging.getLogger(__name__)


class ArchivedLog(DelegatingLog):
    """An event log that keeps old messages in an archive; reads return them as if they were still in the log.

    While the archive is unreachable, writes and reads that need none of its events still work; everything else raises
    `StoreUnavailableError`. Until the archive has answered once for an owner, the log assumes that it holds events of
    that owner.

    Args:
        log: the hot log.
        archive: an archive used by this log alone.
        refresh: how long to trust what is known of how far an owner's archive reaches. Events archived by another
            process may be missing from reads for at most this long.
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
        return wanted.cut(_merged(hot, self._archive.read(scope, **between.asked())))

    def erase(
        self,
        owner: Scope,
        positions: Sequence[int],
        rewritten: Mapping[int, dict[str, Any]],
        note: Draft,
        *,
        seen: int | None = None,
    ) -> Appended:
        """Erase from both parts; see `EventLog.erase`.

        The note goes to the hot log after the archive is done; if this fails halfway, call it again.
        """
        with self._moving:
            if seen is not None and self._log.heads(owner).get(owner.owner, 0) > seen:
                raise OutdatedError(f"events of {owner} were appended beyond {seen}")
            self._archive.erase(owner, positions, rewritten)
            appended = self._log.erase(owner, positions, rewritten, note, seen=seen)
            self._archive.erase(owner, positions, rewritten)  # what another process archived meanwhile
            return appended

    def restore(self, owner: Scope, events: Sequence[Event]) -> None:
        self._log.restore(owner, events)

    def mark(self, owner: Scope, position: int) -> str:
        return self._log.mark(owner, position) or EventLog.mark(self, owner, position)

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
                head = self._log.heads(owner).get(owner, 0)
                events = self._log.read(owner, after=after, upto=head - 1, until=before, kinds=_ARCHIVED, limit=batch)
                if not events:
                    return moved
                self._move(owner, events, head)
            moved += len(events)
            after = events[-1].position

    def close(self) -> None:
        try:
            self._archive.close()
        finally:
            self._log.close()

    def _move(self, owner: Scope, events: Sequence[Event], head: int) -> None:
        self._archive.put(events)
        self._reach(owner)  # while it answers, so that it is known when it does not
        self._reached(owner, events[-1].position)
        self._forget_again(owner, events, head)
        self._log.drop(owner, [event.position for event in events])

    def _forget_again(self, owner: Scope, events: Sequence[Event], head: int) -> None:
        """Remove from the archive what another process erased or rewrote since these events were read."""
        if not self._log.read(owner, after=head, kinds=[EventKind.ERASED], limit=1):
            return
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

    def _reach(self, scope: Scope, *, beyond: int = 0) -> int:
        """The last position that the owner's archive has or had; 0 if it never had any.

        Asks the archive if the known value is old, unless it already lies beyond the position.
        """
        owner, now = scope.owner, time.monotonic()
        reach, asked = self._reaches.get(owner, (0, None))
        if reach > beyond or (asked is not None and now - asked < self._refresh_seconds):
            return reach
        try:
            return self._reached(owner, self._archive.heads(owner).get(owner, 0), now)
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


def _merged(*parts: Sequence[Event]) -> list[Event]:
    """The events of all parts by position; of duplicates the one of the first part."""
    found = {event.position: event for part in reversed(parts) for event in part}
    return [found[position] for position in sorted(found)]
