"""Vector search by FAISS: the vectors of one owner, exact while they are few and approximate beyond."""

from __future__ import annotations

import io
import logging
import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.index.port import Matches

EXACT_LIMIT = 50_000
"""Vectors of one owner that are searched one by one; see docs/decisions/0004 for the measurement."""

PROBED_SHARE = 8
"""An approximate search looks into one in so many inverted lists: of 64 neighbours it found 96 to 98 percent."""

_log = logging.getLogger(__name__)


@contextmanager
def _one_thread() -> Iterator[None]:
    """One query is not worth two threads: on a busy machine their waiting made it 20 times slower."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # of this thread only
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


class VectorCache:
    """Unit vectors with the ids of their records, in memory; a copy that can always be made again.

    FAISS may crash when one thread adds while another searches, so every method takes the cache's lock.

    Args:
        dim: width of the vectors.
        exact_limit: above this many vectors `train` makes an approximate index worth while.

    Attributes:
        revision, upto: what of the durable copy is in the cache; its owner keeps them.
    """

    def __init__(self, dim: int, *, exact_limit: int = EXACT_LIMIT) -> None:
        self.dim = dim
        self.revision = -1
        self.upto = 0
        self.lock = threading.RLock()
        self._exact_limit = exact_limit
        self._ids: Ids = np.empty(0, dtype=np.int64)
        self._rows_by_id: Ids = np.empty(0, dtype=np.int64)
        self._sum: npt.NDArray[np.float64] = np.zeros(dim)
        self._index: Any = faiss.IndexFlatIP(dim)
        self._trained_at = 0
        self._saved = 0

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def approximate(self) -> bool:
        return self._trained_at > 0

    @property
    def grown(self) -> bool:
        """Whether it holds more than its file."""
        return len(self) > self._saved

    def clear(self, revision: int) -> None:
        """Take everything out of the cache, to be filled from this revision of the durable copy."""
        with self.lock:
            self._ids = self._rows_by_id = np.empty(0, dtype=np.int64)
            self._index, self._trained_at, self._saved = faiss.IndexFlatIP(self.dim), 0, 0
            self._sum = np.zeros(self.dim)
            self.revision, self.upto = revision, 0

    def add(self, ids: Ids, vectors: Floats) -> None:
        with self.lock:
            self._index.add(np.ascontiguousarray(vectors, dtype=np.float32))
            self._sum = self._sum + vectors.sum(axis=0, dtype=np.float64)
            self._ids = np.concatenate([self._ids, ids])
            self._rows_by_id = np.argsort(self._ids, kind="stable")

    @property
    def overgrown(self) -> bool:
        """Whether `train` would make searches faster: there are many vectors, and four times those of the last time."""
        return len(self) > max(self._exact_limit, 4 * self._trained_at)

    def train(self) -> None:
        """Replace the index by an inverted file over 2 * sqrt(n) lists; takes seconds for 100,000 vectors."""
        with self.lock:
            vectors = self._index.reconstruct_n(0, len(self))
            lists = int(2 * math.sqrt(len(self)))
            index = faiss.index_factory(self.dim, f"IVF{lists},Flat", faiss.METRIC_INNER_PRODUCT)
            index.cp.max_points_per_centroid = 64  # four times as many took four times as long and found no more
            index.train(vectors)
            index.add(vectors)
            index.make_direct_map()
            self._index, self._trained_at = index, len(self)

    def search(self, vector: Floats, k: int, allowed: Ids | None = None) -> Matches:
        """The k vectors with the highest inner product, among the allowed ids if given."""
        with self.lock:
            rows = None if allowed is None else self._rows(allowed)
            if rows is not None and len(rows) <= max(k, self._exact_limit if self.approximate else 0):
                # An inverted file looks into a few lists only and would miss most of a small selection.
                found, scores = rows, self._vectors(rows) @ vector
                best = np.argsort(-scores, kind="stable")[:k]
                return Matches(ids=self._ids[found[best]], scores=scores[best])
            k = min(k, len(self))
            if k <= 0:
                return Matches(ids=np.empty(0, dtype=np.int64), scores=np.empty(0, dtype=np.float32))
            with _one_thread():
                top, labels = self._index.search(vector.reshape(1, -1), k, params=self._parameters(rows))
            found = labels[0][labels[0] >= 0]
            return Matches(ids=self._ids[found], scores=top[0][: len(found)])

    @property
    def total(self) -> npt.NDArray[np.float64]:
        with self.lock:
            return self._sum.copy()

    def rows(self, ids: Ids) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """The vectors of these ids, zeros where one is not in the cache, and which are; shapes (n, dim) and (n,)."""
        with self.lock:
            vectors, present = np.zeros((len(ids), self.dim), dtype=np.float32), np.zeros(len(ids), dtype=np.bool_)
            if len(self) and len(ids):
                rows, present = self._find(ids)
                vectors[present] = self._vectors(rows[present])
        return vectors, present

    def last(self) -> Floats:
        with self.lock:
            row: Floats = self._vectors(np.array([len(self) - 1], dtype=np.int64))[0]
            return row

    def save(self, path: Path) -> None:
        """Write the cache beside ``path`` and move it into place, so that a reader never sees half of it."""
        with self.lock:
            header = np.array([self.revision, self.upto, self._trained_at], dtype=np.int64)
            buffer = io.BytesIO()
            np.savez(buffer, header=header, ids=self._ids, sum=self._sum, index=faiss.serialize_index(self._index))
            self._saved = len(self)
        path.parent.mkdir(exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        with temporary.open("wb") as file:
            file.write(buffer.getbuffer())
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)

    @classmethod
    def load(cls, path: Path, dim: int, *, exact_limit: int = EXACT_LIMIT) -> VectorCache | None:
        """The saved cache, or None if there is none, or it is damaged or of another width."""
        cache = cls(dim, exact_limit=exact_limit)
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
                cache.revision, cache.upto, cache._trained_at = (int(value) for value in saved["header"])
                cache._ids, cache._sum = saved["ids"], saved["sum"]
                cache._index = faiss.deserialize_index(saved["index"])
        except FileNotFoundError:
            return None
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a copy, the original is at hand
            _log.warning("the vector index %s is damaged (%s): rebuilding it from the store", path, error)
            return None
        if cache._index.d != dim or cache._index.ntotal != len(cache._ids):
            _log.warning("the vector index %s does not fit the store: rebuilding it", path)
            return None
        cache._rows_by_id = np.argsort(cache._ids, kind="stable")
        cache._saved = len(cache)
        return cache

    def _parameters(self, rows: Ids | None) -> Any:
        selector = None
        if rows is not None:
            mask = np.zeros(len(self), dtype=bool)
            mask[rows] = True
            selector = faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
        if self.approximate:
            return faiss.SearchParametersIVF(sel=selector, nprobe=max(1, self._index.nlist // PROBED_SHARE))
        return None if selector is None else faiss.SearchParameters(sel=selector)

    def _find(self, ids: Ids) -> tuple[Ids, Any]:
        at = np.searchsorted(self._ids, ids, sorter=self._rows_by_id)
        rows: Ids = self._rows_by_id[np.minimum(at, len(self) - 1)]
        return rows, self._ids[rows] == ids

    def _rows(self, ids: Ids) -> Ids:
        if not len(self):
            return np.empty(0, dtype=np.int64)
        rows, present = self._find(ids)
        found: Ids = rows[present]
        return found

    def _vectors(self, rows: Ids) -> Floats:
        vectors: Floats = (
            self._index.reconstruct_batch(rows) if len(rows) else np.empty((0, self.dim), dtype=np.float32)
        )
        return vectors
