"""In-memory caches of the owners' vectors and columns, within a memory limit, and of one owner's columns."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hybrid_memory.arrays import Ids
from hybrid_memory.engines.columns import CACHE_BYTES, Table, neighbours, permitted, places
from hybrid_memory.engines.sqlite.database import Database
from hybrid_memory.engines.sqlite.rows import REVISION, conditions
from hybrid_memory.engines.sqlite.vector_cache import VectorCache
from hybrid_memory.index.port import RecordColumns
from hybrid_memory.index.record import Where

LARGE = 20_000
"""The columns of an owner with more records are read on demand: 1 ms, where caching them takes 3 us per record."""

READ_AT_ONCE = 20_000
"""Rows read at once, so that there are never a million row objects in memory."""

_COLUMNS = "id, segment, ordinal, length, at, importance, uses, last_used, turn, kind, category, origin, session"
_WIDTH = 13
_LABELS = 4
"""The last columns are texts, stored as numbers."""
_USES, _LAST_USED = 6, 7


class RecordCache:
    """The columns of one owner's records, by id; a copy of the file, updated at every use."""

    def __init__(self, database: Database, owner: int) -> None:
        self._db = database
        self._owner = owner
        self._lock = threading.Lock()
        self._revision = -1
        self._seen = 0
        self._table: Table = np.empty((0, _WIDTH))
        self._ids = self._keys = self._order = np.empty(0, dtype=np.int64)
        self._labels: dict[str | None, int] = {}
        self._used = 0

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use."""
        return self._table.nbytes + self._ids.nbytes + self._keys.nbytes + self._order.nbytes

    def around(self, ids: Ids, radius: int, where: Where, allowed: Ids | None) -> RecordColumns:
        with self._lock:
            table, every, keys, order = self._table, self._ids, self._keys, self._order
        if not len(every):
            ids = np.empty(0, dtype=np.int64)
        seeds = np.minimum(np.searchsorted(every, ids), max(len(every) - 1, 0))
        seeds = seeds[every[seeds] == ids]
        chosen = table[neighbours(table, seeds, (keys, order), radius)]
        chosen = chosen[permitted(chosen, where, self._labels)]
        if allowed is not None:
            chosen = chosen[np.isin(chosen[:, 0].astype(np.int64), allowed)]
        return RecordColumns.of(np.nan_to_num(chosen[:, :8]))

    def visible(self, where: Where) -> Ids:
        """The ids that `Where` allows, ignoring its metadata."""
        with self._lock:
            table, every = self._table, self._ids
        left: Ids = every[permitted(table, where, self._labels)]
        return left

    def catch_up(self, revision: int, seen: int) -> None:
        """Update the copy with changes and new records; reload all of it if the revision differs."""
        with self._lock:
            if revision != self._revision:
                self._put(np.empty((0, _WIDTH)))
                self._revision, self._seen, self._used = revision, seen, 0
            parts = [self._table]
            last = int(self._ids[-1]) if len(self) else 0
            if seen > self._seen:
                changes = "SELECT record FROM changes WHERE owner = ? AND seq > ?"
                changed = np.unique(np.array(self._db.query(changes, (self._owner, self._seen)), dtype=np.int64))
                listed = json.dumps(changed[changed <= last].tolist())
                again = self._read("id IN (SELECT value FROM json_each(?)) AND +owner = ?", (listed, self._owner))
                left = np.concatenate([self._table[~np.isin(self._ids, changed)], again])
                parts = [left[np.argsort(left[:, 0], kind="stable")]]
                self._seen = seen
            new = "owner = ? AND id > ? ORDER BY id LIMIT ?"
            while len(rows := self._read(new, (self._owner, last, READ_AT_ONCE))):
                parts.append(rows)
                last = int(rows[-1, 0])
            if len(parts) > 1 or parts[0] is not self._table:
                self._put(np.concatenate(parts))
            self._catch_up_uses()

    def _read(self, condition: str, values: tuple[object, ...]) -> Table:
        rows = self._db.query(f"SELECT {_COLUMNS} FROM records WHERE {condition}", values)
        names = self._labels
        # Doubles hold microseconds since 1970 and positions exactly up to 2**53.
        table = [(*row[:-_LABELS], *(names.setdefault(name, len(names)) for name in row[-_LABELS:])) for row in rows]
        return np.array(table, dtype=np.float64).reshape(-1, _WIDTH)

    def _put(self, table: Table) -> None:
        self._table = table
        self._ids = table[:, 0].astype(np.int64)
        unsorted = places(table[:, 1], table[:, 2])
        self._order = np.argsort(unsorted, kind="stable")
        self._keys = unsorted[self._order]

    def _catch_up_uses(self) -> None:
        """Update uses since the last time, including those at the same instant, which may have changed twice."""
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


def stored_columns(database: Database, owner: int, ids: Ids, radius: int, where: Where) -> RecordColumns:
    """The result of `RecordCache.around`, read from the file."""
    parts, values = conditions(where)
    rows = database.query(
        "SELECT DISTINCT r.id, r.segment, r.ordinal, r.length, r.at, r.importance, r.uses, ifnull(r.last_used, 0) "
        "FROM json_each(?) j CROSS JOIN records s ON s.id = j.value AND s.owner = ? "
        "CROSS JOIN records r ON r.segment = s.segment AND r.ordinal BETWEEN s.ordinal - ? AND s.ordinal + ? "
        f"WHERE {' AND '.join(['+r.owner = ?', *parts])}",
        [json.dumps(ids.tolist()), owner, radius, radius, owner, *values],
    )
    return RecordColumns.of(rows)


@dataclass(slots=True, eq=False)
class _Kept:
    """The caches of one owner."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    records: RecordCache | None = None
    vectors: VectorCache | None = None
    large: bool | None = None
    nbytes: int = 0


class OwnerCaches:
    """The cached vectors and columns of the most recently used owners; a single one may exceed ``most_bytes``."""

    def __init__(self, database: Database, most_bytes: int = CACHE_BYTES) -> None:
        self._db = database
        self._most_bytes = most_bytes
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._nbytes = 0
        self._lock = threading.Lock()

    def records(self, owner: int) -> RecordCache:
        """The columns of all of the owner's records."""
        revision, _, _, seen = self._state(owner)
        kept = self._used(owner)
        with kept.lock:
            if kept.records is None:
                kept.records = RecordCache(self._db, owner)
            cache = kept.records
        try:
            cache.catch_up(revision, seen)
        except BaseException:
            kept.records = None  # which may be half of something
            raise
        self._weigh(owner, kept)
        return cache

    def vectors(self, owner: int) -> VectorCache | None:
        """The owner's vectors; None before the store has any."""
        revision, dim, upto, seen = self._state(owner)
        if not dim:
            return None
        kept = self._used(owner)
        with kept.lock:
            if kept.vectors is None or kept.vectors.dim != dim:
                kept.vectors = VectorCache(self._db, owner, dim)
            cache = kept.vectors
        try:
            cache.catch_up(revision, upto, seen)
        except BaseException:
            kept.vectors = None  # which may be half of something
            raise
        self._weigh(owner, kept)
        return cache

    def _state(self, owner: int) -> tuple[int, int, int, int]:
        """The revision, the width of vectors, and the numbers of the owner's last vector and last change."""
        (state,) = self._db.query(
            f"SELECT {REVISION}, ifnull(e.dim, 0), (SELECT ifnull(max(seq), 0) FROM vectors WHERE owner = ?), "
            "(SELECT ifnull(max(seq), 0) FROM changes WHERE owner = ?) "
            "FROM revision o LEFT JOIN embedder e ON e.one = o.one",
            (owner,) * 3,
        )
        return state

    def columns(
        self, owner: int, ids: Ids, radius: int, where: Where, having: Callable[[], Ids | None]
    ) -> RecordColumns:
        """See `SemanticIndex.columns`; ``having`` finds the records with the metadata."""
        kept = self._used(owner)
        if kept.large is None:
            asked = "SELECT 1 FROM records WHERE owner = ? ORDER BY id LIMIT 1 OFFSET ?"
            kept.large = bool(self._db.query(asked, (owner, LARGE)))
        if kept.large:
            return stored_columns(self._db, owner, ids, radius, where)
        return self.records(owner).around(ids, radius, where, having())

    def close(self) -> None:
        with self._lock:
            self._kept.clear()
            self._nbytes = 0

    def _used(self, owner: int) -> _Kept:
        with self._lock:
            kept = self._kept.setdefault(owner, _Kept())
            self._kept.move_to_end(owner)
            return kept

    def _weigh(self, owner: int, kept: _Kept) -> None:
        with self._lock:
            if self._kept.get(owner) is not kept:
                return
            nbytes = sum(one.nbytes for one in (kept.records, kept.vectors) if one is not None)
            self._nbytes += nbytes - kept.nbytes
            kept.nbytes = nbytes
            while self._nbytes > self._most_bytes and len(self._kept) > 1:
                _, oldest = self._kept.popitem(last=False)
                self._nbytes -= oldest.nbytes
