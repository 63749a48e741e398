"""Records as rows, and `Where` as SQL conditions."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from typing import Any

from hybrid_memory.engines.sqlite import postings
from hybrid_memory.engines.stored import RECORD_FIELDS, micros_or_none, stated, to_micros
from hybrid_memory.index.record import Where
from hybrid_memory.log.views import joined

SELECT = (
    f"SELECT o.tenant, o.user, o.agent, o.space, r.session, {', '.join(f'r.{name}' for name in RECORD_FIELDS)} "
    "FROM records r JOIN owners o ON o.id = r.owner"
)
INSERT = (
    f"INSERT OR IGNORE INTO records(owner, session, length, {', '.join(RECORD_FIELDS)}) "
    f"VALUES (:owner, :session, :length, {', '.join(f':{name}' for name in RECORD_FIELDS)})"
)


def json_holds(metadata: str, values: str) -> bool:
    """Whether a JSON object has every value of another, exactly."""
    stored = json.loads(metadata)
    return all(
        key in stored and json.dumps(stored[key]) == json.dumps(value) for key, value in json.loads(values).items()
    )


def conditions(where: Where) -> tuple[list[str], list[Any]]:
    """SQL conditions on ``records r`` other than the owner, with their values."""
    since, until = micros_or_none(where.since), micros_or_none(where.until)
    parts, values = stated([("r.session = ?", where.scope.session), ("r.at >= ?", since), ("r.at < ?", until)])
    for column, names in (("r.kind", where.kinds), ("r.category", where.categories), ("r.origin", where.origins)):
        if names:
            parts.append(f"{column} IN ({', '.join('?' * len(names))})")
            values.extend(sorted(names))
    if hidden := joined(where.hidden):
        condition, positions = _outside(hidden)
        parts.append(condition)
        values.extend(positions)
    for name, instant in where.fresh.items():
        parts.append("(r.at >= ? OR (r.kind <> ? AND r.category IS NOT ?))")
        values.extend([to_micros(instant), name, name])
    having, metadata = holding(where)
    return [*parts, *having], [*values, *metadata]


def holding(where: Where) -> tuple[list[str], list[Any]]:
    """SQL conditions on the metadata of ``records r``, with their values."""
    parts: list[str] = []
    values: list[Any] = []
    for key, value in where.metadata.items():
        # json_each keeps types apart: true is not 1, "1" is not 1, and a stored null is not a missing key.
        # SQLite compares text up to a NUL only, so where one occurs the function has the last word.
        wanted = json.dumps({key: value})
        parts.append(
            "EXISTS (SELECT 1 FROM json_each(r.metadata) m, json_each(?) w "
            "WHERE m.key = w.key AND m.type = w.type AND m.atom IS w.atom) "
            r"AND (instr(r.metadata || ?, '\u0000') = 0 OR json_holds(r.metadata, ?))"
        )
        values.extend([wanted, wanted, wanted])
    return parts, values


def _outside(stretches: Sequence[tuple[int, int]]) -> tuple[str, list[int]]:
    """SQL for whether a turn is in none of these stretches, as a binary search."""
    if not stretches:
        return "1", []
    middle = len(stretches) // 2
    left, before = _outside(stretches[:middle])
    right, after = _outside(stretches[middle + 1 :])
    first, last = stretches[middle]
    condition = f"CASE WHEN r.turn < ? THEN {left} WHEN r.turn <= ? THEN 0 ELSE {right} END"
    return condition, [first, *before, last, *after]


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
