"""Log and index in plain Python and NumPy: the store of ``memory://``, and the oracle of the tests."""

from __future__ import annotations

import hashlib
import json
import threading
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Any, ClassVar, Unpack

import numpy as np

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.engines.stored import columns_of
from hybrid_memory.errors import EmbedderMismatchError, IdConflictError, MemoryClosedError, OutdatedError
from hybrid_memory.index.bm25 import ranked
from hybrid_memory.index.port import UNUSED, Entry, IndexSize, Matches, Query, RecordColumns, SemanticIndex, Status, Use
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Appended, Draft, EventLog, LogSize, Payloads, Reading, Selection
from hybrid_memory.scope import Scope
from hybrid_memory.store.engine import Engine


class InMemoryEngine(Engine):
    """``memory://``: exists as long as the process."""

    def log(self) -> EventLog:
        return InMemoryLog() if self.url == "memory://" else super().log()

    def index(self) -> SemanticIndex:
        return InMemoryIndex() if self.url == "memory://" else super().index()


_position = attrgetter("position")


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
                elif draft.fixed_id and _repeats(known, draft.kind, payload):
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
            by_kind = self._owners.get(scope.owner, {})
            parts = []
            for kind in set(wanted.kinds or by_kind):
                events = by_kind.get(kind, [])
                first = bisect_right(events, wanted.after, key=_position)
                last = len(events) if wanted.upto is None else bisect_right(events, wanted.upto, key=_position)
                rows = range(last - 1, first - 1, -1) if wanted.newest else range(first, last)
                parts.append(map(events.__getitem__, rows))
            # As far as the limit: most readings want the last few events of thousands.
            between = filter(wanted.test(), merge(*parts, key=_position, reverse=wanted.newest))
            found = (event for event in between if scope.session in (None, event.scope.session))
            taken = list(islice(found, None if wanted.limit is None else max(0, wanted.limit)))
        return taken[::-1] if wanted.newest else taken

    def erase(
        self, owner: Scope, positions: Sequence[int], rewritten: Payloads, note: Draft, *, seen: int | None = None
    ) -> Appended:
        with self._lock:
            self._check_open()
            last = max(map(_last, self._owners.get(owner.owner, {}).values()), default=0)
            if seen is not None and last > seen:
                raise OutdatedError(f"events of {owner} were appended up to {last}, beyond {seen}")
            before = self._owners.get(owner.owner, {}), self._by_id, self._dropped, self._positions
            self.destroy(owner, positions, rewritten)
            try:
                return self.append(owner, [note])[0]
            except BaseException:
                self._owners[owner.owner], self._by_id, self._dropped, self._positions = before
                raise

    def destroy(self, owner: Scope, positions: Sequence[int], rewritten: Payloads) -> None:
        """Destroy these events, and rewrite others, without a note."""
        with self._lock:
            self._check_open()
            gone = set(positions)
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
                insort(mine.setdefault(event.kind, []), kept, key=_position)
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

    def _check_open(self) -> None:
        if self._closed:
            raise MemoryClosedError


def _last(events: Sequence[Event]) -> int:
    return events[-1].position if events else 0


def _repeats(known: Event | _Dropped, kind: EventKind, payload: dict[str, Any]) -> bool:
    if isinstance(known, _Dropped):
        return (known.kind, known.digest) == (kind, _digest(payload))
    return (known.kind, known.payload) == (kind, payload)


def _digest(payload: dict[str, Any]) -> bytes:
    return hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).digest()


def _copied(payload: dict[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(payload))
    return copy


@dataclass(slots=True)
class _Row:
    record: Record
    terms: Counter[str]
    key: bytes = b""
    vector: Floats | None = None


@dataclass(slots=True)
class _State:
    rows: dict[int, _Row] = field(default_factory=dict)
    applied: dict[Scope, tuple[int, str]] = field(default_factory=dict)
    known: dict[bytes, Floats] = field(default_factory=dict)
    embedder: tuple[str, int] | None = None


class InMemoryIndex(SemanticIndex):
    """A semantic index that scores every record of the scope."""

    ranked_records: ClassVar[int | None] = None

    def __init__(self) -> None:
        self._state = _State()
        self._lock = threading.RLock()
        self._closed = False

    def status(
        self, owner: Scope | None = None, *, sessions: Sequence[str | None] = (), pending: int = 0, sums: bool = False
    ) -> Status:
        with self._lock:
            state = self._open()
            mine = self._rows(Where(owner.owner)) if owner and (sessions or pending or sums) else []
            turns = [row.record for row in mine if row.record.kind is RecordKind.TURN]
            last = {turn.scope.session: turn.id for turn in sorted(turns, key=lambda turn: turn.id)}
            vectors = [row.vector for row in mine if row.vector is not None] if sums else []
            applied, anchor = state.applied.get(owner.owner, (0, "")) if owner else (0, "")
            held = sum(row.vector is not None for row in state.rows.values()) if sums else 0
            return Status(
                applied=applied,
                anchor=anchor,
                embedder=state.embedder,
                tails={session: last[session] for session in sessions if session in last},
                pending=sorted(row.record.id for row in mine if row.vector is None)[:pending],
                vectors=len(vectors),
                total=np.sum(vectors, axis=0, dtype=np.float64) if vectors else None,
                size=IndexSize(len(state.rows), held, len(state.rows) - held) if sums else IndexSize(0, 0, 0),
            )

    def upsert(
        self,
        owner: Scope,
        entries: Sequence[Entry],
        *,
        after: int,
        upto: int,
        anchor: str = "",
        seen: str | None = None,
        gone: Collection[int] = (),
        uses: Mapping[int, Use] = UNUSED,
    ) -> bool:
        with self._lock:
            state = self._open()
            applied, stands = state.applied.get(owner.owner, (0, ""))
            if applied != after or seen not in (None, stands):
                return False
            state.applied[owner.owner] = upto, anchor
            self._remove([number for number in gone if self._owns(owner, number)])
            for entry in entries:
                self._remove([entry.record.id])
                state.rows[entry.record.id] = _Row(entry.record, Counter(entry.terms.split()))
            for number, use in uses.items():
                if self._owns(owner, number):
                    row = state.rows[number]
                    last = max(use.at, row.record.last_used or use.at)
                    row.record = replace(row.record, uses=row.record.uses + use.count, last_used=last)
            return True

    def put_vectors(
        self, embedder: tuple[str, int], keys: Mapping[int, bytes], vectors: Mapping[bytes, Floats]
    ) -> None:
        with self._lock:
            state = self._open()
            if state.embedder is not None and state.embedder != embedder:
                raise EmbedderMismatchError(state.embedder, embedder)
            state.embedder = embedder
            missing = {n: key for n, key in keys.items() if n in state.rows and state.rows[n].vector is None}
            wanted = set(missing.values())
            state.known.update({key: np.array(row, dtype=np.float32) for key, row in vectors.items() if key in wanted})
            for number, key in missing.items():
                if key in state.known:
                    state.rows[number].key, state.rows[number].vector = key, state.known[key]

    def search(self, query: Query, where: Where, k: int) -> Matches:
        with self._lock:
            rows = self._rows(where)
            if query is None:
                newest = sorted(((row.record.at, row.record.id) for row in rows), reverse=True)[:k]
                ids = np.array([number for _, number in newest], dtype=np.int64)
                return Matches(ids, np.zeros(len(ids), dtype=np.float32))
            if isinstance(query, np.ndarray):
                return Matches.best(
                    {row.record.id: float(row.vector @ query) for row in rows if row.vector is not None}, k
                )
            mine = self._rows(Where(where.scope.owner))
            frequencies = {term: sum(term in row.terms for row in mine) for term in dict.fromkeys(query)}
            length = sum(row.terms.total() + 1 for row in mine)
            return ranked(((row.record.id, row.terms) for row in rows), frequencies, len(mine), length, k)

    def columns(self, ids: Ids, where: Where, radius: int) -> RecordColumns:
        with self._lock:
            rows = self._open().rows
            seeds = [rows[number].record for number in ids.tolist() if number in rows]
            near = {(seed.segment, seed.ordinal + step) for seed in seeds for step in range(-radius, radius + 1)}
            found = [row.record for row in self._rows(where) if (row.record.segment, row.record.ordinal) in near]
        return columns_of(found)

    def vectors(self, keys: Sequence[int | bytes], owner: Scope | None = None) -> dict[int | bytes, Floats]:
        with self._lock:
            stored: dict[int | bytes, Floats] = dict(self._open().known.items())
            for row in self._rows(Where(owner.owner)) if owner else []:
                if row.vector is not None:
                    stored[row.record.id] = row.vector
        return {key: stored[key] for key in keys if key in stored}

    def terms(self, owner: Scope, words: Sequence[str] = (), *, near: str = "") -> dict[str, int]:
        with self._lock:
            counts = Counter(term for row in self._rows(Where(owner.owner)) for term in row.terms)
        return {term: count for term, count in counts.items() if term in words or (near and term[0] == near[0])}

    def get(self, ids: Sequence[int]) -> list[Record]:
        with self._lock:
            rows = self._open().rows
            return [rows[number].record.copied() for number in ids if number in rows]

    def delete(self, ids: Sequence[int] | None) -> int:
        with self._lock:
            gone = self._remove(list(self._open().rows) if ids is None else ids)
            if ids is None:
                self._state = _State()
            return gone

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._state = _State()

    def _owns(self, owner: Scope, number: int) -> bool:
        row = self._open().rows.get(number)
        return row is not None and row.record.scope.owner == owner.owner

    def _open(self) -> _State:
        if self._closed:
            raise MemoryClosedError
        return self._state

    def _remove(self, ids: Sequence[int]) -> int:
        state = self._open()
        gone = [state.rows.pop(number) for number in dict.fromkeys(ids) if number in state.rows]
        if gone:
            used = {row.key for row in state.rows.values()}
            state.known = {key: vector for key, vector in state.known.items() if key in used}
        return len(gone)

    def _rows(self, where: Where) -> list[_Row]:
        return [row for row in self._open().rows.values() if where.allows(row.record)]
