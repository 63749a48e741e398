"""L3 in a list."""

from __future__ import annotations

import json
import threading
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from hybrid_memory.errors import IdConflictError, MemoryClosedError
from hybrid_memory.ports import Appended, Draft, LogSize
from hybrid_memory.types import Event, EventKind, Scope


class InMemoryLog:
    """An event log that lives as long as the process."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._last = 0
        self._by_id: dict[tuple[Scope, str], Event] = {}
        self._lock = threading.RLock()
        self._closed = False

    def append(self, owner: Scope, drafts: Sequence[Draft]) -> list[Appended]:
        """Append all or nothing; see `EventLog.append`."""
        with self._lock:
            self._check_open()
            fresh: dict[tuple[Scope, str], Event] = {}
            appended = []
            for draft in drafts:
                scope = replace(owner, session=draft.session)
                key = (scope, draft.id)
                there = self._by_id.get(key) or fresh.get(key)
                payload = _copied(draft.payload)
                if there is None:
                    position = self._last + len(fresh) + 1
                    there = Event(position, draft.id, scope, draft.kind, draft.at, payload, draft.sources, draft.author)
                    fresh[key] = there
                    appended.append(Appended(draft.id, position, fresh=True))
                elif draft.fixed_id and (there.kind, there.payload) == (draft.kind, payload):
                    appended.append(Appended(draft.id, there.position, fresh=False))
                else:
                    raise IdConflictError(f"id {draft.id!r} is taken in this session by another message")
            self._by_id.update(fresh)
            self._events.extend(fresh.values())
            self._last += len(fresh)
            return appended

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
        """Events of the scope, by position; see `EventLog.read`."""
        with self._lock:
            self._check_open()
            found = [
                event
                for event in self._between(after, upto)
                if within(scope, event.scope)
                and (not kinds or event.kind in kinds)
                and (since is None or event.at >= since)
                and (until is None or event.at < until)
            ]
        if limit is None:
            return found
        return found[max(0, len(found) - limit) :] if newest else found[:limit]

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Event]:
        """The events with these ids; see `EventLog.get`."""
        wanted = set(ids)
        return [event for event in self.read(scope) if event.id in wanted]

    def erase(
        self, owner: Scope, positions: Sequence[int], rewritten: Mapping[int, dict[str, Any]], note: Draft
    ) -> Appended:
        """Destroy events, rewrite others, append the note; see `EventLog.erase`."""
        with self._lock:
            self._check_open()
            before = self._events, self._by_id
            gone = set(positions)
            self._events = [
                replace(event, payload=_copied(rewritten[event.position]))
                if event.position in rewritten and event.scope.owner == owner.owner
                else event
                for event in self._events
                if event.position not in gone or event.scope.owner != owner.owner
            ]
            self._by_id = {(event.scope, event.id): event for event in self._events}
            try:
                return self.append(owner, [note])[0]
            except BaseException:
                self._events, self._by_id = before
                raise

    def scrub(self) -> None:
        """Nothing: nobody else reads this memory."""
        with self._lock:
            self._check_open()

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        """The last position of each owner; see `EventLog.heads`."""
        with self._lock:
            self._check_open()
            heads = {event.scope.owner: event.position for event in self._events}
        return heads if scope is None else {owner: head for owner, head in heads.items() if owner == scope.owner}

    def count(self, owner: Scope, *, after: int = 0) -> int:
        """How many events the owner has beyond this position."""
        return len(self.read(owner.owner, after=after))

    def size(self) -> LogSize:
        """Counts over all owners."""
        with self._lock:
            self._check_open()
            scopes = {event.scope for event in self._events}
            return LogSize(
                owners=len({s.owner for s in scopes}), sessions=len(scopes), events=len(self._events), bytes=0
            )

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._closed = True
            self._events, self._by_id = [], {}

    def _between(self, after: int, upto: int | None) -> list[Event]:
        first = bisect_right(self._events, after, key=_position)
        return self._events[first : None if upto is None else bisect_right(self._events, upto, key=_position)]

    def _check_open(self) -> None:
        if self._closed:
            raise MemoryClosedError


def _position(event: Event) -> int:
    return event.position


def _copied(payload: dict[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(payload))
    return copy


def within(scope: Scope, other: Scope) -> bool:
    """Whether a search in the one scope reaches what was written in the other."""
    if scope.session not in (None, other.session):
        return False
    return scope.owner == other.owner
