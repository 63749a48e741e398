"""The columns of an owner's records in memory: recall looks up hundreds of neighbours at a time."""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Ids
from hybrid_memory.engines.instants import to_micros
from hybrid_memory.engines.sqlite.database import Database
from hybrid_memory.engines.sqlite.rows import joined
from hybrid_memory.index.port import RecordColumns
from hybrid_memory.index.record import Where

_COLUMNS = "id, segment, ordinal, length, at, importance, uses, last_used, turn, kind, category"
_WIDTH = 11
_USES, _LAST_USED = 6, 7


class RecordCache:
    """The columns of one owner's records, by id; a copy of the file that is brought up to it at every use.

    Args:
        database: the file.
        owner: the owner's number in it.
    """

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
        """These records and their neighbours in the segment, as far as visible and allowed."""
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
        """The ids that `Where.hidden` and `Where.fresh` leave."""
        with self._lock:
            table, every = self._table, self._ids
        left: Ids = every[self._visible(table, where)]
        return left

    def _visible(self, rows: npt.NDArray[np.float64], where: Where) -> npt.NDArray[np.bool_]:
        at, turns, kinds, categories = rows[:, 4], rows[:, 8], rows[:, 9], rows[:, 10]
        visible = np.ones(len(rows), dtype=np.bool_)
        if hidden := joined(where.hidden):
            first, last = np.array(hidden, dtype=np.float64).T
            before = np.searchsorted(first, turns, side="right") - 1
            visible = (before < 0) | (turns > last[before])
        for name, instant in where.fresh.items():
            label = self._labels.get(name, -1)
            visible &= (at >= to_micros(instant)) | ((kinds != label) & (categories != label))
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
                (*row[:-2], self._label(row[-2]), self._label(row[-1]))
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
        places = np.minimum(np.searchsorted(self._ids, changed[:, 0]), len(self) - 1)
        there = self._ids[places] == changed[:, 0]
        changed, places = changed[there], places[there]
        if len(changed) and (self._table[places, _USES] != changed[:, 1]).any():
            self._table = self._table.copy()  # who reads it now keeps the old one
            self._table[places[:, None], [_USES, _LAST_USED]] = changed[:, 1:]
        if len(changed):
            self._used = int(changed[:, 2].max())

    def _label(self, name: str | None) -> int:
        """A number for a kind or category."""
        return self._labels.setdefault(name, len(self._labels))


def _key(segments: npt.NDArray[np.float64], ordinals: npt.NDArray[np.float64]) -> Ids:
    """One number for a segment and ordinal, in their order."""
    keys: Ids = (segments.astype(np.int64) << 24) + ordinals.astype(np.int64)
    return keys
