"""In-memory caches of the owners' vectors and columns, within a memory limit, and of one owner's columns."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hybrid_memory.engines.columns import CACHE_BYTES, LOADED_AGAIN, Changes, Columns, Row
from hybrid_memory.engines.sqlite.database import Database
from hybrid_memory.engines.sqlite.rows import REVISION
from hybrid_memory.engines.sqlite.vector_cache import VectorCache

READ_AT_ONCE = 20_000
"""Rows read at once, so that there are never a million row objects in memory."""

_COLUMNS = (
    "id, segment, ordinal, length, at, importance, uses, ifnull(last_used, 0), turn, kind, category, origin, session"
)
_HELD = "SELECT id, metadata FROM records WHERE metadata <> '{}'"


class RecordCache:
    """The columns of one owner's records, without terms and vectors; a copy of the file, updated at every use."""

    def __init__(self, database: Database, owner: int) -> None:
        self._db = database
        self._owner = owner
        self._lock = threading.Lock()
        self._used: tuple[int, frozenset[Row]] = 0, frozenset()
        self.columns = Columns()

    def catch_up(self, revision: int, seen: int) -> Columns:
        """Update the copy with changes and new records; reload all of it if the revision differs.

        ``seen`` is the number of the last change.
        """
        with self._lock:
            columns, (used, counted) = self.columns, self._used
            gone = len(columns.alive) - columns.size[0]
            if columns.epoch != revision or gone > len(columns.alive) // LOADED_AGAIN + READ_AT_ONCE:
                columns, used, counted = replace(Columns(), number=0, epoch=revision), 0, frozenset()
            # Also those at the same instant, which may have been used twice. Before the rows, which may have more.
            uses = self._db.query(
                "SELECT id, uses, last_used FROM records WHERE owner = ? AND last_used >= ?", (self._owner, used)
            )
            known, last = columns, columns.last
            if seen > columns.number:
                changes = "SELECT DISTINCT record FROM changes WHERE owner = ? AND seq > ?"
                changed = [record for (record,) in self._db.query(changes, (self._owner, columns.number))]
                again = self._rows([record for record in changed if record <= last], "")
                left = set(changed) - {row[0] for row in again}
                columns = columns.after(Changes(seen, revision, again, [*left]))
            if known.alive.size and (more := set(uses) - counted):
                columns = columns.after(Changes(seen, revision, self._rows([record for record, *_ in more], None)))
            new = f"SELECT {_COLUMNS} FROM records WHERE owner = ? AND id > ? ORDER BY id LIMIT ?"
            while rows := self._db.query(new, (self._owner, last, READ_AT_ONCE)):
                last = rows[-1][0]
                held = self._db.query(f"{_HELD} AND owner = ? AND id BETWEEN ? AND ?", (self._owner, rows[0][0], last))
                columns = columns.after(Changes(seen, revision, _whole(rows, held, "")))
            used = max((at for _, _, at in uses), default=used)
            self._used = used, frozenset(row for row in uses if row[2] == used)
            self.columns = columns
            return columns

    def _rows(self, ids: Sequence[int], terms: str | None) -> list[Row]:
        chosen, asked = "id IN (SELECT value FROM json_each(?)) AND +owner = ?", (json.dumps(list(ids)), self._owner)
        rows = self._db.query(f"SELECT {_COLUMNS} FROM records WHERE {chosen} ORDER BY id", asked)
        return _whole(rows, self._db.query(f"{_HELD} AND {chosen}", asked), terms)


def _whole(rows: Sequence[Row], held: Sequence[Row], terms: str | None) -> list[Row]:
    """The rows with their metadata, which is read apart: few records have any, and the index of columns has none."""
    metadata: dict[int, str] = dict(held)
    return [(*row, metadata.get(row[0], "{}"), terms, None) for row in rows]


@dataclass(slots=True, eq=False)
class _Kept:
    """The caches of one owner."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    records: RecordCache | None = None
    vectors: VectorCache | None = None
    nbytes: int = 0


class OwnerCaches:
    """The cached vectors and columns of the most recently used owners; a single one may exceed ``most_bytes``."""

    def __init__(self, database: Database, most_bytes: int = CACHE_BYTES) -> None:
        self._db = database
        self._most_bytes = most_bytes
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._nbytes = 0
        self._lock = threading.Lock()

    def columns(self, owner: int) -> Columns:
        """The columns of all of the owner's records."""
        revision, _, _, seen = self._state(owner)
        kept = self._used(owner)
        with kept.lock:
            if kept.records is None:
                kept.records = RecordCache(self._db, owner)
            cache = kept.records
        columns = cache.catch_up(revision, seen)
        self._weigh(owner, kept)
        return columns

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
            nbytes = 0 if kept.records is None else kept.records.columns.nbytes
            nbytes += 0 if kept.vectors is None else kept.vectors.nbytes
            self._nbytes += nbytes - kept.nbytes
            kept.nbytes = nbytes
            while self._nbytes > self._most_bytes and len(self._kept) > 1:
                _, oldest = self._kept.popitem(last=False)
                self._nbytes -= oldest.nbytes
