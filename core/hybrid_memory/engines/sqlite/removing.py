"""Deleting records with everything that was made from them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from hybrid_memory.engines.sqlite.scrubbing import mark_unscrubbed

_ALL = ("vectors", "pending", "embeddings", "records", "terms", "term_counts", "index_state", "embedder")


def delete_records(connection: sqlite3.Connection, ids: Sequence[int]) -> int:
    """Delete records with their terms and vectors; returns how many there were."""
    listed = (json.dumps(list(ids)),)
    chosen = "IN (SELECT value FROM json_each(?))"
    if not connection.execute(f"SELECT 1 FROM records WHERE id {chosen} LIMIT 1", listed).fetchall():
        return 0
    embeddings = connection.execute(f"SELECT DISTINCT embedding FROM vectors WHERE record {chosen}", listed).fetchall()
    indexed = connection.execute(f"SELECT owner, words FROM terms WHERE rowid {chosen}", listed).fetchall()
    fewer = [(int(owner), term) for owner, words in indexed for term in set(words.split())]
    connection.executemany("UPDATE term_counts SET records = records - 1 WHERE owner = ? AND term = ?", fewer)
    connection.executemany("DELETE FROM term_counts WHERE owner = ? AND term = ? AND records <= 0", fewer)
    for table, column in (("vectors", "record"), ("pending", "record"), ("terms", "rowid")):
        connection.execute(f"DELETE FROM {table} WHERE {column} {chosen}", listed)
    connection.executemany(
        "DELETE FROM embeddings WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM vectors WHERE embedding = ?1)", embeddings
    )
    gone = connection.execute(f"DELETE FROM records WHERE id {chosen}", listed).rowcount
    _mark_deleted(connection)
    return gone


def delete_all(connection: sqlite3.Connection) -> int:
    """Delete everything that was derived from the log; returns how many records there were."""
    gone = int(connection.execute("SELECT count(*) FROM records").fetchone()[0])
    for table in _ALL:
        connection.execute(f"DELETE FROM {table}")
    _mark_deleted(connection)
    return gone


def _mark_deleted(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE revision SET number = number + 1")
    mark_unscrubbed(connection)
