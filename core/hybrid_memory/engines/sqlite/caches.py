"""What of an owner's records is cached in memory: vectors and columns, copies that follow the file."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from pathlib import Path

import numpy as np

from hybrid_memory.engines.sqlite.database import Database
from hybrid_memory.engines.sqlite.record_cache import RecordCache
from hybrid_memory.engines.sqlite.vector_cache import VectorCache
from hybrid_memory.errors import MemoryClosedError, StoreError, StoreUnavailableError

CACHED_RECORDS = 1_000_000
"""Records kept in memory over all owners (1.6 GB at 384 dimensions); the owners used longest ago are put away."""

_log = logging.getLogger(__name__)


class OwnerCaches:
    """The vectors and columns of the owners used last.

    Args:
        database: the file.
        exact_limit: see `VectorCache`.
    """

    def __init__(self, database: Database, *, exact_limit: int) -> None:
        self._db = database
        self._exact_limit = exact_limit
        self._folder = Path(f"{database.path}.faiss")
        self._vectors: dict[int, VectorCache] = {}
        self._records: OrderedDict[int, RecordCache] = OrderedDict()
        self._lock = threading.Lock()

    def records(self, owner: int) -> RecordCache:
        """The columns of the owner's records, up to date."""
        revision, _, _ = self._state(owner)
        with self._lock:
            table = self._records.setdefault(owner, RecordCache(self._db, owner))
            self._records.move_to_end(owner)
            unused = []
            while len(self._records) > 1 and sum(map(len, self._records.values())) > CACHED_RECORDS:
                last, _ = self._records.popitem(last=False)
                unused.append((last, self._vectors.pop(last, None)))
        for last, cache in unused:
            self._put_away(last, cache)
        table.catch_up(revision)
        return table

    def vectors(self, owner: int) -> VectorCache | None:
        """The owner's vectors, up to date; None before the first vector of the store."""
        revision, dim, upto = self._state(owner)
        if not dim:
            return None
        with self._lock:
            cache = self._vectors.get(owner)
            if cache is None or cache.dim != dim:
                cache = self._vectors[owner] = self._opened(owner, dim)
        with cache.lock:
            if cache.revision != revision:
                cache.clear(revision)
            if cache.upto < upto:
                self._fill(owner, cache)
        return cache

    def train(self, owner: int) -> None:
        """Train an approximate index where the owner has many new vectors, and save it beside the file."""
        ((count,),) = self._db.query("SELECT count(*) FROM vectors WHERE owner = ?", (owner,))
        cache = self.vectors(owner) if count > self._exact_limit else None
        if cache is not None and cache.overgrown:
            cache.train()
            self._put_away(owner, cache)

    def remove_files(self) -> None:
        """Remove what is saved, inside a transaction that deletes records: their vectors stand there too.

        Raises:
            StoreUnavailableError: a file cannot be removed.
        """
        try:
            for file in self._folder.glob("owner-*"):
                file.unlink(missing_ok=True)
        except OSError as error:
            raise StoreUnavailableError(f"cannot remove the vectors of deleted records: {error}") from error

    def close(self) -> None:
        """Save the approximate indexes that have grown, and forget everything."""
        with self._lock:
            caches = list(self._vectors.items())
            self._vectors.clear()
            self._records.clear()
        for owner, cache in caches:
            self._put_away(owner, cache)

    def _state(self, owner: int) -> tuple[int, int, int]:
        """Revision of the records, width of the vectors (0: none yet), and the owner's last vector."""
        ((revision, dim, upto),) = self._db.query(
            "SELECT r.number, e.dim, (SELECT max(seq) FROM vectors WHERE owner = ?) "
            "FROM revision r LEFT JOIN embedder e ON e.one = r.one",
            (owner,),
        )
        return revision, dim or 0, upto or 0

    def _opened(self, owner: int, dim: int) -> VectorCache:
        """The cache from its file if that was made from this store, else an empty one."""
        cache = None
        if not self._db.encrypted:
            cache = VectorCache.load(self._file(owner), dim, exact_limit=self._exact_limit)
        if cache is not None:
            # The store may have been restored from a backup: the last vector in the cache must be the store's.
            rows = self._db.query(
                "SELECT e.vector FROM vectors v JOIN embeddings e ON e.id = v.embedding "
                "WHERE v.owner = ? AND v.seq = ?",
                (owner, cache.upto),
            )
            if rows and np.array_equal(np.frombuffer(rows[0][0], dtype=np.float32), cache.last()):
                return cache
        return VectorCache(dim, exact_limit=self._exact_limit)

    def _fill(self, owner: int, cache: VectorCache) -> None:
        rows = self._db.query(
            "SELECT v.seq, v.record, e.vector FROM vectors v JOIN embeddings e ON e.id = v.embedding "
            "WHERE v.owner = ? AND v.seq > ? ORDER BY v.seq",
            (owner, cache.upto),
        )
        if rows:
            vectors = np.frombuffer(b"".join(row[2] for row in rows), dtype=np.float32).reshape(len(rows), cache.dim)
            cache.add(np.array([row[1] for row in rows], dtype=np.int64), vectors)
            cache.upto = rows[-1][0]

    def _put_away(self, owner: int, cache: VectorCache | None) -> None:
        """Save a cache that is worth it; never beside an encrypted file, which it would give away."""
        if cache is None or not cache.approximate or not cache.grown or self._db.encrypted:
            return
        try:
            with self._db.write() as connection:  # nobody deletes meanwhile, so no deleted vector is saved again
                if connection.execute("SELECT number FROM revision").fetchone() == (cache.revision,):
                    cache.save(self._file(owner))
        except (OSError, StoreError) as error:
            _log.warning("cannot save the vector index: %s; it will be made again from %s", error, self._db.path)
        except MemoryClosedError:
            return

    def _file(self, owner: int) -> Path:
        return self._folder / f"owner-{owner}.npz"
