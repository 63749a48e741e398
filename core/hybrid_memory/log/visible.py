"""L3: the visible part of the log, after a rollback or as of an earlier time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias, Unpack

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.delegating import DelegatingLog
from hybrid_memory.log.event import Event
from hybrid_memory.log.port import Appended, Draft, EventLog, Reading, Selection
from hybrid_memory.scope import Scope

Stretches: TypeAlias = tuple[tuple[int, int], ...]
"""First and last position of each, ascending and disjoint."""

MAX_POSITION = 2**62

SHORT = 100
"""Positions; a shorter hidden stretch is read with its surroundings, as there may be many."""


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
    found = _after(seen)
    return joined([*found, (upto + 1, MAX_POSITION)]) if upto < MAX_POSITION else found


def _after(rollbacks: Sequence[Event]) -> Stretches:
    found = []
    end = len(rollbacks)
    while end:
        last = rollbacks[end - 1]
        found.append((last.payload["to"] + 1, last.position))
        end = bisect_right(rollbacks, last.payload["to"], hi=end - 1, key=lambda event: event.position)
    return joined(found)


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
    """A log without its hidden stretches; a view of the past is read-only.

    Args:
        log: the whole log.
        stretches: the hidden stretches.
        horizon: the end of a view of the past.
    """

    def __init__(self, log: EventLog, stretches: Stretches, horizon: Horizon | None = None) -> None:
        super().__init__(log)
        self._hidden = stretches
        self._horizon = horizon

    def append(self, owner: Scope, drafts: Sequence[Draft], *, seen: int | None = None) -> list[Appended]:
        self._check_present()
        return super().append(owner, drafts, seen=seen)

    def erase(
        self,
        owner: Scope,
        positions: Sequence[int],
        rewritten: Mapping[int, dict[str, Any]],
        note: Draft,
        *,
        seen: int | None = None,
    ) -> Appended:
        self._check_present()
        return super().erase(owner, positions, rewritten, note, seen=seen)

    def restore(self, owner: Scope, events: Sequence[Event]) -> None:
        self._check_present()
        super().restore(owner, events)

    def read(self, scope: Scope, **which: Unpack[Reading]) -> list[Event]:
        wanted = Selection(**which)
        before = None if self._horizon is None else self._horizon.before
        wanted = replace(wanted, until=min(filter(None, (wanted.until, before)), default=None))
        if wanted.ids is not None and wanted.limit is None:  # few; between hidden stretches each would be looked up
            return [event for event in self._read(scope, wanted) if visible(event.position, self._hidden)]
        found: list[Event] = []
        stretches = self._shown(wanted.after, MAX_POSITION if wanted.upto is None else wanted.upto)
        for first, last in reversed(stretches) if wanted.newest else stretches:
            left = None if wanted.limit is None else wanted.limit - len(found)
            if left is not None and left <= 0:
                break
            part = self._between(scope, replace(wanted, limit=left), first, last)
            found = part + found if wanted.newest else found + part
        return found

    def _between(self, scope: Scope, wanted: Selection, first: int, last: int) -> list[Event]:
        """The visible events from first to last; short hidden stretches in between are filtered out."""
        found: list[Event] = []
        batch = wanted.limit
        while first <= last:
            part = self._read(scope, replace(wanted, after=first - 1, upto=last, limit=batch))
            kept = [event for event in part if visible(event.position, self._hidden)]
            found = kept + found if wanted.newest else found + kept
            if wanted.limit is None or batch is None or len(part) < batch or len(found) >= wanted.limit:
                break
            first, last = (first, part[0].position - 1) if wanted.newest else (part[-1].position + 1, last)
            batch *= 2
        return wanted.cut(found)

    def _read(self, scope: Scope, wanted: Selection) -> list[Event]:
        return self._log.read(scope, **wanted.asked())

    def _shown(self, after: int, upto: int) -> list[tuple[int, int]]:
        """The visible ranges of ``after < position <= upto``, not split at hidden stretches too short to skip."""
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

    def count(self, owner: Scope, *, after: int = 0) -> int:
        return len(self.read(owner.owner, after=after))

    def _check_present(self) -> None:
        if self._horizon is not None:
            raise InvalidInputError("this view of the past is read-only: write to the memory itself")
