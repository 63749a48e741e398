"""Where an owner's records stand, as columns in memory: recall looks up hundreds of neighbours at a time."""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt

from hybrid_memory.ports import Ids, Places
from hybrid_memory.stores.sqlite.database import Database

_COLUMNS = "id, segment, ordinal, length, at, importance, uses, last_used"


class PlaceTable:
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
        self._table: npt.NDArray[np.float64] = np.empty((0, 8))
        self._ids = self._keys = self._order = np.empty(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._ids)

    def around(self, ids: Ids, radius: int, allowed: Ids | None) -> Places:
        """The places of these records and their neighbours in the segment, as far as they are allowed."""
        with self._lock:
            table, every, keys, order = self._table, self._ids, self._keys, self._order
        if not len(every):
            ids = np.empty(0, dtype=np.int64)
        seeds = np.minimum(np.searchsorted(every, ids), max(len(every) - 1, 0))
        seeds = seeds[every[seeds] == ids]
        rows = [seeds]
        for step in (*range(-radius, 0), *range(1, radius + 1)):
            wanted = _key(table[seeds, 1], table[seeds, 2] + step)
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            rows.append(order[at[keys[at] == wanted]])
        chosen = table[np.unique(np.concatenate(rows))]
        if allowed is not None:
            chosen = chosen[np.isin(chosen[:, 0].astype(np.int64), allowed)]
        whole = chosen[:, :4].astype(np.int64)
        return Places(
            ids=whole[:, 0],
            segments=whole[:, 1],
            ordinals=whole[:, 2],
            lengths=whole[:, 3],
            at=chosen[:, 4] / 1e6,
            importance=chosen[:, 5].astype(np.float32),
            uses=chosen[:, 6].astype(np.int64),
            last_used=np.nan_to_num(chosen[:, 7]) / 1e6,
        )

    def catch_up(self, revision: int) -> None:
        """Add the records that are new in the file; begin anew if some were deleted since the last revision."""
        with self._lock:
            if revision != self._revision:
                self._table, self._revision = np.empty((0, 8)), revision
                self._ids = self._keys = self._order = np.empty(0, dtype=np.int64)
            last = int(self._ids[-1]) if len(self) else 0
            rows = self._db.query(
                f"SELECT {_COLUMNS} FROM records WHERE owner = ? AND id > ? ORDER BY id", (self._owner, last)
            )
            if rows:
                # Doubles hold microseconds since 1970 and positions exactly up to 2**53.
                self._table = np.concatenate([self._table, np.array(rows, dtype=np.float64)])
                self._ids = self._table[:, 0].astype(np.int64)
                unsorted = _key(self._table[:, 1], self._table[:, 2])
                self._order = np.argsort(unsorted, kind="stable")
                self._keys = unsorted[self._order]


def _key(segments: npt.NDArray[np.float64], ordinals: npt.NDArray[np.float64]) -> Ids:
    """One number for a place, ordered by segment, then by ordinal."""
    keys: Ids = (segments.astype(np.int64) << 24) + ordinals.astype(np.int64)
    return keys
