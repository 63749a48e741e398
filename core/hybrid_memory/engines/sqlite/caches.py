"""In-memory caches of the owners' vectors and columns, within a memory limit, and of one owner's columns."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Ids
from hybrid_memory.engines.sqlite.database import Database
from hybrid_memory.engines.sqlite.quantized import QuantizedVectors
from hybrid_memory.engines.sqlite.rows import conditions
from hybrid_memory.engines.sqlite.vector_cache import VectorCache
from hybrid_memory.engines.sqlite.vector_files import State, VectorFiles
from hybrid_memory.engines.stored import to_micros
from hybrid_memory.index.port import RecordColumns
from hybrid_memory.index.record import Where
from hybrid_memory.log.views import joined

CACHE_BYTES = 512 << 20

LARGE = 20_000
"""The columns of an owner with more records are read on demand: 1 ms, where caching them takes 3 us per record."""

GROWN = 16
"""Vectors are quantized again when one in this many is new."""

RETRAINED = 4
"""Lists are learned again when the number of vectors has grown by this factor."""


Table = npt.NDArray[np.float64]

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
        """The ids that `Where` allows, ignoring its metadata."""
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
        unsorted = _key(table[:, 1], table[:, 2])
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


def _key(segments: npt.NDArray[np.float64], ordinals: npt.NDArray[np.float64]) -> Ids:
    keys: Ids = (segments.astype(np.int64) << 24) + ordinals.astype(np.int64)
    return keys


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

    lock: threading.RLock = field(default_factory=threading.RLock)
    records: RecordCache | None = None
    vectors: VectorCache | None = None
    large: bool | None = None
    nbytes: int = 0


class OwnerCaches:
    """The cached vectors and columns of the most recently used owners; a single one may exceed ``most_bytes``."""

    def __init__(self, database: Database, *, exact_limit: int, most_bytes: int = CACHE_BYTES) -> None:
        self._db = database
        self._exact_limit = exact_limit
        self._most_bytes = most_bytes
        self.files = VectorFiles(database)
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._nbytes = 0
        self._lock = threading.Lock()
        self._training = threading.Lock()
        database.clean_before_scrubbing(self.files.clean)

    def records(self, owner: int) -> RecordCache:
        """The columns of all of the owner's records."""
        state = self.files.state(owner)
        with self._lock:
            kept = self._used(owner)
            if kept.records is None:
                kept.records = RecordCache(self._db, owner)
            cache = kept.records
        try:
            cache.catch_up(state.revision, state.seen)
        except BaseException:
            kept.records = None  # which may be half of something
            raise
        self._weigh(owner, kept)
        return cache

    def columns(
        self, owner: int, ids: Ids, radius: int, where: Where, having: Callable[[], Ids | None]
    ) -> RecordColumns:
        """See `SemanticIndex.columns`; ``having`` finds the records with the metadata."""
        with self._lock:
            kept = self._used(owner)
        if kept.large is None:
            asked = "SELECT 1 FROM records WHERE owner = ? ORDER BY id LIMIT 1 OFFSET ?"
            kept.large = bool(self._db.query(asked, (owner, LARGE)))
        if kept.large:
            return stored_columns(self._db, owner, ids, radius, where)
        return self.records(owner).around(ids, radius, where, having())

    def vectors(self, owner: int) -> VectorCache | None:
        """The owner's vectors; None before the store has any."""
        state = self.files.state(owner)
        if not state.dim:
            return None
        with self._lock:
            kept = self._used(owner)
        with kept.lock:
            cache = kept.vectors
            if cache is None or (cache.dim, cache.token, cache.revision) != (state.dim, state.token, state.revision):
                cache = kept.vectors = self._cache(owner, state, self.files.opened(owner, state))
            most = 2 * self._exact_limit  # more new vectors than these are not kept unquantized in memory
            asked = "SELECT 1 FROM vectors WHERE owner = ? AND seq > ? ORDER BY seq LIMIT 1 OFFSET ?"
            if state.upto - cache.upto > most and self._db.query(asked, (owner, cache.upto, most)):
                cache = kept.vectors = self._cache(owner, state, self.files.gathered(owner, state))
            try:
                if cache.upto < state.upto or cache.seen < state.seen:
                    self.files.catch_up(owner, cache, state)
            except BaseException:
                kept.vectors = None  # which may be half of something
                raise
        self._weigh(owner, kept)
        return cache

    def train(self, owner: int) -> None:
        """Quantize the owner's vectors if there are many new ones, and save them next to the store file."""
        ((count,),) = self._db.query("SELECT count(*) FROM vectors WHERE owner = ?", (owner,))
        if count <= self._exact_limit:
            return
        with self._training:
            state = self.files.state(owner)
            with self._lock:
                kept = self._used(owner)
            with kept.lock:
                cache = kept.vectors
            same = cache is not None and (cache.token, cache.revision) == (state.token, state.revision)
            known = cache.quantized if cache is not None and same else None
            if known is None or not known.trained_at:
                known = self.files.opened(owner, state)
            if known is not None:
                left = len(known) - int(np.count_nonzero(known.gone))
                if count - left <= max(self._exact_limit, len(known)) // GROWN and 2 * left >= len(known):
                    return  # few are new, and most of the others are still there
            retrained = known is None or count > RETRAINED * known.trained_at
            made = self.files.made(owner, state, known, count, retrained=retrained)
            if made is not None:
                with kept.lock:
                    kept.vectors = self._cache(owner, state, made)

    def close(self) -> None:
        with self._lock:
            self._kept.clear()
            self._nbytes = 0

    def _used(self, owner: int) -> _Kept:
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

    def _cache(self, owner: int, state: State, quantized: QuantizedVectors | None) -> VectorCache:
        stored = partial(self.files.stored, owner, state.dim)
        cache = VectorCache(state.dim, stored, quantized=quantized, exact_limit=self._exact_limit)
        cache.revision = state.revision
        cache.token = state.token if quantized is None or quantized.nbytes else quantized.token.tobytes()
        return cache
