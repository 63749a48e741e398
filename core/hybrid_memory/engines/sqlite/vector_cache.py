"""In-memory vector search for one owner: recent vectors exactly with FAISS, the rest quantized."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.engines.sqlite.quantized import Mask, QuantizedVectors, faiss
from hybrid_memory.index.port import Matches

EXACT_LIMIT = 50_000
"""The most vectors of one owner that are searched one by one; see docs/decisions/0004 for measurements."""

RESCORED = 2
"""This many times the requested number of quantized vectors are found, and rescored with the stored ones."""

Stored = Callable[[Ids], tuple[Ids, Floats]]
"""Those of some ids that have a vector in the store, with the vectors."""


class VectorCache:
    """Vectors with the ids of their records; a copy that can always be rebuilt.

    FAISS may crash if one thread adds while another searches, so every method takes the cache's lock. If a search
    allows at most ``exact_limit`` of the quantized vectors, they are compared one by one.

    Attributes:
        revision, upto, seen, token: the state of the store that is cached; see `State`.
    """

    def __init__(
        self, dim: int, stored: Stored, *, quantized: QuantizedVectors | None = None, exact_limit: int = EXACT_LIMIT
    ) -> None:
        self.dim = dim
        self.revision, self.upto, self.seen = -1, 0, 0
        self.token = b""
        self.lock = threading.RLock()
        self.quantized = quantized
        self._stored = stored
        self._exact_limit = exact_limit
        self._ids: Ids = np.empty(0, dtype=np.int64)
        self._rows_by_id: Ids = np.empty(0, dtype=np.int64)
        self._sum: npt.NDArray[np.float64] = np.zeros(dim)
        self._index: Any = faiss.IndexFlatIP(dim)
        self.gone: Mask = np.zeros(0, dtype=np.bool_)
        if quantized is not None:
            self.revision, self.upto, self.seen = quantized.revision, quantized.upto, quantized.seen
            self.gone = np.array(quantized.gone)

    def __len__(self) -> int:
        return self.recent + len(self.gone) - int(np.count_nonzero(self.gone))

    @property
    def recent(self) -> int:
        """The number of vectors that are not quantized."""
        return len(self._ids)

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use; mapped files do not count."""
        own = 0 if self.quantized is None else self.quantized.nbytes
        return own + self.gone.nbytes + self.recent * (4 * self.dim + 16)

    def add(self, ids: Ids, vectors: Floats) -> None:
        with self.lock:
            self._index.add(np.ascontiguousarray(vectors, dtype=np.float32))
            self._sum = self._sum + vectors.sum(axis=0, dtype=np.float64)
            self._ids = np.concatenate([self._ids, ids])
            self._rows_by_id = np.argsort(self._ids, kind="stable")

    def remove(self, ids: Ids) -> None:
        """Remove these vectors, if present; duplicate ids count once."""
        ids = np.unique(ids)
        with self.lock:
            if len(rows := self._rows(ids)):
                self._sum = self._sum - self._index.reconstruct_batch(rows).sum(axis=0, dtype=np.float64)
                self._index.remove_ids(rows)
                self._ids = np.delete(self._ids, rows)
                self._rows_by_id = np.argsort(self._ids, kind="stable")
            if self.quantized is not None:
                rows = self.quantized.rows(ids)
                self.gone[rows] = True
                if self.quantized.nbytes:  # nobody else has it
                    self.quantized.erase(rows)

    def search(self, vector: Floats, k: int, allowed: Ids | None = None) -> Matches:
        """The k vectors with the highest inner product, among the allowed ids if given."""
        with self.lock:
            k = min(k, len(self))
            if k <= 0:
                return Matches(ids=np.empty(0, dtype=np.int64), scores=np.empty(0, dtype=np.float32))
            ids, scores = self._among_recent(vector, k, allowed)
            if self.quantized is not None:
                far, rough = self._among_quantized(self.quantized, vector, k, allowed)
                ids, scores = np.concatenate([ids, far]), np.concatenate([scores, rough])
                best = np.lexsort((ids, -scores))[:k]
                ids, scores = ids[best], scores[best]
            return Matches(ids=ids, scores=scores)

    @property
    def total(self) -> npt.NDArray[np.float64]:
        """The sum of all vectors; approximate for quantized ones."""
        with self.lock:
            total = self._sum.copy()
            if self.quantized is not None:
                lost = np.flatnonzero(self.gone & ~self.quantized.gone)
                total += self.quantized.total - self.quantized.vectors(lost).sum(axis=0, dtype=np.float64)
            return total

    def rows(self, ids: Ids) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """The vectors of these ids (zeros for those not in the cache), and which are; shapes (n, dim) and (n,)."""
        vectors, present = np.zeros((len(ids), self.dim), dtype=np.float32), np.zeros(len(ids), dtype=np.bool_)
        with self.lock:
            if self.recent and len(ids):
                rows, present = self._find(ids)
                vectors[present] = self._index.reconstruct_batch(rows[present])
            if self.quantized is not None and not present.all():
                far, theirs = self._stored(ids[~present])
                order = np.argsort(far)
                at = np.minimum(np.searchsorted(far, ids, sorter=order), max(len(far) - 1, 0))
                here = ~present & (far[order[at]] == ids) if len(far) else np.zeros(len(ids), dtype=np.bool_)
                vectors[here] = theirs[order[at[here]]]
                present = present | here
        return vectors, present

    def _among_recent(self, vector: Floats, k: int, allowed: Ids | None) -> tuple[Ids, Floats]:
        rows = None if allowed is None else self._rows(allowed)
        if not self.recent or (rows is not None and not len(rows)):
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        if rows is not None and len(rows) <= k:
            scores = self._index.reconstruct_batch(rows) @ vector
            best = np.argsort(-scores, kind="stable")
            return self._ids[rows[best]], scores[best]
        parameters = None
        if rows is not None:
            mask = np.zeros(self.recent, dtype=bool)
            mask[rows] = True
            selector = faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
            parameters = faiss.SearchParameters(sel=selector)
        # For a single query, waiting for the other threads of FAISS made it 20 times slower on a busy machine.
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # of this thread only
        try:
            top, labels = self._index.search(vector.reshape(1, -1), min(k, self.recent), params=parameters)
        finally:
            faiss.omp_set_num_threads(threads)
        found = labels[0][labels[0] >= 0]
        return self._ids[found], top[0][: len(found)]

    def _among_quantized(
        self, quantized: QuantizedVectors, vector: Floats, k: int, allowed: Ids | None
    ) -> tuple[Ids, Floats]:
        if allowed is None:
            rows = quantized.nearest(vector, RESCORED * k, ~self.gone if self.gone.any() else None)
        else:
            wanted = quantized.rows(allowed)
            wanted = wanted[~self.gone[wanted]]
            if len(wanted) <= max(k, self._exact_limit):
                # The lists that are looked into may have little of a small selection.
                rows = quantized.nearest_of(vector, RESCORED * k, wanted)
            else:
                mask = np.zeros(len(quantized), dtype=np.bool_)
                mask[wanted] = True
                rows = quantized.nearest(vector, RESCORED * k, mask)
        ids, vectors = self._stored(quantized.ids[rows])
        return ids, vectors @ vector

    def _find(self, ids: Ids) -> tuple[Ids, Any]:
        at = np.searchsorted(self._ids, ids, sorter=self._rows_by_id)
        rows: Ids = self._rows_by_id[np.minimum(at, self.recent - 1)]
        return rows, self._ids[rows] == ids

    def _rows(self, ids: Ids) -> Ids:
        if not self.recent:
            return np.empty(0, dtype=np.int64)
        rows, present = self._find(ids)
        found: Ids = rows[present]
        return found
