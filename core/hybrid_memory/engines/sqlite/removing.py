"""Deleting records with everything that was made from them, and leaving nothing of what was destroyed.

`PRAGMA secure_delete` overwrites what is deleted, but not the copies that SQLite leaves behind when it moves entries
between pages, and the text index of FTS5 keeps the words of a deleted row until its parts are merged: not in free
pages, not in the text index, not in the write-ahead log may anything stay.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence

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


def mark_unscrubbed(connection: sqlite3.Connection) -> None:
    """Note in this transaction that it destroys something, so that a crash does not leave it unscrubbed for ever."""
    connection.execute("UPDATE erasures SET begun = begun + 1")


def unscrubbed(connection: sqlite3.Connection) -> bool:
    """Whether something was destroyed since the file was scrubbed last."""
    return bool(connection.execute("SELECT begun <> scrubbed FROM erasures").fetchone()[0])


def scrub(connection: sqlite3.Connection) -> bool:
    """Write the whole file anew, if anything was destroyed since the last time; False if a reader is in the way."""
    while unscrubbed(connection):
        (begun,) = connection.execute("SELECT begun FROM erasures").fetchone()
        connection.execute("INSERT INTO terms(terms) VALUES ('optimize')")
        connection.execute("VACUUM")
        if not truncate_journal(connection):
            return False
        connection.execute("UPDATE erasures SET scrubbed = max(scrubbed, ?)", (begun,))
    return True


def truncate_journal(connection: sqlite3.Connection) -> bool:
    """Move the write-ahead log into the file and empty it; False if a reader of an older state is in the way."""
    (milliseconds,) = connection.execute("PRAGMA busy_timeout").fetchone()
    deadline = time.monotonic() + milliseconds / 1000
    while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)  # SQLite waits for readers, but not for another process that is doing the same
    return True
