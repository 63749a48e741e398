"""L3: what of the log is to be seen, after a rollback or as of an earlier time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeAlias

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Appended, Draft, EventLog, LogSize
from hybrid_memory.scope import Scope

Stretches: TypeAlias = tuple[tuple[int, int], ...]
"""First and last position of each, ascending, apart from one another."""

MAX_POSITION = 2**62

SHORT = 100
"""Positions; a hidden stretch of fewer is read with what stands around it, for there may be many."""


@dataclass(frozen=True, slots=True)
class Horizon:
    """How far a view of the past reaches: to a position, or to what was said at an instant; both closed."""

    upto: int | None = None
    until: datetime | None = None

    def __str__(self) -> str:
        return f"position {self.upto}" if self.until is None else f"{self.until:%Y-%m-%d %H:%M:%S}"

    @property
    def before(self) -> datetime | None:
        """The first instant beyond it."""
        return None if self.until is None else self.until + timedelta(microseconds=1)


def hidden(rollbacks: Sequence[Event], horizon: Horizon | None = None) -> Stretches:
    """What is not to be seen, given all rollback events of an owner by position.

    A rollback to a position shows the log as it stood there, with the rollbacks before it, and hides what came
    between; so rolling back to where an earlier rollback stood undoes that one.
    """
    before = None if horizon is None else horizon.before
    upto = MAX_POSITION if horizon is None or horizon.upto is None else horizon.upto
    seen = [event for event in rollbacks if event.position <= upto and (before is None or event.at < before)]
    found = _after(seen)
    return joined([*found, (upto + 1, MAX_POSITION)]) if upto < MAX_POSITION else found


def _after(rollbacks: Sequence[Event]) -> Stretches:
    if not rollbacks:
        return ()
    last = rollbacks[-1]
    to = last.payload["to"]
    earlier = _after([event for event in rollbacks if event.position <= to])
    return joined([*earlier, (to + 1, last.position)])


def replaced(events: Sequence[Event]) -> dict[int, str]:
    """The messages that are superseded according to these events, in their order: the ids by position."""
    found: dict[int, str] = {}
    for event in events:
        found |= zip(event.payload["positions"], event.payload["ids"], strict=True)
        for position in event.payload["restored"]:
            found.pop(position, None)
    return found


def within(position: int, stretches: Iterable[tuple[int, int]]) -> bool:
    """Whether a position lies in one of the stretches."""
    return any(first <= position <= last for first, last in stretches)


def joined(stretches: Iterable[tuple[int, int]]) -> Stretches:
    """The stretches, ascending, with those that touch one another made one."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(stretches):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)


def visible(position: int, stretches: Stretches) -> bool:
    """Whether a position lies in none of the hidden stretches."""
    row = bisect_right(stretches, (position, MAX_POSITION)) - 1
    return row < 0 or stretches[row][1] < position


class VisibleLog:
    """A log without its hidden stretches; a view of the past cannot be written to.

    Args:
        log: all of it.
        stretches: hidden ones.
        horizon: of a view of the past.
    """

    def __init__(self, log: EventLog, stretches: Stretches, horizon: Horizon | None = None) -> None:
        self._log = log
        self._hidden = stretches
        self._horizon = horizon

    def append(self, owner: Scope, drafts: Sequence[Draft]) -> list[Appended]:
        """Append to the log; see `EventLog.append`."""
        self._check_present()
        return self._log.append(owner, drafts)

    def erase(
        self, owner: Scope, positions: Sequence[int], rewritten: Mapping[int, dict[str, Any]], note: Draft
    ) -> Appended:
        """Erase from the log; see `EventLog.erase`."""
        self._check_present()
        return self._log.erase(owner, positions, rewritten, note)

    def drop(self, owner: Scope, positions: Sequence[int]) -> None:
        """Remove what an archive has; see `EventLog.drop`."""
        self._log.drop(owner, positions)

    def restore(self, owner: Scope, events: Sequence[Event]) -> None:
        """Store what another log has; see `EventLog.restore`."""
        self._check_present()
        self._log.restore(owner, events)

    def scrub(self) -> None:
        """Overwrite what was destroyed; see `EventLog.scrub`."""
        self._log.scrub()

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
        """The visible events of the scope; see `EventLog.read`."""
        before = None if self._horizon is None else self._horizon.before
        until = before if until is None else until if before is None else min(until, before)
        found: list[Event] = []
        stretches = self._shown(after, MAX_POSITION if upto is None else upto)
        for first, last in reversed(stretches) if newest else stretches:
            left = None if limit is None else limit - len(found)
            if left is not None and left <= 0:
                break
            read = partial(self._log.read, scope, since=since, until=until, kinds=kinds, newest=newest)
            part = self._between(first, last, left, read, newest=newest)
            found = part + found if newest else found + part
        return found

    def _between(
        self, first: int, last: int, limit: int | None, read: Callable[..., list[Event]], *, newest: bool
    ) -> list[Event]:
        """The visible events from first to last, which short stretches may be hidden among."""
        found: list[Event] = []
        batch = limit
        while first <= last:
            part = read(after=first - 1, upto=last, limit=batch)
            kept = [event for event in part if visible(event.position, self._hidden)]
            found = kept + found if newest else found + kept
            if limit is None or batch is None or len(part) < batch or len(found) >= limit:
                break
            first, last = (first, part[0].position - 1) if newest else (part[-1].position + 1, last)
            batch *= 2
        if limit is None:
            return found
        return found[max(0, len(found) - limit) :] if newest else found[:limit]

    def _shown(self, after: int, upto: int) -> list[tuple[int, int]]:
        """Where ``after < position <= upto`` is visible, but for stretches that are too short to be read around."""
        shown = []
        first = after + 1
        for begin, end in self._hidden:
            if end - begin < SHORT:
                continue
            if first < begin:
                shown.append((first, min(begin - 1, upto)))
            first = max(first, end + 1)
        shown.append((first, upto))
        return [(start, end) for start, end in shown if start <= end]

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Event]:
        """The visible ones of the events with these ids; see `EventLog.get`."""
        before = None if self._horizon is None else self._horizon.before
        return [
            event
            for event in self._log.get(scope, ids)
            if visible(event.position, self._hidden) and (before is None or event.at < before)
        ]

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        """The last position of each owner, hidden or not; see `EventLog.heads`."""
        return self._log.heads(scope)

    def count(self, owner: Scope, *, after: int = 0) -> int:
        """How many visible events the owner has beyond this position."""
        return len(self.read(owner.owner, after=after))

    def size(self) -> LogSize:
        """Counts over all owners, hidden or not."""
        return self._log.size()

    def close(self) -> None:
        """Close the log."""
        self._log.close()

    def _check_present(self) -> None:
        if self._horizon is not None:
            raise InvalidInputError("this is a view of the past, to be read only: write to the memory itself")
