"""In-memory vectors of one owner, searched with FAISS."""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.engines.sqlite.database import Database
from hybrid_memory.index.port import Matches

READ_AT_ONCE = 10_000
"""Vectors read from the store in one step."""

_STALE = (
    "SELECT 0, c.record, NULL FROM changes c WHERE c.owner = ?1 AND c.seq > ?2 "
    "AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.record = c.record AND v.seq <= ?3)"
)
"""Records whose cached vectors differ from the store's since a given change."""

_NEW = (
    "SELECT * FROM (SELECT v.seq, v.record, e.vector FROM vectors v JOIN embeddings e ON e.id = v.embedding "
    "WHERE v.owner = ?1 AND v.seq > ?3 ORDER BY v.seq LIMIT ?4)"
)


class _Faiss:
    """FAISS, imported on first use, so that calls that only read the log do not wait for the import."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module("faiss"), name)
        setattr(self, name, value)
        return value


faiss = _Faiss()


class VectorCache:
    """The vectors of one owner, with the ids of their records; a copy of the file, updated at every use.

    FAISS may crash if one thread adds while another searches, so every method takes the cache's lock.
    """

    def __init__(self, database: Database, owner: int, dim: int) -> None:
        self.dim = dim
        self._db = database
        self._owner = owner
        self._lock = threading.RLock()
        self._clear()

    def _clear(self, revision: int = -1) -> None:
        self._revision, self._upto, self._seen = revision, 0, 0
        self._ids: Ids = np.empty(0, dtype=np.int64)
        self._rows_by_id: Ids = np.empty(0, dtype=np.int64)
        self._sum: npt.NDArray[np.float64] = np.zeros(self.dim)
        self._index: Any = faiss.IndexFlatIP(self.dim)

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use."""
        return len(self) * (4 * self.dim + 16)

    @property
    def total(self) -> npt.NDArray[np.float64]:
        """The sum of all vectors."""
        with self._lock:
            return self._sum.copy()

    def catch_up(self, revision: int, upto: int, seen: int) -> None:
        """Update the copy with changes and new vectors; reload all of it if the revision differs.

        ``upto`` is the number of the last vector, ``seen`` that of the last change.
        """
        with self._lock:
            if revision != self._revision:
                self._clear(revision)
            while self._upto < upto or self._seen < seen:
                # One statement, and so one state of the store. What it takes of a later one than was asked for does no
                # harm: a change that comes again finds the vector that came after it.
                asked = (self._owner, self._seen, self._upto, READ_AT_ONCE)
                rows = self._db.query(f"{_STALE} UNION ALL {_NEW}", asked)
                self._remove(np.array([record for _, record, vector in rows if vector is None], dtype=np.int64))
                new = sorted(row for row in rows if row[2] is not None)
                if new:
                    vectors = np.frombuffer(b"".join(row[2] for row in new), dtype=np.float32).reshape(-1, self.dim)
                    self._add(np.array([row[1] for row in new], dtype=np.int64), vectors)
                    self._upto = new[-1][0]
                if len(new) < READ_AT_ONCE:
                    self._upto, self._seen = max(self._upto, upto), seen

    def search(self, vector: Floats, k: int, allowed: Ids | None = None) -> Matches:
        """The k vectors with the highest inner product, among the allowed ids if given."""
        with self._lock:
            rows = None if allowed is None else self._rows(allowed)
            k = min(k, len(self) if rows is None else len(rows))
            if k <= 0:
                return Matches.best({}, 0)
            if rows is not None and len(rows) == k:
                scores = self._index.reconstruct_batch(rows) @ vector
                best = np.argsort(-scores, kind="stable")
                return Matches(self._ids[rows[best]], scores[best])
            parameters = None
            if rows is not None:
                mask = np.zeros(len(self), dtype=bool)
                mask[rows] = True
                selector = faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
                parameters = faiss.SearchParameters(sel=selector)
            # For a single query, waiting for the other threads of FAISS made it 20 times slower on a busy machine.
            threads = faiss.omp_get_max_threads()
            faiss.omp_set_num_threads(1)  # of this thread only
            try:
                top, labels = self._index.search(vector.reshape(1, -1), k, params=parameters)
            finally:
                faiss.omp_set_num_threads(threads)
            found = labels[0][labels[0] >= 0]
            return Matches(self._ids[found], top[0][: len(found)])

    def rows(self, ids: Ids) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """The vectors of these ids (zeros for those not in the cache), and which are; shapes (n, dim) and (n,)."""
        vectors, present = np.zeros((len(ids), self.dim), dtype=np.float32), np.zeros(len(ids), dtype=np.bool_)
        with self._lock:
            if len(self) and len(ids):
                rows, present = self._find(ids)
                vectors[present] = self._index.reconstruct_batch(rows[present])
        return vectors, present

    def _add(self, ids: Ids, vectors: Floats) -> None:
        self._index.add(np.ascontiguousarray(vectors))
        self._sum = self._sum + vectors.sum(axis=0, dtype=np.float64)
        self._ids = np.concatenate([self._ids, ids])
        self._rows_by_id = np.argsort(self._ids, kind="stable")

    def _remove(self, ids: Ids) -> None:
        """Remove these vectors, if present; duplicate ids count once."""
        if len(rows := self._rows(np.unique(ids))):
            self._sum = self._sum - self._index.reconstruct_batch(rows).sum(axis=0, dtype=np.float64)
            self._index.remove_ids(rows)
            self._ids = np.delete(self._ids, rows)
            self._rows_by_id = np.argsort(self._ids, kind="stable")

    def _rows(self, ids: Ids) -> Ids:
        if not len(self) or not len(ids):
            return np.empty(0, dtype=np.int64)
        rows, present = self._find(ids)
        found: Ids = rows[present]
        return found

    def _find(self, ids: Ids) -> tuple[Ids, Any]:
        at = np.searchsorted(self._ids, ids, sorter=self._rows_by_id)
        rows: Ids = self._rows_by_id[np.minimum(at, len(self) - 1)]
        return rows, self._ids[rows] == ids
