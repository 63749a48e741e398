"""L3 in lists and its archive in a dict; test oracles for other engines."""

from __future__ import annotations

import hashlib
import json
import threading
from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import islice
from types import MappingProxyType
from typing import Any, Unpack

from hybrid_memory.errors import IdConflictError, MemoryClosedError, OutdatedError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Appended, Archive, Draft, EventLog, LogSize, Reading, Selection
from hybrid_memory.scope import Scope

_AS_IT_IS: Mapping[int, dict[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _Dropped:
    """What remains of an event that was moved to an archive."""

    position: int
    kind: EventKind
    digest: bytes


class InMemoryLog(EventLog):
    """An event log that exists as long as the process."""

    def __init__(self) -> None:
        self._owners: dict[Scope, dict[EventKind, list[Event]]] = {}
        self._last = 0
        self._by_id: dict[tuple[Scope, str], Event] = {}
        self._positions: set[int] = set()
        self._dropped: dict[tuple[Scope, str], _Dropped] = {}
        self._lock = threading.RLock()
        self._closed = False

    def append(self, owner: Scope, drafts: Sequence[Draft], *, seen: int | None = None) -> list[Appended]:
        with self._lock:
            self._check_open()
            if seen is not None and (last := _last(self._owners.get(owner.owner, {}).get(EventKind.ERASED, ()))) > seen:
                raise OutdatedError(f"something of {owner} was erased at {last}, beyond {seen}")
            fresh: dict[tuple[Scope, str], Event] = {}
            appended = []
            for draft in drafts:
                scope = replace(owner, session=draft.session)
                key = (scope, draft.id)
                known = self._by_id.get(key) or fresh.get(key) or self._dropped.get(key)
                payload = _copied(draft.payload)
                if known is None:
                    position = self._last + len(fresh) + 1
                    made = Event(position, draft.id, scope, draft.kind, draft.at, payload, draft.sources, draft.author)
                    fresh[key] = made
                    appended.append(Appended(draft.id, position, fresh=True))
                elif draft.fixed_id and _says(known, draft.kind, payload):
                    appended.append(Appended(draft.id, known.position, fresh=False))
                else:
                    raise IdConflictError(f"id {draft.id!r} is already used by another message of this session")
            self._by_id.update(fresh)
            self._positions.update(event.position for event in fresh.values())
            for event in fresh.values():
                self._owners.setdefault(owner.owner, {}).setdefault(event.kind, []).append(event)
            self._last += len(fresh)
            return appended

    def read(self, scope: Scope, **which: Unpack[Reading]) -> list[Event]:
        wanted = Selection(**which)
        with self._lock:
            self._check_open()
            # As far as the limit: most readings want the last few events of thousands.
            events = filter(wanted.test(), self._between(scope, wanted))
            found = (event for event in events if scope.session in (None, event.scope.session))
            taken = list(islice(found, None if wanted.limit is None else max(0, wanted.limit)))
        return taken[::-1] if wanted.newest else taken

    def erase(
        self,
        owner: Scope,
        positions: Sequence[int],
        rewritten: Mapping[int, dict[str, Any]],
        note: Draft,
        *,
        seen: int | None = None,
    ) -> Appended:
        with self._lock:
            self._check_open()
            gone = set(positions)
            last = max(map(_last, self._owners.get(owner.owner, {}).values()), default=0)
            if seen is not None and last > seen:
                raise OutdatedError(f"events of {owner} were appended up to {last}, beyond {seen}")
            before = self._owners.get(owner.owner, {}), self._by_id, self._dropped, self._positions
            self._destroy(owner, gone, rewritten)
            try:
                return self.append(owner, [note])[0]
            except BaseException:
                self._owners[owner.owner], self._by_id, self._dropped, self._positions = before
                raise

    def drop(self, owner: Scope, positions: Sequence[int]) -> None:
        with self._lock:
            self._check_open()
            gone = set(positions)
            by_kind = self._owners.get(owner.owner, {})
            dropped = {
                (event.scope, event.id): _Dropped(event.position, event.kind, _digest(event.payload))
                for events in by_kind.values()
                for event in events
                if event.position in gone
            }
            mine = {kind: [event for event in events if event.position not in gone] for kind, events in by_kind.items()}
            self._keep(owner, mine, self._dropped | dropped)

    def _destroy(self, owner: Scope, gone: set[int], rewritten: Mapping[int, dict[str, Any]] = _AS_IT_IS) -> None:
        mine = {
            kind: [
                replace(event, payload=_copied(rewritten[event.position])) if event.position in rewritten else event
                for event in events
                if event.position not in gone
            ]
            for kind, events in self._owners.get(owner.owner, {}).items()
        }
        dropped = {
            key: replace(entry, digest=_digest(rewritten[entry.position])) if entry.position in rewritten else entry
            for key, entry in self._dropped.items()
            if entry.position not in gone or key[0].owner != owner.owner
        }
        self._keep(owner, mine, dropped)

    def _keep(
        self, owner: Scope, mine: dict[EventKind, list[Event]], dropped: dict[tuple[Scope, str], _Dropped]
    ) -> None:
        """Replace the owner's events, and what is known of dropped ones."""
        left = {(event.scope, event.id): event for events in mine.values() for event in events}
        others = {key: event for key, event in self._by_id.items() if key[0].owner != owner.owner}
        self._owners[owner.owner] = mine
        self._by_id, self._dropped = others | left, dropped
        self._positions = {event.position for event in self._by_id.values()}

    def restore(self, owner: Scope, events: Sequence[Event]) -> None:
        with self._lock:
            self._check_open()
            mine = self._owners.setdefault(owner.owner, {})
            for event in events:
                key = (event.scope, event.id)
                if key in self._by_id or event.position in self._positions:
                    continue
                kept = replace(event, payload=_copied(event.payload))
                insort(mine.setdefault(event.kind, []), kept, key=lambda there: there.position)
                self._by_id[key] = kept
                self._positions.add(event.position)
                self._last = max(self._last, event.position)

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        with self._lock:
            self._check_open()
            wanted = self._owners if scope is None else {scope.owner} & self._owners.keys()
            return {
                owner: max(events[-1].position for events in self._owners[owner].values() if events)
                for owner in wanted
                if any(self._owners[owner].values())
            }

    def size(self) -> LogSize:
        with self._lock:
            self._check_open()
            said = [event for kinds in self._owners.values() for events in kinds.values() for event in events]
            spoken = [(event.scope, event.kind) for event in said]
            spoken += [(scope, there.kind) for (scope, _), there in self._dropped.items()]
            scopes = {scope for scope, kind in spoken if scope.session is not None or kind is EventKind.MESSAGE}
            owners, archived = len({scope.owner for scope, _ in spoken}), len(self._dropped)
            return LogSize(owners=owners, sessions=len(scopes), events=len(said), bytes=0, archived=archived)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._owners, self._by_id, self._dropped, self._positions = {}, {}, {}, set()

    def _between(self, scope: Scope, wanted: Selection) -> Iterable[Event]:
        """The owner's events of the requested kinds and positions, in the requested order."""
        by_kind = self._owners.get(scope.owner, {})
        parts = []
        for kind in set(wanted.kinds or by_kind):
            events = by_kind.get(kind, [])
            first = bisect_right(events, wanted.after, key=_position)
            last = len(events) if wanted.upto is None else bisect_right(events, wanted.upto, key=_position)
            rows = range(last - 1, first - 1, -1) if wanted.newest else range(first, last)
            parts.append(map(events.__getitem__, rows))
        return merge(*parts, key=_position, reverse=wanted.newest)

    def _check_open(self) -> None:
        if self._closed:
            raise MemoryClosedError


def _last(events: Sequence[Event]) -> int:
    return events[-1].position if events else 0


def _position(event: Event) -> int:
    return event.position


def _says(known: Event | _Dropped, kind: EventKind, payload: dict[str, Any]) -> bool:
    if isinstance(known, _Dropped):
        return (known.kind, known.digest) == (kind, _digest(payload))
    return (known.kind, known.payload) == (kind, payload)


def _digest(payload: dict[str, Any]) -> bytes:
    return hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).digest()


def _copied(payload: dict[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(payload))
    return copy


class InMemoryArchive(Archive):
    """An archive that exists as long as the process."""

    def __init__(self) -> None:
        self._owners: dict[Scope, dict[int, Event]] = {}
        self._lock = threading.Lock()
        self._closed = False

    def put(self, events: Sequence[Event]) -> None:
        with self._lock:
            self._check_open()
            for event in events:
                mine = self._owners.setdefault(event.scope.owner, {})
                mine.setdefault(event.position, replace(event, payload=_copied(event.payload)))

    def read(self, scope: Scope, **which: Unpack[Reading]) -> list[Event]:
        with self._lock:
            self._check_open()
            mine = self._owners.get(scope.owner, {})
            events = [mine[at] for at in sorted(mine) if scope.session in (None, mine[at].scope.session)]
        return Selection(**which).of(events)

    def erase(self, owner: Scope, positions: Sequence[int], rewritten: Mapping[int, dict[str, Any]]) -> None:
        with self._lock:
            self._check_open()
            gone = set(positions)
            self._owners[owner.owner] = {
                position: replace(event, payload=_copied(rewritten.get(position, event.payload)))
                for position, event in self._owners.get(owner.owner, {}).items()
                if position not in gone
            }

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        with self._lock:
            self._check_open()
            heads = {owner: max(events) for owner, events in self._owners.items() if events}
        return heads if scope is None else {owner: head for owner, head in heads.items() if owner == scope.owner}

    def size(self) -> LogSize:
        with self._lock:
            self._check_open()
            stored = [event for events in self._owners.values() for event in events.values()]
        scopes = {e.scope for e in stored if e.scope.session is not None or e.kind is EventKind.MESSAGE}
        return LogSize(
            owners=len({event.scope.owner for event in stored}), sessions=len(scopes), events=len(stored), bytes=0
        )

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._owners = {}

    def _check_open(self) -> None:
        if self._closed:
            raise MemoryClosedError
