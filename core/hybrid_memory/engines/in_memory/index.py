"""L2 that scores every record of the scope, one by one."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace

import numpy as np

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.errors import EmbedderMismatchError, MemoryClosedError
from hybrid_memory.index.bm25 import bm25, idf
from hybrid_memory.index.port import UNUSED, Entry, IndexSize, Matches, Places, Use
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.scope import Scope
from hybrid_memory.text.spelling import nearly


@dataclass(slots=True)
class _Row:
    record: Record
    terms: Counter[str]
    length: int
    key: bytes = b""
    vector: Floats | None = None


@dataclass(slots=True)
class _State:
    rows: dict[int, _Row] = field(default_factory=dict)
    applied: dict[Scope, int] = field(default_factory=dict)
    known: dict[bytes, Floats] = field(default_factory=dict)
    frequency: Counter[str] = field(default_factory=Counter)
    embedder: tuple[str, int] | None = None


class InMemoryIndex:
    """A semantic index that scores every record of the scope, one by one."""

    def __init__(self) -> None:
        self._state = _State()
        self._lock = threading.RLock()
        self._closed = False

    def applied(self, owner: Scope) -> int:
        """The log position up to which records were derived."""
        with self._lock:
            return self._open().applied.get(owner.owner, 0)

    def tails(self, owner: Scope, sessions: Sequence[str | None]) -> dict[str | None, Record]:
        """The last turn of each session."""
        with self._lock:
            wanted = set(sessions)
            return {
                row.record.scope.session: row.record
                for _, row in sorted(self._open().rows.items())
                if row.record.scope.owner == owner.owner
                and row.record.scope.session in wanted
                and row.record.kind is RecordKind.TURN
            }

    def upsert(
        self, owner: Scope, entries: Sequence[Entry], *, after: int, upto: int, uses: Mapping[int, Use] = UNUSED
    ) -> bool:
        """Store records and move the applied position; see `SemanticIndex.upsert`."""
        with self._lock:
            state = self._open()
            if state.applied.get(owner.owner, 0) != after:
                return False
            state.applied[owner.owner] = upto
            for entry in entries:
                self._remove([entry.record.id])
                counts = Counter(entry.terms.split())
                state.rows[entry.record.id] = _Row(entry.record, counts, counts.total() + 1)
                state.frequency.update(counts.keys())
            for number, use in uses.items():
                row = state.rows.get(number)
                if row is not None and row.record.scope.owner == owner.owner:
                    last = max(use.at, row.record.last_used or use.at)
                    row.record = replace(row.record, uses=row.record.uses + use.count, last_used=last)
            return True

    def pending(self, owner: Scope, limit: int) -> list[tuple[Record, Record | None]]:
        """Records that wait for their vector, each with its predecessor."""
        with self._lock:
            rows = self._open().rows
            turns = [row.record for row in rows.values() if row.record.kind is RecordKind.TURN]
            places = {(turn.segment, turn.ordinal): turn for turn in turns}
            waiting = [row.record for _, row in sorted(rows.items()) if row.vector is None]
            mine = [record for record in waiting if record.scope.owner == owner.owner][:limit]
            return [(record, places.get((record.segment, record.ordinal - 1))) for record in mine]

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """Vectors that are stored already, by content hash."""
        with self._lock:
            known = self._open().known
            return {key: known[key] for key in keys if key in known}

    def embedder(self) -> tuple[str, int] | None:
        """Name and width of the embedder behind the vectors."""
        with self._lock:
            return self._open().embedder

    def put_vectors(
        self, embedder: tuple[str, int], keys: Mapping[int, bytes], vectors: Mapping[bytes, Floats]
    ) -> None:
        """Give records their vectors; see `SemanticIndex.put_vectors`."""
        with self._lock:
            state = self._open()
            if state.embedder is not None and state.embedder != embedder:
                raise EmbedderMismatchError(state.embedder, embedder)
            state.embedder = embedder
            waiting = {n: key for n, key in keys.items() if n in state.rows and state.rows[n].vector is None}
            wanted = set(waiting.values())
            state.known.update({key: np.array(row, dtype=np.float32) for key, row in vectors.items() if key in wanted})
            for number, key in waiting.items():
                if key in state.known:
                    state.rows[number].key, state.rows[number].vector = key, state.known[key]

    def centroid(self, owner: Scope) -> tuple[Floats, int]:
        """The mean of the owner's vectors, and their number."""
        with self._lock:
            vectors = [row.vector for row in self._rows(Where(owner.owner)) if row.vector is not None]
        return (np.mean(vectors, axis=0) if vectors else np.empty(0, dtype=np.float32)), len(vectors)

    def settle(self, owner: Scope) -> None:
        """Nothing: every search goes over all records."""

    def nearest(self, vector: Floats, where: Where, k: int) -> Matches:
        """The k records with the highest inner product; see `SemanticIndex.nearest`."""
        with self._lock:
            scores = {row.record.id: float(row.vector @ vector) for row in self._rows(where) if row.vector is not None}
        return _best(scores, k)

    def matching(self, terms: Sequence[str], where: Where, k: int) -> Matches:
        """The k records with the highest BM25; see `SemanticIndex.matching`.

        With statistics over the whole index. The length counts one term more than the text has: FTS5 stores the owner
        beside it.
        """
        wanted = list(dict.fromkeys(terms))
        with self._lock:
            state = self._open()
            total = len(state.rows)
            average = max(sum(row.length for row in state.rows.values()) / max(total, 1), 1e-9)
            weights = {term: idf(total, state.frequency[term]) for term in wanted}
            scores = {}
            for row in self._rows(where):
                found = [(weights[term], row.terms[term]) for term in wanted if row.terms[term]]
                if found:
                    scores[row.record.id] = bm25(found, row.length / average)
        return _best(scores, k)

    def latest(self, where: Where, k: int) -> Ids:
        """The k records that were said last; see `SemanticIndex.latest`."""
        with self._lock:
            said = sorted(((row.record.at, row.record.id) for row in self._rows(where)), reverse=True)
        return np.array([number for _, number in said[:k]], dtype=np.int64)

    def spellings(self, term: str, owner: Scope, k: int) -> list[str]:
        """Terms of the owner's records that differ by a slip or two; see `SemanticIndex.spellings`."""
        with self._lock:
            vocabulary = {word for row in self._rows(Where(owner.owner)) for word in row.terms}
        return nearly(term, vocabulary, k)

    def similar(self, vector: Floats, owner: Scope, ids: Ids) -> Floats:
        """Inner product with each of these records; see `SemanticIndex.similar`."""
        with self._lock:
            rows = {row.record.id: row for row in self._rows(Where(owner.owner))}
            vectors = [rows[number].vector if number in rows else None for number in ids.tolist()]
        return np.array([np.nan if row is None else row @ vector for row in vectors], dtype=np.float32)

    def likeness(self, owner: Scope, ids: Ids) -> Floats:
        """Inner products among these records; see `SemanticIndex.likeness`."""
        with self._lock:
            mine = {row.record.id: row.vector for row in self._rows(Where(owner.owner))}
        vectors = [mine.get(number) for number in ids.tolist()]
        table = [[0.0 if a is None or b is None else float(a @ b) for b in vectors] for a in vectors]
        return np.array(table, dtype=np.float32).reshape(len(ids), len(ids))

    def places(self, ids: Ids, where: Where, radius: int) -> Places:
        """These records and their neighbours; see `SemanticIndex.places`."""
        with self._lock:
            rows = self._open().rows
            seeds = [rows[number].record for number in ids.tolist() if number in rows]
            near = {(seed.segment, seed.ordinal + step) for seed in seeds for step in range(-radius, radius + 1)}
            found = [row.record for row in self._rows(where) if (row.record.segment, row.record.ordinal) in near]
        found.sort(key=lambda record: record.id)
        return Places(
            ids=np.array([record.id for record in found], dtype=np.int64),
            segments=np.array([record.segment for record in found], dtype=np.int64),
            ordinals=np.array([record.ordinal for record in found], dtype=np.int64),
            lengths=np.array([len(record.text) for record in found], dtype=np.int64),
            at=np.array([record.at.timestamp() for record in found], dtype=np.float64),
            importance=np.array([record.importance for record in found], dtype=np.float32),
            uses=np.array([record.uses for record in found], dtype=np.int64),
            last_used=np.array([r.last_used.timestamp() if r.last_used else 0 for r in found], dtype=np.float64),
        )

    def get(self, ids: Sequence[int]) -> list[Record]:
        """The records with these ids, in the order given."""
        with self._lock:
            rows = self._open().rows
            found = [rows[number].record for number in ids if number in rows]
        # What a caller does to the metadata must not change the store.
        return [replace(record, metadata=deepcopy(record.metadata)) if record.metadata else record for record in found]

    def delete(self, ids: Sequence[int]) -> int:
        """Remove records with their terms and vectors."""
        with self._lock:
            return self._remove(ids)

    def scrub(self) -> None:
        """Nothing: nobody else reads this memory."""
        with self._lock:
            self._open()

    def reset(self) -> None:
        """Drop everything derived."""
        with self._lock:
            self._open()
            self._state = _State()

    def size(self) -> IndexSize:
        """Counts over all owners."""
        with self._lock:
            rows = self._open().rows
            vectors = sum(row.vector is not None for row in rows.values())
            return IndexSize(records=len(rows), vectors=vectors, pending=len(rows) - vectors)

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._closed = True
            self._state = _State()

    def _open(self) -> _State:
        if self._closed:
            raise MemoryClosedError
        return self._state

    def _remove(self, ids: Sequence[int]) -> int:
        state = self._open()
        gone = [state.rows.pop(number) for number in dict.fromkeys(ids) if number in state.rows]
        for row in gone:
            state.frequency.subtract(row.terms.keys())
            for term in row.terms:
                if not state.frequency[term]:
                    del state.frequency[term]
        if gone:
            used = {row.key for row in state.rows.values()}
            state.known = {key: vector for key, vector in state.known.items() if key in used}
        return len(gone)

    def _rows(self, where: Where) -> list[_Row]:
        return [row for row in self._open().rows.values() if where.allows(row.record)]


def _best(scores: dict[int, float], k: int) -> Matches:
    best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]
    return Matches(
        ids=np.array([number for number, _ in best], dtype=np.int64),
        scores=np.array([score for _, score in best], dtype=np.float32),
    )
