"""L2 in SQLite: records, BM25 by FTS5, and the durable copy of the vectors that FAISS searches."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_memory.errors import EmbedderMismatchError
from hybrid_memory.ports import Entry, Floats, Ids, IndexSize, Matches, Places
from hybrid_memory.stores.faiss import EXACT_LIMIT, VectorShelf
from hybrid_memory.stores.sqlite.database import Database
from hybrid_memory.stores.sqlite.rows import INSERT, SELECT, conditions, narrowing, to_record, to_row
from hybrid_memory.types import Record, Scope, Where

SHELVED_VECTORS = 1_000_000
"""Vectors kept in memory over all owners (1.5 GB at 384 dimensions); the owners used longest ago are put away."""


class SqliteIndex:
    """The semantic index of a store file.

    Args:
        database: the file.
        exact_limit: vectors of one owner that are searched exactly; beyond, the FAISS index is approximate and kept in
            a folder beside the file.
    """

    def __init__(self, database: Database, *, exact_limit: int = EXACT_LIMIT) -> None:
        self._db = database
        self._exact_limit = exact_limit
        self._folder = Path(f"{database.path}.faiss")
        self._shelves: OrderedDict[int, VectorShelf] = OrderedDict()
        self._lock = threading.Lock()

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

    def upsert(self, owner: Scope, entries: Sequence[Entry], *, after: int, upto: int) -> bool:
        """Store records and move the applied position; see `SemanticIndex.upsert`."""
        with self._db.write() as connection:
            number = self._db.owner_id_for_writing(connection, owner)
            connection.execute("INSERT OR IGNORE INTO index_state(owner, applied) VALUES (?, 0)", (number,))
            moved = connection.execute(
                "UPDATE index_state SET applied = ? WHERE owner = ? AND applied = ?", (upto, number, after)
            )
            if not moved.rowcount:
                return False
            connection.executemany(INSERT, [to_row(number, entry) for entry in entries])
            connection.executemany(
                "INSERT INTO terms(rowid, words) VALUES (?, ?)",
                [(entry.record.id, entry.terms) for entry in entries],
            )
            connection.executemany(
                "INSERT INTO pending(record, owner) VALUES (?, ?)",
                [(entry.record.id, number) for entry in entries],
            )
            return True

    def pending(self, owner: Scope, limit: int) -> list[tuple[Record, Record | None]]:
        """Records that wait for their vector, each with its predecessor."""
        rows = self._db.query(
            "SELECT r.id, p.id FROM pending w JOIN records r ON r.id = w.record "
            "LEFT JOIN records p ON p.segment = r.segment AND p.ordinal = r.ordinal - 1 "
            "WHERE w.owner = ? ORDER BY w.record LIMIT ?",
            (self._db.owner_id(owner), limit),
        )
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
                raise EmbedderMismatchError(mismatch(there, embedder))
            connection.executemany(
                "INSERT OR IGNORE INTO embeddings(key, vector) VALUES (?, ?)",
                [(key, np.ascontiguousarray(vector, dtype=np.float32).tobytes()) for key, vector in vectors.items()],
            )
            connection.executemany(
                "INSERT OR IGNORE INTO vectors(owner, record, embedding) "
                "SELECT p.owner, p.record, e.id FROM pending p, embeddings e WHERE p.record = ? AND e.key = ?",
                keys.items(),
            )
            connection.executemany("DELETE FROM pending WHERE record = ?", [(record,) for record in keys])

    def nearest(self, vector: Floats, where: Where, k: int) -> Matches:
        """The k records with the highest cosine; see `SemanticIndex.nearest`."""
        number = self._db.owner_id(where.scope)
        shelf = None if number is None else self._shelf(number)
        if number is None or shelf is None:
            return Matches(ids=np.empty(0, dtype=np.int64), scores=np.empty(0, dtype=np.float32))
        allowed = None
        if narrowing(where)[0]:
            condition, values = conditions(number, where)
            rows = self._db.query(f"SELECT r.id FROM records r WHERE {condition}", values)
            allowed = np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))
        return shelf.search(vector, k, allowed)

    def matching(self, terms: Sequence[str], where: Where, k: int) -> Matches:
        """The k records with the highest BM25; see `SemanticIndex.matching`."""
        number = self._db.owner_id(where.scope)
        rows: list[tuple[Any, ...]] = []
        if number is not None and terms:
            condition, values = conditions(number, where)
            query = " OR ".join(f'"{term}"' for term in dict.fromkeys(terms))
            rows = self._db.query(
                "SELECT t.rowid, t.rank FROM terms t JOIN records r ON r.id = t.rowid "
                f"WHERE terms MATCH ? AND {condition} ORDER BY t.rank, t.rowid LIMIT ?",
                [query, *values, k],
            )
        found = np.array(rows, dtype=np.float64).reshape(-1, 2)
        return Matches(ids=found[:, 0].astype(np.int64), scores=(-found[:, 1]).astype(np.float32))

    def similar(self, vector: Floats, owner: Scope, ids: Ids) -> Floats:
        """Cosine to each of these records; see `SemanticIndex.similar`."""
        number = self._db.owner_id(owner)
        shelf = None if number is None else self._shelf(number)
        return np.full(len(ids), np.nan, dtype=np.float32) if shelf is None else shelf.similar(vector, ids)

    def places(self, ids: Ids, where: Where, radius: int) -> Places:
        """These records and their neighbours; see `SemanticIndex.places`."""
        number = self._db.owner_id(where.scope)
        condition, values = conditions(-1 if number is None else number, where)
        rows = self._db.query(
            "SELECT DISTINCT r.id, r.segment, r.ordinal, r.at, r.importance, r.uses, r.last_used "
            "FROM json_each(?) j CROSS JOIN records s ON s.id = j.value CROSS JOIN records r "
            "ON r.segment = s.segment AND r.ordinal BETWEEN s.ordinal - ? AND s.ordinal + ? "
            f"WHERE {condition} ORDER BY r.id",
            [json.dumps(ids.tolist()), radius, radius, *values],
        )
        table = np.array(rows, dtype=np.float64).reshape(-1, 7)  # microseconds since 1970 fit into 53 bits
        whole = table[:, :3].astype(np.int64)
        return Places(
            ids=whole[:, 0],
            segments=whole[:, 1],
            ordinals=whole[:, 2],
            at=table[:, 3] / 1e6,
            importance=table[:, 4].astype(np.float32),
            uses=table[:, 5].astype(np.int64),
            last_used=np.nan_to_num(table[:, 6]) / 1e6,
        )

    def get(self, ids: Sequence[int]) -> list[Record]:
        """The records with these ids, in the order given."""
        rows = self._db.query(f"{SELECT} WHERE r.id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),))
        records = {row[0]: to_record(row) for row in rows}
        return [records[number] for number in ids if number in records]

    def delete(self, ids: Sequence[int]) -> int:
        """Remove records with their terms and vectors."""
        listed = (json.dumps(list(ids)),)
        chosen = "IN (SELECT value FROM json_each(?))"
        with self._db.write() as connection:
            rows = connection.execute(
                f"SELECT DISTINCT embedding FROM vectors WHERE record {chosen}", listed
            ).fetchall()
            for table, column in (("vectors", "record"), ("pending", "record"), ("terms", "rowid")):
                connection.execute(f"DELETE FROM {table} WHERE {column} {chosen}", listed)
            connection.executemany(
                "DELETE FROM embeddings WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM vectors WHERE embedding = ?1)",
                rows,
            )
            gone = connection.execute(f"DELETE FROM records WHERE id {chosen}", listed).rowcount
            connection.execute("UPDATE revision SET number = number + 1")
            return gone

    def reset(self) -> None:
        """Drop everything derived."""
        with self._db.write() as connection:
            for table in ("vectors", "pending", "embeddings", "records", "terms", "index_state", "embedder"):
                connection.execute(f"DELETE FROM {table}")
            connection.execute("UPDATE revision SET number = number + 1")

    def size(self) -> IndexSize:
        """Counts over all owners."""
        ((records, vectors, pending),) = self._db.query(
            "SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM vectors), (SELECT count(*) FROM pending)"
        )
        return IndexSize(records=records, vectors=vectors, pending=pending)

    def close(self) -> None:
        """Save the approximate indexes that have grown, and close the file."""
        with self._lock:
            for number, shelf in self._shelves.items():
                self._put_away(number, shelf)
            self._shelves.clear()
        self._db.close()

    def _shelf(self, number: int) -> VectorShelf | None:
        """The owner's vectors, brought up to the durable copy; None before the first vector."""
        embedder = self.embedder()
        if embedder is None:
            return None
        with self._lock:
            shelf = self._shelves.get(number)
            if shelf is None or shelf.dim != embedder[1]:
                shelf = VectorShelf.load(self._file(number), embedder[1], exact_limit=self._exact_limit)
                shelf = shelf or VectorShelf(embedder[1], exact_limit=self._exact_limit)
                self._shelves[number] = shelf
            self._shelves.move_to_end(number)
            while len(self._shelves) > 1 and sum(map(len, self._shelves.values())) > SHELVED_VECTORS:
                self._put_away(*self._shelves.popitem(last=False))
        with shelf.lock:
            self._catch_up(number, shelf)
        return shelf

    def _catch_up(self, number: int, shelf: VectorShelf) -> None:
        ((revision,),) = self._db.query("SELECT number FROM revision")
        if shelf.revision != revision:
            shelf.clear(revision)
        rows = self._db.query(
            "SELECT v.seq, v.record, e.vector FROM vectors v JOIN embeddings e ON e.id = v.embedding "
            "WHERE v.owner = ? AND v.seq > ? ORDER BY v.seq",
            (number, shelf.upto),
        )
        if rows:
            vectors = np.frombuffer(b"".join(row[2] for row in rows), dtype=np.float32).reshape(len(rows), shelf.dim)
            shelf.add(np.array([row[1] for row in rows], dtype=np.int64), vectors)
            shelf.upto = rows[-1][0]

    def _put_away(self, number: int, shelf: VectorShelf) -> None:
        if shelf.approximate and shelf.grown:
            shelf.save(self._file(number))

    def _file(self, number: int) -> Path:
        return self._folder / f"owner-{number}.npz"


def mismatch(there: tuple[str, int], given: tuple[str, int]) -> str:
    """What to tell the operator when a store and an embedder do not belong together."""
    return (
        f"the store's vectors come from embedder {there[0]!r} (width {there[1]}), not {given[0]!r} (width {given[1]}): "
        "open it with that embedder, or call memory.rebuild(embedder=...) to embed everything anew"
    )
