"""Records as rows, and their removal."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence

from hybrid_memory.engines.sqlite import postings
from hybrid_memory.engines.stored import RECORD_FIELDS

SELECT = (
    f"SELECT o.tenant, o.user, o.agent, o.space, r.session, {', '.join(f'r.{name}' for name in RECORD_FIELDS)} "
    "FROM records r JOIN owners o ON o.id = r.owner"
)
INSERT = (
    f"INSERT OR IGNORE INTO records(owner, session, length, {', '.join(RECORD_FIELDS)}) "
    f"VALUES (:owner, :session, :length, {', '.join(f':{name}' for name in RECORD_FIELDS)})"
)


MOST_CHANGES = 20_000
"""The most changed records of an owner that are noted individually."""

_ALL = (
    "postings",
    "posting_blocks",
    "words",
    "changes",
    "vectors",
    "pending",
    "embeddings",
    "records",
    "index_state",
    "embedder",
)


def delete_records(connection: sqlite3.Connection, ids: Sequence[int]) -> int:
    """Delete records with their terms and vectors; returns how many there were."""
    listed = (json.dumps(list(ids)),)
    chosen = "IN (SELECT value FROM json_each(?))"
    if not connection.execute(f"SELECT 1 FROM records WHERE id {chosen} LIMIT 1", listed).fetchall():
        return 0
    embeddings = connection.execute(f"SELECT DISTINCT embedding FROM vectors WHERE record {chosen}", listed).fetchall()
    postings.remove(connection, ids)
    for table in ("vectors", "pending"):
        connection.execute(f"DELETE FROM {table} WHERE record {chosen}", listed)
    connection.executemany(
        "DELETE FROM embeddings WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM vectors WHERE embedding = ?1)", embeddings
    )
    # Fetched at once: an interrupt would leave a statement open that the frame of a comprehension holds.
    rows = connection.execute(f"SELECT DISTINCT owner FROM records WHERE id {chosen}", listed).fetchall()
    for (owner,) in rows:
        note_changes(connection, owner, ids)
    gone = connection.execute(f"DELETE FROM records WHERE id {chosen}", listed).rowcount
    mark_unscrubbed(connection)
    return gone


def delete_all(connection: sqlite3.Connection) -> int:
    """Delete everything derived from the log; returns how many records there were."""
    gone = int(connection.execute("SELECT count(*) FROM records").fetchone()[0])
    for table in _ALL:
        connection.execute(f"DELETE FROM {table}")
    connection.execute("UPDATE revision SET number = number + 1")
    mark_unscrubbed(connection)
    return gone


REVISION = "(SELECT r.number + ifnull((SELECT number FROM owner_revisions WHERE owner = ?), 0) FROM revision r)"
"""The revision of an owner's records: it changes if more were changed than can be noted, or all were deleted."""


def note_changes(connection: sqlite3.Connection, owner: int, ids: Collection[int]) -> None:
    """Note changed records, so that caches reload them; if there are too many, they reload the owner."""
    listed = json.dumps(list(ids))
    connection.execute(
        "INSERT INTO changes(owner, record) SELECT owner, id FROM records "
        "WHERE id IN (SELECT value FROM json_each(?)) AND +owner = ?",
        (listed, owner),
    )
    (count,) = connection.execute("SELECT count(*) FROM changes WHERE owner = ?", (owner,)).fetchone()
    if count > MOST_CHANGES:
        connection.execute("DELETE FROM changes WHERE owner = ?", (owner,))
        connection.execute(
            "INSERT INTO owner_revisions VALUES (?, 1) ON CONFLICT(owner) DO UPDATE SET number = number + 1", (owner,)
        )


def mark_unscrubbed(connection: sqlite3.Connection) -> None:
    """Note in this transaction that data is being destroyed, so that it is scrubbed even after a crash."""
    connection.execute("UPDATE erasures SET begun = begun + 1")
