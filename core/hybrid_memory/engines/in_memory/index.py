"""L2 by brute force: scores every record of the scope."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.engines.stored import to_micros
from hybrid_memory.errors import EmbedderMismatchError, MemoryClosedError
from hybrid_memory.index.bm25 import ranked
from hybrid_memory.index.port import UNUSED, Entry, IndexSize, Matches, Query, RecordColumns, SemanticIndex, Status, Use
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.scope import Scope


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
            return Status(
                applied=applied,
                anchor=anchor,
                embedder=state.embedder,
                tails={session: last[session] for session in sessions if session in last},
                pending=sorted(row.record.id for row in mine if row.vector is None)[:pending],
                vectors=len(vectors),
                total=np.sum(vectors, axis=0, dtype=np.float64) if vectors else None,
                size=self._size(state) if sums else IndexSize(0, 0, 0),
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
        return RecordColumns.of([_columns(record) for record in found])

    def vectors(self, keys: Sequence[int | bytes], owner: Scope | None = None) -> dict[int | bytes, Floats]:
        with self._lock:
            stored: dict[int | bytes, Floats] = dict(self._open().known.items())
            for row in self._rows(Where(owner.owner)) if owner else []:
                if row.vector is not None:
                    stored[row.record.id] = row.vector
        return {key: stored[key] for key in keys if key in stored}

    def terms(self, owner: Scope, wanted: Sequence[str] = (), *, near: str = "") -> dict[str, int]:
        with self._lock:
            counts = Counter(term for row in self._rows(Where(owner.owner)) for term in row.terms)
        return {term: count for term, count in counts.items() if term in wanted or (near and term[0] == near[0])}

    def get(self, ids: Sequence[int]) -> list[Record]:
        with self._lock:
            rows = self._open().rows
            found = [rows[number].record for number in ids if number in rows]
        # What a caller does to the metadata must not change the store.
        return [replace(record, metadata=deepcopy(record.metadata)) if record.metadata else record for record in found]

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

    def _size(self, state: _State) -> IndexSize:
        vectors = sum(row.vector is not None for row in state.rows.values())
        return IndexSize(records=len(state.rows), vectors=vectors, pending=len(state.rows) - vectors)

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


def _columns(record: Record) -> tuple[float, ...]:
    last_used = to_micros(record.last_used) if record.last_used else 0
    placed = (record.id, record.segment, record.ordinal, len(record.text), to_micros(record.at))
    return (*placed, record.importance, record.uses, last_used)
