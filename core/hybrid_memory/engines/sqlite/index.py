"""L2 in SQLite: records and vectors as rows, searched in memory; see `hybrid_memory.engines.columns`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.engines.columns import CACHE_BYTES, Changes, Columns, RowIndex
from hybrid_memory.engines.sqlite.database import Database, mark_unscrubbed
from hybrid_memory.engines.stored import RECORD_FIELDS, owner_scope, record_in, row_of, to_micros
from hybrid_memory.errors import EmbedderMismatchError
from hybrid_memory.index.port import UNUSED, Entry, IndexSize, Status, Use
from hybrid_memory.index.record import Record
from hybrid_memory.scope import Scope

_RECORDS = (
    f"SELECT o.tenant, o.user, o.agent, o.space, r.session, {', '.join(f'r.{name}' for name in RECORD_FIELDS)} "
    "FROM records r JOIN owners o ON o.id = r.owner"
)
_WRITTEN = ("owner", "session", "length", "terms", "written", "changed", *RECORD_FIELDS)
_INSERT = f"INSERT INTO records({', '.join(_WRITTEN)}) VALUES ({', '.join(f':{name}' for name in _WRITTEN)})"
_LISTED = "IN (SELECT value FROM json_each(?))"

_CHANGED = """
SELECT r.id, r.segment, r.ordinal, r.length, r.at, r.importance, r.uses, ifnull(r.last_used, 0), r.turn, r.kind,
    r.category, r.origin, r.session, r.metadata, CASE WHEN r.written > ?1 THEN r.terms END, v.vector
FROM records r LEFT JOIN vectors v ON v.record = r.id WHERE r.owner = ?2 AND r.changed > ?1
"""
_STATUS = """
SELECT ifnull(i.applied, 0), ifnull(i.anchor, ''), e.name, e.dim
FROM (SELECT 1) LEFT JOIN embedder e ON true LEFT JOIN indexed i ON i.owner = ?
"""
_STATUSES = """
SELECT o.tenant, o.user, o.agent, o.space, i.applied, i.anchor,
    (SELECT min(id) FROM records WHERE owner = i.owner AND pending)
FROM indexed i JOIN owners o ON o.id = i.owner
"""
_TAIL = "SELECT id FROM records WHERE owner = ? AND session = ? AND kind = 'turn' ORDER BY id DESC LIMIT 1"
_PENDING = "SELECT id FROM records WHERE owner = ? AND pending ORDER BY id LIMIT ?"
_SIZE = (
    "SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM vectors), "
    "(SELECT count(*) FROM records WHERE pending)"
)
_MOVED = """
UPDATE indexed SET applied = ?, anchor = ?, number = number + 1
WHERE owner = ? AND applied = ? AND anchor = ifnull(?, anchor) RETURNING number
"""
_NEXT = "UPDATE indexed SET number = number + 1 WHERE owner = ? RETURNING number"

MOST_GONE = 1_000
"""The most removed records of an owner that are noted one by one; beyond, whoever has a copy loads all again."""


class SqliteIndex(RowIndex):
    """The semantic index in a store file.

    Args:
        database: the file.
        cache_bytes: see `RowIndex`.
    """

    def __init__(self, database: Database, *, cache_bytes: int = CACHE_BYTES) -> None:
        super().__init__(cache_bytes)
        self._db = database

    def changes(self, owner: Scope, known: Columns) -> Changes:
        mine = self._db.owner_id(owner)
        state = self._db.query("SELECT number, epoch FROM indexed WHERE owner = ?", (mine,))
        if not state:
            return Changes()
        # Rows that somebody writes between these queries come again the next time.
        ((number, epoch),) = state
        since = known.number if known.epoch == epoch else -1
        gone = self._db.query("SELECT id FROM gone WHERE owner = ? AND number > ?", (mine, since)) if since >= 0 else []
        rows = self._db.query(_CHANGED, (since, mine)) if number > since else []
        return Changes(number, epoch, rows, [record for (record,) in gone])

    def status(
        self, owner: Scope | None = None, *, sessions: Sequence[str | None] = (), pending: int = 0, sums: bool = False
    ) -> Status:
        number = None if owner is None else self._db.owner_id(owner)
        ((applied, anchor, name, dim),) = self._db.query(_STATUS, (number,))
        tails = {session: self._db.query(_TAIL, (number, session or "")) for session in sessions}
        waiting = self._db.query(_PENDING, (number, pending)) if pending else []
        status = Status(
            applied=applied,
            anchor=anchor,
            embedder=None if name is None else (name, dim),
            tails={session: last[0][0] for session, last in tails.items() if last},
            pending=[record for (record,) in waiting],
            size=IndexSize(*self._db.query(_SIZE)[0]) if sums and owner is None else IndexSize(0, 0, 0),
        )
        return self.owner_columns(owner).summed(status) if sums and owner is not None else status

    def statuses(self, owners: Sequence[Scope]) -> dict[Scope, Status]:
        there = {
            owner_scope(*row): Status(applied, anchor, pending=[] if pending is None else [pending])
            for *row, applied, anchor, pending in self._db.query(_STATUSES)
        }
        return {owner: there.get(owner.owner, Status()) for owner in owners}

    def previous(self, owner: Scope, records: Sequence[Record]) -> dict[int, Record]:
        """See `SemanticIndex.previous`; without the columns, which a writer may never need."""
        rows = self._db.query(
            # In this order: SQLite would begin with all records of the owner.
            "SELECT r.id, p.id FROM json_each(?) asked CROSS JOIN records r CROSS JOIN records p "
            "WHERE r.id = asked.value AND r.owner = ? AND p.owner = r.owner AND p.segment = r.segment "
            "AND p.ordinal = r.ordinal - 1 AND p.kind = 'turn'",
            (json.dumps([record.id for record in records]), self._db.owner_id(owner)),
        )
        turns = {turn.id: turn for turn in self.get([before for _, before in rows])}
        return {number: turns[before] for number, before in rows if before in turns}

    def upsert(
        self,
        owner: Scope,
        entries: Sequence[Entry],
        *,
        after: int,
        upto: int,
        anchor: str = "",
        seen: str | None = None,
        gone: Collection[int] = (),
        uses: Mapping[int, Use] = UNUSED,
    ) -> bool:
        def moved_on(connection: sqlite3.Connection) -> bool:
            number = self._db.owner_id_for_writing(connection, owner)
            # Another epoch than in a backup that may be put in the place of this file.
            connection.execute("INSERT OR IGNORE INTO indexed(owner, epoch) VALUES (?, abs(random()) >> 8)", (number,))
            moved = connection.execute(_MOVED, (upto, anchor, number, after, seen)).fetchall()
            if not moved:
                return False
            ((changed,),) = moved
            chosen = f"SELECT id FROM records WHERE +owner = ? AND id {_LISTED}"
            mine = connection.execute(chosen, (number, json.dumps(list(gone)))).fetchall()
            _delete(connection, [*(record for (record,) in mine), *(entry.record.id for entry in entries)])
            connection.executemany(
                _INSERT,
                [
                    {**row_of(number, entry.record), "terms": entry.terms, "written": changed, "changed": changed}
                    for entry in entries
                ],
            )
            connection.executemany(
                "UPDATE records SET uses = uses + ?1, last_used = max(ifnull(last_used, ?2), ?2), changed = ?3 "
                "WHERE id = ?4 AND owner = ?5",
                [(use.count, to_micros(use.at), changed, record, number) for record, use in uses.items()],
            )
            return True

        return self._db.write(moved_on)

    def put_vectors(
        self, embedder: tuple[str, int], keys: Mapping[int, bytes], vectors: Mapping[bytes, Floats]
    ) -> None:
        def put(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR IGNORE INTO embedder(one, name, dim) VALUES (1, ?, ?)", embedder)
            stored = connection.execute("SELECT name, dim FROM embedder").fetchone()
            if stored != embedder:
                raise EmbedderMismatchError(stored, embedder)
            waiting = connection.execute(
                f"SELECT owner, id FROM records WHERE pending AND id {_LISTED}", (json.dumps(list(keys)),)
            ).fetchall()
            known = {key: np.ascontiguousarray(row, dtype=np.float32).tobytes() for key, row in vectors.items()}
            for key in {keys[record] for _, record in waiting} - known.keys():
                known |= connection.execute("SELECT key, vector FROM vectors WHERE key = ? LIMIT 1", (key,)).fetchall()
            given = [(owner, record) for owner, record in waiting if keys[record] in known]
            connection.executemany(
                "INSERT INTO vectors(record, key, vector) VALUES (?, ?, ?)",
                [(record, keys[record], known[keys[record]]) for _, record in given],
            )
            changed = {
                owner: connection.execute(_NEXT, (owner,)).fetchall()[0][0] for owner in {one for one, _ in given}
            }
            connection.executemany(
                "UPDATE records SET pending = 0, changed = ? WHERE id = ?",
                [(changed[owner], record) for owner, record in given],
            )

        self._db.write(put)

    def vectors(self, keys: Sequence[int | bytes], owner: Scope | None = None) -> dict[int | bytes, Floats]:
        if owner is not None:
            return self.vectors_of(owner, keys)
        hashes = [key for key in keys if isinstance(key, bytes)]
        listed = ", ".join("?" * len(hashes))
        rows = self._db.query(f"SELECT key, vector FROM vectors WHERE key IN ({listed}) GROUP BY key", hashes)
        return {key: np.frombuffer(vector, dtype=np.float32) for key, vector in rows}

    def get(self, ids: Sequence[int]) -> list[Record]:
        rows = self._db.query(f"{_RECORDS} WHERE r.id {_LISTED}", (json.dumps(list(ids)),))
        records = {record.id: record for record in map(record_in, rows)}
        return [records[number] for number in ids if number in records]

    def delete(self, ids: Sequence[int] | None) -> int:
        def deleted(connection: sqlite3.Connection) -> int:
            if ids is not None:
                return _delete(connection, ids)
            (count,) = connection.execute("SELECT count(*) FROM records").fetchone()
            for table in ("vectors", "gone", "records", "embedder"):
                connection.execute(f"DELETE FROM {table}")
            connection.execute("UPDATE indexed SET applied = 0, anchor = '', epoch = epoch + 1, number = number + 1")
            mark_unscrubbed(connection)
            return int(count)

        return self._db.write(deleted)

    def scrub(self) -> None:
        self._db.scrub()

    def close(self) -> None:
        super().close()
        self._db.close()


def _delete(connection: sqlite3.Connection, ids: Sequence[int]) -> int:
    """Delete records with their vectors, and note for the copies of their owners that they are gone."""
    listed = (json.dumps(list(ids)),)
    # Fetched at once: an interrupt would leave a statement open that the frame of a comprehension holds.
    removed = connection.execute(f"DELETE FROM records WHERE id {_LISTED} RETURNING owner, id", listed).fetchall()
    if not removed:
        return 0
    connection.execute(f"DELETE FROM vectors WHERE record {_LISTED}", listed)
    for owner in {owner for owner, _ in removed}:
        ((number,),) = connection.execute(_NEXT, (owner,)).fetchall()
        mine = [(owner, number, record) for whose, record in removed if whose == owner]
        connection.executemany("INSERT INTO gone VALUES (?, ?, ?)", mine)
        ((count,),) = connection.execute("SELECT count(*) FROM gone WHERE owner = ?", (owner,)).fetchall()
        if count > MOST_GONE:
            connection.execute("DELETE FROM gone WHERE owner = ?", (owner,))
            connection.execute("UPDATE indexed SET epoch = epoch + 1 WHERE owner = ?", (owner,))
    mark_unscrubbed(connection)
    return len(removed)
