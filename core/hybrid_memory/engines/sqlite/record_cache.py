"""In-memory columns of an owner's records that follow the file, and reads of them for rankings."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Ids
from hybrid_memory.engines.instants import to_micros
from hybrid_memory.engines.sqlite.database import Database
from hybrid_memory.engines.sqlite.rows import conditions
from hybrid_memory.index.port import RecordColumns
from hybrid_memory.index.record import Where
from hybrid_memory.log.visible import joined

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
            table = self._table
            if seen > self._seen:
                table = self._changed(table)
                self._seen = seen
            new = list(self._new(int(self._ids[-1]) if len(self) else 0))
            if new or table is not self._table:
                self._put(np.concatenate([table, *new]))
            self._catch_up_uses()

    def _changed(self, table: Table) -> Table:
        """The columns without deleted rows, and with rows inserted in between."""
        changes = "SELECT record FROM changes WHERE owner = ? AND seq > ?"
        rows = self._db.query(changes, (self._owner, self._seen))
        changed = np.unique(np.array(rows, dtype=np.int64))
        last = table[-1, 0] if len(table) else 0
        listed = json.dumps(changed[changed <= last].tolist())
        again = self._read("id IN (SELECT value FROM json_each(?)) AND +owner = ?", (listed, self._owner))
        left = np.concatenate([table[~np.isin(self._ids, changed)], again])
        return left[np.argsort(left[:, 0], kind="stable")]

    def _new(self, last: int) -> Iterator[Table]:
        while len(rows := self._read("owner = ? AND id > ? ORDER BY id LIMIT ?", (self._owner, last, READ_AT_ONCE))):
            yield rows
            last = int(rows[-1, 0])

    def _read(self, condition: str, values: tuple[object, ...]) -> Table:
        rows = self._db.query(f"SELECT {_COLUMNS} FROM records WHERE {condition}", values)
        # Doubles hold microseconds since 1970 and positions exactly up to 2**53.
        table = [(*row[:-_LABELS], *map(self._label, row[-_LABELS:])) for row in rows]
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

    def _label(self, name: str | None) -> int:
        return self._labels.setdefault(name, len(self._labels))


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
