"""In-memory columns of the most recently used owners, within a memory limit."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hybrid_memory.engines.columns import CACHE_BYTES, LOADED_AGAIN, Changes, Columns, Row
from hybrid_memory.engines.sqlite.database import Database
from hybrid_memory.engines.sqlite.rows import REVISION

READ_AT_ONCE = 10_000
"""Rows read at once, so that there are never a million row objects in memory."""

_COLUMNS = (
    "r.id, r.segment, r.ordinal, r.length, r.at, r.importance, r.uses, ifnull(r.last_used, 0), r.turn, "
    "r.kind, r.category, r.origin, r.session"
)
_ROWS = (
    f"SELECT {_COLUMNS}, e.vector FROM records r LEFT JOIN vectors v ON v.record = r.id "
    "LEFT JOIN embeddings e ON e.id = v.embedding"
)
_HELD = "SELECT r.id, r.metadata FROM records r WHERE r.metadata <> '{}'"
_VECTORS = (
    f"SELECT {_COLUMNS}, r.metadata, NULL, e.vector, v.seq FROM vectors v JOIN embeddings e ON e.id = v.embedding "
    "JOIN records r ON r.id = v.record WHERE v.owner = ? AND v.seq > ? ORDER BY v.seq LIMIT ?"
)
_STATE = (
    f"SELECT {REVISION}, (SELECT ifnull(max(seq), 0) FROM vectors WHERE owner = ?), "
    "(SELECT ifnull(max(seq), 0) FROM changes WHERE owner = ?) FROM revision"
)


class OwnerCache:
    """The columns of one owner's records, without terms; a copy of the file, updated at every use."""

    def __init__(self, database: Database, owner: int) -> None:
        self._db = database
        self._owner = owner
        self._lock = threading.Lock()
        self._upto = 0
        self._used: tuple[int, frozenset[Row]] = 0, frozenset()
        self.columns = Columns()

    def catch_up(self) -> Columns:
        """Update the copy with changes, new records and vectors; reload all of it if the revision differs."""
        with self._lock:
            ((revision, upto, seen),) = self._db.query(_STATE, (self._owner,) * 3)
            columns, known_upto, (used, counted) = self.columns, self._upto, self._used
            gone = len(columns.alive) - columns.size[0]
            if columns.epoch != revision or gone > len(columns.alive) // LOADED_AGAIN + READ_AT_ONCE:
                columns, known_upto, used, counted = replace(Columns(), number=0, epoch=revision), upto, 0, frozenset()
            # Also those at the same instant, which may have been used twice. Before the rows, which may have more.
            uses = self._db.query(
                "SELECT id, uses, last_used FROM records WHERE owner = ? AND last_used >= ?", (self._owner, used)
            )
            is_empty, last = not len(columns.alive), columns.last
            if seen > columns.number:
                changes = "SELECT DISTINCT record FROM changes WHERE owner = ? AND seq > ?"
                changed = [record for (record,) in self._db.query(changes, (self._owner, columns.number))]
                again = self._rows([record for record in changed if record <= last], "")
                left = set(changed) - {row[0] for row in again}
                columns = columns.after(Changes(seen, revision, again, [*left]))
            if not is_empty and (more := set(uses) - counted):
                columns = columns.after(Changes(seen, revision, self._rows([record for record, *_ in more], None)))
            new = f"{_ROWS} WHERE r.owner = ? AND r.id > ? ORDER BY r.id LIMIT ?"
            while rows := self._db.query(new, (self._owner, last, READ_AT_ONCE)):
                last = rows[-1][0]
                held = self._db.query(
                    f"{_HELD} AND r.owner = ? AND r.id BETWEEN ? AND ?", (self._owner, rows[0][0], last)
                )
                columns = columns.after(Changes(seen, revision, _whole(rows, held, "")))
            while known_upto < upto and (rows := self._db.query(_VECTORS, (self._owner, known_upto, READ_AT_ONCE))):
                known_upto = rows[-1][-1]
                columns = columns.after(Changes(seen, revision, [row[:-1] for row in rows]))
            used = max((at for _, _, at in uses), default=used)
            self._used = used, frozenset(row for row in uses if row[2] == used)
            self._upto, self.columns = max(known_upto, upto), columns
            return columns

    def _rows(self, ids: Sequence[int], terms: str | None) -> list[Row]:
        chosen, asked = "r.id IN (SELECT value FROM json_each(?)) AND +r.owner = ?", (json.dumps([*ids]), self._owner)
        rows = self._db.query(f"{_ROWS} WHERE {chosen} ORDER BY r.id", asked)
        return _whole(rows, self._db.query(f"{_HELD} AND {chosen}", asked), terms)


def _whole(rows: Sequence[Row], held: Sequence[Row], terms: str | None) -> list[Row]:
    """The rows with their metadata, which is read apart: few records have any, and the index of columns has none."""
    metadata: dict[int, str] = dict(held)
    return [(*row[:-1], metadata.get(row[0], "{}"), terms, row[-1]) for row in rows]


@dataclass(slots=True, eq=False)
class _Kept:
    cache: OwnerCache
    nbytes: int = 0


class OwnerCaches:
    """The columns of the most recently used owners; a single one may exceed ``most_bytes``."""

    def __init__(self, database: Database, most_bytes: int = CACHE_BYTES) -> None:
        self._db = database
        self._most_bytes = most_bytes
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._nbytes = 0
        self._lock = threading.Lock()

    def columns(self, owner: int) -> Columns:
        """The owner's records, as they are now."""
        with self._lock:
            kept = self._kept.setdefault(owner, _Kept(OwnerCache(self._db, owner)))
            self._kept.move_to_end(owner)
        columns = kept.cache.catch_up()
        with self._lock:
            if self._kept.get(owner) is kept:
                self._nbytes += columns.nbytes - kept.nbytes
                kept.nbytes = columns.nbytes
            while self._nbytes > self._most_bytes and len(self._kept) > 1:
                _, oldest = self._kept.popitem(last=False)
                self._nbytes -= oldest.nbytes
        return columns

    def close(self) -> None:
        with self._lock:
            self._kept.clear()
            self._nbytes = 0
