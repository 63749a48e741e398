"""L2 in SQLite: BM25 over postings, and records and vectors as rows that are searched in memory."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.engines.columns import CACHE_BYTES, Changes, Columns, Row, RowIndex
from hybrid_memory.engines.sqlite import postings
from hybrid_memory.engines.sqlite.database import Database
from hybrid_memory.engines.sqlite.rows import (
    INSERT,
    REVISION,
    SELECT,
    delete_all,
    delete_records,
    note_changes,
)
from hybrid_memory.engines.stored import owner_scope, record_in, row_of, to_micros
from hybrid_memory.errors import EmbedderMismatchError
from hybrid_memory.index.port import (
    UNUSED,
    Entry,
    IndexSize,
    Matches,
    Query,
    Status,
    Use,
    best,
)
from hybrid_memory.index.record import Record, Where
from hybrid_memory.scope import Scope

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
    f"SELECT {_COLUMNS}, r.metadata, NULL, e.vector FROM vectors v JOIN embeddings e ON e.id = v.embedding "
    "JOIN records r ON r.id = v.record WHERE v.owner = ? AND v.seq > ?"
)
_STATE = (
    f"SELECT {REVISION}, (SELECT ifnull(max(seq), 0) FROM vectors WHERE owner = ?), "
    "(SELECT ifnull(max(seq), 0) FROM changes WHERE owner = ?), "
    "(SELECT ifnull(max(id), 0) FROM records WHERE owner = ?) FROM revision"
)
_USED = "FROM records WHERE owner = ? AND last_used >= ?"


class SqliteIndex(RowIndex):
    """The semantic index in a store file.

    Args:
        database: the file.
        cache_bytes: memory for the vectors and columns of the most recently used owners.
    """

    def __init__(self, database: Database, *, cache_bytes: int = CACHE_BYTES) -> None:
        super().__init__(cache_bytes)
        self._db = database

    def changes(self, owner: Scope, known: Columns) -> Changes:
        number = self._db.owner_id(owner)
        if number is None:
            return Changes()
        ((revision, upto, seen, newest),) = self._db.query(_STATE, (number,) * 4)
        known = known if known.epoch == revision else Columns(number=0)
        vectors, uses = known.marks or (0, (0, 0, 0))
        last, rows, gone = known.last, list[Row](), set[int]()
        if seen > known.number:
            changed = self._db.query("SELECT record FROM changes WHERE owner = ? AND seq > ?", (number, known.number))
            gone = {record for (record,) in changed}
            rows += self._rows(number, [record for record in gone if record <= last], "")
            gone -= {row[0] for row in rows}
        at = uses[0]
        if (used := self._uses(number, at)) != uses:
            uses = self._uses(number, used[0])  # before these are read, so that no later use is missed
            again = self._db.query(f"SELECT id {_USED} AND id <= ?", (number, at, last))
            rows += self._rows(number, [record for (record,) in again], None)
        if newest > last:
            new = self._db.query(f"{_ROWS} WHERE r.owner = ? AND r.id > ? ORDER BY r.id", (number, last))
            rows += _whole(new, self._db.query(f"{_HELD} AND r.owner = ? AND r.id > ?", (number, last)), "")
        if last and upto > vectors:
            rows += self._db.query(_VECTORS, (number, vectors))
        return Changes(seen, revision, rows, [*gone], (upto, uses))

    def _uses(self, owner: int, since: int) -> tuple[int, int, int]:
        """The last use of the owner's records, and how many have been used since then, and how often."""
        ((at, count, total),) = self._db.query(
            f"SELECT ifnull(max(last_used), 0), count(*), total(uses) {_USED}", (owner, since)
        )
        return at, count, total

    def _rows(self, owner: int, ids: Sequence[int], terms: str | None) -> list[Row]:
        chosen, asked = "r.id IN (SELECT value FROM json_each(?)) AND +r.owner = ?", (json.dumps([*ids]), owner)
        rows = self._db.query(f"{_ROWS} WHERE {chosen}", asked) if ids else []
        return _whole(rows, self._db.query(f"{_HELD} AND {chosen}", asked) if ids else [], terms)

    def status(
        self, owner: Scope | None = None, *, sessions: Sequence[str | None] = (), pending: int = 0, sums: bool = False
    ) -> Status:
        number = None if owner is None else self._db.owner_id(owner)
        ((applied, anchor, name, dim),) = self._db.query(
            "SELECT i.applied, i.anchor, e.name, e.dim FROM revision LEFT JOIN embedder e ON e.one = revision.one "
            "LEFT JOIN index_state i ON i.owner = ?",
            (number,),
        )
        tails = {}
        for session in sessions:
            last = "SELECT id FROM records WHERE owner = ? AND session = ? AND kind = 'turn' ORDER BY id DESC LIMIT 1"
            for (tail,) in self._db.query(last, (number, session or "")):
                tails[session] = int(tail)
        counts = [(0, 0, 0)]
        if sums and owner is None:
            tables = ("records", "vectors", "pending")
            counts = self._db.query(f"SELECT {', '.join(f'(SELECT count(*) FROM {table})' for table in tables)}")
        pending_ids = "SELECT record FROM pending WHERE owner = ? ORDER BY record LIMIT ?"
        status = Status(
            applied=applied or 0,
            anchor=anchor or "",
            embedder=None if name is None else (name, dim),
            tails=tails,
            pending=[row[0] for row in self._db.query(pending_ids, (number, pending))] if pending else (),
            size=IndexSize(*counts[0]),
        )
        return self.owner_columns(owner).summed(status) if sums and owner is not None else status

    def statuses(self, owners: Sequence[Scope]) -> dict[Scope, Status]:
        rows = self._db.query(
            "SELECT o.tenant, o.user, o.agent, o.space, i.applied, i.anchor, "
            "(SELECT min(record) FROM pending WHERE owner = i.owner) FROM index_state i JOIN owners o ON o.id = i.owner"
        )
        there = {
            owner_scope(*row): Status(applied, anchor, pending=[] if pending is None else [pending])
            for *row, applied, anchor, pending in rows
        }
        return {owner: there.get(owner.owner, Status()) for owner in owners}

    def previous(self, owner: Scope, records: Sequence[Record]) -> dict[int, Record]:
        """The previous turns of these records in their segments; avoids the caches, which a writer may never need."""
        rows = self._db.query(
            "SELECT r.id, p.id FROM records r "
            "JOIN records p ON p.segment = r.segment AND p.ordinal = r.ordinal - 1 AND p.kind = 'turn' "
            "WHERE r.owner = ? AND r.id IN (SELECT value FROM json_each(?))",
            (self._db.owner_id(owner), json.dumps([record.id for record in records])),
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
            connection.execute("INSERT OR IGNORE INTO index_state(owner, applied) VALUES (?, 0)", (number,))
            moved = connection.execute(
                "UPDATE index_state SET applied = ?, anchor = ? "
                "WHERE owner = ? AND applied = ? AND anchor = ifnull(?, anchor)",
                (upto, anchor, number, after, seen),
            )
            if not moved.rowcount:
                return False
            mine = connection.execute(
                "SELECT id FROM records WHERE owner = ? AND id IN (SELECT value FROM json_each(?))",
                (number, json.dumps(list(gone))),
            ).fetchall()
            delete_records(connection, [*(record for (record,) in mine), *(entry.record.id for entry in entries)])
            last = connection.execute("SELECT max(id) FROM records WHERE owner = ?", (number,)).fetchone()[0] or 0
            connection.executemany(INSERT, [row_of(number, entry.record) for entry in entries])
            postings.add(connection, number, [(entry.record.id, entry.terms) for entry in entries])
            connection.executemany(
                "INSERT INTO pending(record, owner) VALUES (?, ?)", [(entry.record.id, number) for entry in entries]
            )
            # What is kept in memory of the records looks for higher ids only, and for changes.
            if changed := [entry.record.id for entry in entries if entry.record.id < last]:
                note_changes(connection, number, changed)
            connection.executemany(
                "UPDATE records SET uses = uses + ?, last_used = max(coalesce(last_used, ?), ?) "
                "WHERE id = ? AND owner = ?",
                [(use.count, to_micros(use.at), to_micros(use.at), record, number) for record, use in uses.items()],
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
            asked = (json.dumps(list(keys)),)
            pending_ids = connection.execute(
                "SELECT record FROM pending WHERE record IN (SELECT value FROM json_each(?))", asked
            ).fetchall()
            wanted = {keys[record] for (record,) in pending_ids}  # none for a record that was deleted meanwhile
            connection.executemany(
                "INSERT OR IGNORE INTO embeddings(key, vector) VALUES (?, ?)",
                [
                    (key, np.ascontiguousarray(vector, dtype=np.float32).tobytes())
                    for key, vector in vectors.items()
                    if key in wanted
                ],
            )
            connection.executemany(
                "INSERT OR IGNORE INTO vectors(owner, record, embedding) "
                "SELECT p.owner, p.record, e.id FROM pending p, embeddings e WHERE p.record = ? AND e.key = ?",
                keys.items(),
            )
            connection.executemany(
                "DELETE FROM pending WHERE record = ?1 AND EXISTS (SELECT 1 FROM vectors WHERE record = ?1)",
                [(record,) for record in keys],
            )

        self._db.write(put)

    def matches(self, mine: Columns, query: Query, where: Where, k: int) -> Matches:
        if query is None or isinstance(query, np.ndarray):
            return super().matches(mine, query, where, k)
        number = self._db.owner_id(where.scope)  # of words the postings know, not the columns
        if number is None or not query:
            return Matches.best({}, 0)
        ids, scores = postings.scored(self._db.query, number, query)
        if where != Where(where.scope.owner) and len(ids):
            allowed = np.isin(ids, mine.ids[mine.visible(where)])
            ids, scores = ids[allowed], scores[allowed]
        return best(ids, scores, k)

    def counts(self, mine: Columns, owner: Scope, words: Sequence[str], near: str = "") -> dict[str, int]:
        number = self._db.owner_id(owner)
        there = postings.counts(self._db.query, number, words) if number is not None and words else {}
        return there | (postings.near(self._db.query, number, near) if near else {})

    def vectors(self, keys: Sequence[int | bytes], owner: Scope | None = None) -> dict[int | bytes, Floats]:
        if owner is None:
            hashes = [key for key in keys if isinstance(key, bytes)]
            listed = ", ".join("?" * len(hashes))
            rows = self._db.query(f"SELECT key, vector FROM embeddings WHERE key IN ({listed})", hashes)
            return {key: np.frombuffer(vector, dtype=np.float32) for key, vector in rows}
        return self.vectors_of(owner, keys)

    def terms(self, owner: Scope, words: Sequence[str] = (), *, near: str = "") -> dict[str, int]:
        return self.counts(Columns(), owner, words, near)

    def get(self, ids: Sequence[int]) -> list[Record]:
        rows = self._db.query(f"{SELECT} WHERE r.id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),))
        records = {record.id: record for record in map(record_in, rows)}
        return [records[number] for number in ids if number in records]

    def delete(self, ids: Sequence[int] | None) -> int:
        def deleted(connection: sqlite3.Connection) -> int:
            return delete_all(connection) if ids is None else delete_records(connection, ids)

        return self._db.write(deleted)

    def scrub(self) -> None:
        self._db.scrub()

    def close(self) -> None:
        super().close()
        self._db.close()


def _whole(rows: Sequence[Row], held: Sequence[Row], terms: str | None) -> list[Row]:
    """The rows with their metadata, which is read apart: few records have any, and the index of columns has none."""
    metadata: dict[int, str] = dict(held)
    return [(*row[:-1], metadata.get(row[0], "{}"), terms, row[-1]) for row in rows]
