"""What of an owner's records is cached in memory: vectors and columns, copies that follow the file."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Ids
from hybrid_memory.engines.instants import to_micros
from hybrid_memory.engines.sqlite.database import Database
from hybrid_memory.engines.sqlite.rows import REVISION
from hybrid_memory.engines.sqlite.vector_cache import VectorCache
from hybrid_memory.errors import MemoryClosedError, StoreError, StoreUnavailableError
from hybrid_memory.index.port import RecordColumns
from hybrid_memory.index.record import Where
from hybrid_memory.log.visible import joined

CACHED_RECORDS = 1_000_000
"""Records kept in memory over all owners (1.6 GB at 384 dimensions); the owners used longest ago are put away."""

_log = logging.getLogger(__name__)


class OwnerCaches:
    """The vectors and columns of the owners used last."""

    def __init__(self, database: Database, *, exact_limit: int) -> None:
        self._db = database
        self._exact_limit = exact_limit
        self._folder = Path(f"{database.path}.faiss")
        self._vectors: dict[int, VectorCache] = {}
        self._records: OrderedDict[int, RecordCache] = OrderedDict()
        self._lock = threading.Lock()

    def records(self, owner: int) -> RecordCache:
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

    def remove_files(self, owners: Sequence[int] | None = None) -> None:
        """Remove what is saved of these owners, or of all, inside a transaction that deletes records of theirs.

        Their vectors stand there too.

        Raises:
            StoreUnavailableError: a file cannot be removed.
        """
        try:
            for name in ["owner-*"] if owners is None else [f"owner-{owner}.*" for owner in owners]:
                for file in self._folder.glob(name):
                    file.unlink(missing_ok=True)
        except OSError as error:
            raise StoreUnavailableError(f"cannot remove the vectors of deleted records: {error}") from error

    def close(self) -> None:
        with self._lock:
            caches = list(self._vectors.items())
            self._vectors.clear()
            self._records.clear()
        for owner, cache in caches:
            self._put_away(owner, cache)

    def _state(self, owner: int) -> tuple[int, int, int]:
        """Revision of the records, width of the vectors (0: none yet), and the owner's last vector."""
        ((revision, dim, upto),) = self._db.query(
            f"SELECT {REVISION}, e.dim, (SELECT max(seq) FROM vectors WHERE owner = ?) "
            "FROM revision o LEFT JOIN embedder e ON e.one = o.one",
            (owner, owner),
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
            # Nobody deletes meanwhile, so no deleted vector is saved again.
            self._db.write(partial(self._save, owner, cache))
        except (OSError, StoreError) as error:
            _log.warning("cannot save the vector index: %s; it will be made again from %s", error, self._db.path)
        except MemoryClosedError:
            return

    def _save(self, owner: int, cache: VectorCache, connection: sqlite3.Connection) -> None:
        if connection.execute(f"SELECT {REVISION}", (owner,)).fetchone() == (cache.revision,):
            cache.save(self._file(owner))

    def _file(self, owner: int) -> Path:
        return self._folder / f"owner-{owner}.npz"


_COLUMNS = "id, segment, ordinal, length, at, importance, uses, last_used, turn, kind, category, origin, session"
_WIDTH = 13
_LABELS = 4
"""The last columns are texts, which stand as numbers."""
_USES, _LAST_USED = 6, 7


class RecordCache:
    """The columns of one owner's records, by id; a copy of the file that is brought up to it at every use."""

    def __init__(self, database: Database, owner: int) -> None:
        self._db = database
        self._owner = owner
        self._lock = threading.Lock()
        self._revision = -1
        self._table: npt.NDArray[np.float64] = np.empty((0, _WIDTH))
        self._ids = self._keys = self._order = np.empty(0, dtype=np.int64)
        self._labels: dict[str | None, int] = {}
        self._used = 0

    def __len__(self) -> int:
        return len(self._ids)

    def around(self, ids: Ids, radius: int, where: Where, allowed: Ids | None) -> RecordColumns:
        with self._lock:
            table, every, keys, order = self._table, self._ids, self._keys, self._order
        if not len(every):
            ids = np.empty(0, dtype=np.int64)
        seeds = np.minimum(np.searchsorted(every, ids), max(len(every) - 1, 0))
        seeds = seeds[every[seeds] == ids]
        rows = []
        for step in range(-radius, radius + 1):
            wanted = _key(table[seeds, 1], table[seeds, 2] + step)
            first = np.searchsorted(keys, wanted)
            count = np.searchsorted(keys, wanted, side="right") - first  # several may share one
            rows.append(order[np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())])
        chosen = table[np.unique(np.concatenate(rows))]
        chosen = chosen[self._visible(chosen, where)]
        if allowed is not None:
            chosen = chosen[np.isin(chosen[:, 0].astype(np.int64), allowed)]
        return RecordColumns.of(np.nan_to_num(chosen[:, :8]))

    def visible(self, where: Where) -> Ids:
        """The ids that `Where` leaves, but for its metadata."""
        with self._lock:
            table, every = self._table, self._ids
        left: Ids = every[self._visible(table, where)]
        return left

    def _visible(self, rows: npt.NDArray[np.float64], where: Where) -> npt.NDArray[np.bool_]:
        at, turns, kinds, categories, origins, sessions = rows[:, 4], *rows[:, 8:].T
        visible = np.ones(len(rows), dtype=np.bool_)
        if hidden := joined(where.hidden):
            first, last = np.array(hidden, dtype=np.float64).T
            before = np.searchsorted(first, turns, side="right") - 1
            visible = (before < 0) | (turns > last[before])
        for name, instant in where.fresh.items():
            label = self._labels.get(name, -1)
            visible &= (at >= to_micros(instant)) | ((kinds != label) & (categories != label))
        if where.scope.session is not None:
            visible &= sessions == self._labels.get(where.scope.session, -1)
        for column, names in ((kinds, where.kinds), (categories, where.categories), (origins, where.origins)):
            if names:
                visible &= np.isin(column, [self._labels.get(name, -1) for name in names])
        if where.since is not None:
            visible &= at >= to_micros(where.since)
        if where.until is not None:
            visible &= at < to_micros(where.until)
        return visible

    def catch_up(self, revision: int) -> None:
        """Add the records that are new in the file; begin anew if some were deleted since the last revision."""
        with self._lock:
            if revision != self._revision:
                self._table, self._revision = np.empty((0, _WIDTH)), revision
                self._ids = self._keys = self._order = np.empty(0, dtype=np.int64)
                self._used = 0
            last = int(self._ids[-1]) if len(self) else 0
            rows = [
                (*row[:-_LABELS], *map(self._label, row[-_LABELS:]))
                for row in self._db.query(
                    f"SELECT {_COLUMNS} FROM records WHERE owner = ? AND id > ? ORDER BY id", (self._owner, last)
                )
            ]
            if rows:
                # Doubles hold microseconds since 1970 and positions exactly up to 2**53.
                self._table = np.concatenate([self._table, np.array(rows, dtype=np.float64)])
                self._ids = self._table[:, 0].astype(np.int64)
                unsorted = _key(self._table[:, 1], self._table[:, 2])
                self._order = np.argsort(unsorted, kind="stable")
                self._keys = unsorted[self._order]
            self._catch_up_uses()

    def _catch_up_uses(self) -> None:
        """Bring over what was used since the last time; of the same instant again, as it may have been used twice."""
        if not len(self):
            return
        rows = self._db.query(
            "SELECT id, uses, last_used FROM records WHERE owner = ? AND last_used >= ?", (self._owner, self._used)
        )
        changed = np.array(rows, dtype=np.float64).reshape(-1, 3)
        rows_changed = np.minimum(np.searchsorted(self._ids, changed[:, 0]), len(self) - 1)
        present = self._ids[rows_changed] == changed[:, 0]
        changed, rows_changed = changed[present], rows_changed[present]
        if len(changed) and (self._table[rows_changed, _USES] != changed[:, 1]).any():
            self._table = self._table.copy()  # who reads it now keeps the old one
            self._table[rows_changed[:, None], [_USES, _LAST_USED]] = changed[:, 1:]
        if len(changed):
            self._used = int(changed[:, 2].max())

    def _label(self, name: str | None) -> int:
        return self._labels.setdefault(name, len(self._labels))


def _key(segments: npt.NDArray[np.float64], ordinals: npt.NDArray[np.float64]) -> Ids:
    keys: Ids = (segments.astype(np.int64) << 24) + ordinals.astype(np.int64)
    return keys
