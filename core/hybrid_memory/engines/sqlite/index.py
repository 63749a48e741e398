"""L2 in SQLite: records, BM25 by FTS5, and the durable copy of the vectors that FAISS searches."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.engines.instants import to_micros
from hybrid_memory.engines.sqlite.database import Database
from hybrid_memory.engines.sqlite.faiss import EXACT_LIMIT
from hybrid_memory.engines.sqlite.places import PlaceTable
from hybrid_memory.engines.sqlite.removing import delete_all, delete_records
from hybrid_memory.engines.sqlite.rows import INSERT, SELECT, json_holds, narrowing, to_record, to_row, visibility
from hybrid_memory.engines.sqlite.scrubbing import mark_unscrubbed
from hybrid_memory.engines.sqlite.shelves import Shelves
from hybrid_memory.errors import EmbedderMismatchError
from hybrid_memory.index.port import UNUSED, Entry, IndexSize, Matches, Places, Use
from hybrid_memory.index.record import Record, Where
from hybrid_memory.scope import Scope
from hybrid_memory.text.spelling import nearly, slips

RANKED_RECORDS = 1_000
"""Matches that a text search ranks, 1 ms of work: where there are more, the most frequent terms are left out."""

RANKED_TERMS = 12
"""And where terms are left out, at most so many remain: each is counted over the whole store, 50 us of work."""


class SqliteIndex:
    """The semantic index of a store file.

    Args:
        database: the file.
        exact_limit: vectors of one owner that are searched exactly; beyond, the FAISS index is approximate and kept in
            a folder beside the file.
    """

    def __init__(self, database: Database, *, exact_limit: int = EXACT_LIMIT) -> None:
        self._db = database
        database.add_function("json_holds", json_holds)
        self._shelves = Shelves(database, exact_limit=exact_limit)

    def applied(self, owner: Scope) -> int:
        """The log position up to which records were derived."""
        rows = self._db.query("SELECT applied FROM index_state WHERE owner = ?", (self._db.owner_id(owner),))
        return int(rows[0][0]) if rows else 0

    def tails(self, owner: Scope, sessions: Sequence[str | None]) -> dict[str | None, Record]:
        """The last turn of each session."""
        number = self._db.owner_id(owner)
        tails: dict[str | None, Record] = {}
        for session in sessions:
            rows = self._db.query(
                f"{SELECT} WHERE r.owner = ? AND r.session = ? AND r.kind = 'turn' ORDER BY r.id DESC LIMIT 1",
                (number, session or ""),
            )
            if rows:
                tails[session] = to_record(rows[0])
        return tails

    def upsert(
        self, owner: Scope, entries: Sequence[Entry], *, after: int, upto: int, uses: Mapping[int, Use] = UNUSED
    ) -> bool:
        """Store records and move the applied position; see `SemanticIndex.upsert`."""
        with self._db.write() as connection:
            number = self._db.owner_id_for_writing(connection, owner)
            connection.execute("INSERT OR IGNORE INTO index_state(owner, applied) VALUES (?, 0)", (number,))
            moved = connection.execute(
                "UPDATE index_state SET applied = ? WHERE owner = ? AND applied = ?", (upto, number, after)
            )
            if not moved.rowcount:
                return False
            self._remove(connection, [entry.record.id for entry in entries])
            # What is kept in memory of the records looks for higher ids only, unless the revision changes.
            connection.execute(
                "UPDATE revision SET number = number + 1 WHERE ? < (SELECT max(id) FROM records WHERE owner = ?)",
                (min((entry.record.id for entry in entries), default=0) or None, number),
            )
            connection.executemany(INSERT, [to_row(number, entry) for entry in entries])
            connection.executemany(
                "INSERT INTO terms(rowid, owner, words) VALUES (?, ?, ?)",
                [(entry.record.id, number, entry.terms) for entry in entries],
            )
            counts = Counter(term for entry in entries for term in set(entry.terms.split()))
            connection.executemany(
                "INSERT INTO term_counts(owner, term, records) VALUES (?, ?, ?) "
                "ON CONFLICT(owner, term) DO UPDATE SET records = records + excluded.records",
                [(number, term, count) for term, count in counts.items()],
            )
            connection.executemany(
                "INSERT INTO pending(record, owner) VALUES (?, ?)",
                [(entry.record.id, number) for entry in entries],
            )
            connection.executemany(
                "UPDATE records SET uses = uses + ?, last_used = max(coalesce(last_used, ?), ?) "
                "WHERE id = ? AND owner = ?",
                [(use.count, to_micros(use.at), to_micros(use.at), record, number) for record, use in uses.items()],
            )
            return True

    def pending(self, owner: Scope, limit: int) -> list[tuple[Record, Record | None]]:
        """Records that wait for their vector, each with its predecessor."""
        rows = self._db.query(
            "SELECT r.id, p.id FROM pending w JOIN records r ON r.id = w.record "
            "LEFT JOIN records p ON p.segment = r.segment AND p.ordinal = r.ordinal - 1 AND p.kind = 'turn' "
            "WHERE w.owner = ? ORDER BY w.record LIMIT ?",
            (self._db.owner_id(owner), limit),
        )
        if not rows:
            return []
        records = {record.id: record for record in self.get([number for row in rows for number in row if number])}
        return [(records[one], records.get(before)) for one, before in rows]

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """Vectors that are stored already, by content hash."""
        rows = self._db.query(f"SELECT key, vector FROM embeddings WHERE key IN ({', '.join('?' * len(keys))})", keys)
        return {key: np.frombuffer(vector, dtype=np.float32) for key, vector in rows}

    def embedder(self) -> tuple[str, int] | None:
        """Name and width of the embedder behind the vectors."""
        rows = self._db.query("SELECT name, dim FROM embedder")
        return (rows[0][0], rows[0][1]) if rows else None

    def put_vectors(
        self, embedder: tuple[str, int], keys: Mapping[int, bytes], vectors: Mapping[bytes, Floats]
    ) -> None:
        """Give records their vectors; see `SemanticIndex.put_vectors`."""
        with self._db.write() as connection:
            connection.execute("INSERT OR IGNORE INTO embedder(one, name, dim) VALUES (1, ?, ?)", embedder)
            there = connection.execute("SELECT name, dim FROM embedder").fetchone()
            if there != embedder:
                raise EmbedderMismatchError(there, embedder)
            asked = (json.dumps(list(keys)),)
            waiting = connection.execute(
                "SELECT record FROM pending WHERE record IN (SELECT value FROM json_each(?))", asked
            )
            wanted = {keys[record] for (record,) in waiting}  # none for a record that was deleted meanwhile
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

    def centroid(self, owner: Scope) -> tuple[Floats, int]:
        """The mean of the owner's vectors, and their number."""
        number = self._db.owner_id(owner)
        shelf = None if number is None else self._shelves.vectors(number)
        return (np.empty(0, dtype=np.float32), 0) if shelf is None or not len(shelf) else (shelf.centroid(), len(shelf))

    def settle(self, owner: Scope) -> None:
        """Train an approximate index for an owner with many new vectors, and save it beside the file."""
        number = self._db.owner_id(owner)
        if number is not None:
            self._shelves.settle(number)

    def nearest(self, vector: Floats, where: Where, k: int) -> Matches:
        """The k records with the highest inner product; see `SemanticIndex.nearest`."""
        number = self._db.owner_id(where.scope)
        shelf = None if number is None else self._shelves.vectors(number)
        if number is None or shelf is None:
            return Matches(ids=np.empty(0, dtype=np.int64), scores=np.empty(0, dtype=np.float32))
        return shelf.search(vector, k, self._allowed(number, where))

    def matching(self, terms: Sequence[str], where: Where, k: int) -> Matches:
        """The k records with the highest BM25; see `SemanticIndex.matching`."""
        number = self._db.owner_id(where.scope)
        rows: list[tuple[Any, ...]] = []
        if number is not None and (chosen := self._rarest(number, terms)):
            query = f"words : ({' OR '.join(chosen)})"
            if self._db.query("SELECT 1 FROM owners WHERE id <> ? LIMIT 1", (number,)):
                query = f"owner : {number} AND {query}"
            (narrow, values), (seen, more) = narrowing(where), visibility(where)
            narrow, values = narrow + seen, values + more
            # CROSS JOIN: were the records the outer loop, every row would be a search of its own.
            join = f"CROSS JOIN records r ON r.id = t.rowid AND {' AND '.join(narrow)}" if narrow else ""
            rows = self._db.query(
                f"SELECT t.rowid, bm25(terms, 0.0, 1.0) AS score FROM terms t {join} "
                "WHERE terms MATCH ? ORDER BY score, t.rowid LIMIT ?",
                [*values, query, k],
            )
        found = np.array(rows, dtype=np.float64).reshape(-1, 2)
        return Matches(ids=found[:, 0].astype(np.int64), scores=(-found[:, 1]).astype(np.float32))

    def latest(self, where: Where, k: int) -> Ids:
        """The k records that were said last; see `SemanticIndex.latest`."""
        (parts, values), (seen, more) = narrowing(where), visibility(where)
        conditions = " AND ".join(["r.owner = ?", *parts, *seen])
        rows = self._db.query(
            f"SELECT r.id FROM records r WHERE {conditions} ORDER BY r.at DESC, r.id DESC LIMIT ?",
            [self._db.owner_id(where.scope), *values, *more, k],
        )
        return np.array([row[0] for row in rows], dtype=np.int64)

    def spellings(self, term: str, owner: Scope, k: int) -> list[str]:
        """Terms of the owner's records that differ by a slip or two; see `SemanticIndex.spellings`."""
        number = self._db.owner_id(owner)
        if not slips(term) or self._db.query("SELECT 1 FROM term_counts WHERE owner = ? AND term = ?", (number, term)):
            return []
        rows = self._db.query(
            "SELECT term FROM term_counts WHERE owner = ? AND term >= ? AND term < ?",
            (number, term[0], chr(ord(term[0]) + 1)),
        )
        return nearly(term, [row[0] for row in rows], k)

    def similar(self, vector: Floats, owner: Scope, ids: Ids) -> Floats:
        """Inner product with each of these records; see `SemanticIndex.similar`."""
        number = self._db.owner_id(owner)
        shelf = None if number is None else self._shelves.vectors(number)
        return np.full(len(ids), np.nan, dtype=np.float32) if shelf is None else shelf.similar(vector, ids)

    def likeness(self, owner: Scope, ids: Ids) -> Floats:
        """Inner products among these records; see `SemanticIndex.likeness`."""
        number = self._db.owner_id(owner)
        shelf = None if number is None else self._shelves.vectors(number)
        return np.zeros((len(ids), len(ids)), dtype=np.float32) if shelf is None else shelf.likeness(ids)

    def places(self, ids: Ids, where: Where, radius: int) -> Places:
        """These records and their neighbours; see `SemanticIndex.places`."""
        number = self._db.owner_id(where.scope)
        if number is None:
            return PlaceTable(self._db, 0).around(ids, radius, where, None)
        return self._shelves.places(number).around(ids, radius, where, self._narrowed(number, where))

    def get(self, ids: Sequence[int]) -> list[Record]:
        """The records with these ids, in the order given."""
        rows = self._db.query(f"{SELECT} WHERE r.id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),))
        records = {row[0]: to_record(row) for row in rows}
        return [records[number] for number in ids if number in records]

    def delete(self, ids: Sequence[int]) -> int:
        """Remove records with their terms and vectors."""
        with self._db.write() as connection:
            gone = self._remove(connection, ids)
            if gone:
                mark_unscrubbed(connection)
            return gone

    def scrub(self) -> None:
        """Leave nothing of what was deleted in the file; see `SemanticIndex.scrub`."""
        self._db.scrub()

    def reset(self) -> None:
        """Drop everything derived."""
        with self._db.write() as connection:
            delete_all(connection)
            self._shelves.remove_files()

    def size(self) -> IndexSize:
        """Counts over all owners."""
        ((records, vectors, pending),) = self._db.query(
            "SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM vectors), (SELECT count(*) FROM pending)"
        )
        return IndexSize(records=records, vectors=vectors, pending=pending)

    def close(self) -> None:
        """Save the approximate indexes that have grown, and close the file."""
        self._shelves.close()
        self._db.close()

    def _remove(self, connection: sqlite3.Connection, ids: Sequence[int]) -> int:
        gone = delete_records(connection, ids)
        if gone:
            self._shelves.remove_files()
        return gone

    def _allowed(self, number: int, where: Where) -> Ids | None:
        """The ids that the search may return, or None for all of the owner's."""
        narrowed = self._narrowed(number, where)
        if not where.hidden and not where.fresh:
            return narrowed
        visible = self._shelves.places(number).visible(where)
        return visible if narrowed is None else np.intersect1d(visible, narrowed, assume_unique=True)

    def _narrowed(self, number: int, where: Where) -> Ids | None:
        """The same for all that a record's own columns decide in SQL."""
        parts, values = narrowing(where)
        if not parts:
            return None
        rows = self._db.query(
            f"SELECT r.id FROM records r WHERE r.owner = ? AND {' AND '.join(parts)}", [number, *values]
        )
        return np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))

    def _rarest(self, number: int, terms: Sequence[str]) -> list[str]:
        """The owner's terms among these, quoted, from the rarest on, while their records are few enough to rank."""
        counts = self._db.query(
            "SELECT term, records FROM term_counts WHERE owner = ? AND term IN (SELECT value FROM json_each(?)) "
            "ORDER BY records, term",
            (number, json.dumps(list(dict.fromkeys(terms)))),
        )
        chosen: list[str] = []
        total = 0
        for term, records in counts:
            total += records
            if chosen and total > RANKED_RECORDS:
                return chosen[:RANKED_TERMS]
            chosen.append(f'"{term}"')
        return chosen
