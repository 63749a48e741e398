"""What a file is like before anything opens it as a store."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from hybrid_memory.engines.sqlite.driver import Driver
from hybrid_memory.engines.sqlite.schema import MIGRATIONS
from hybrid_memory.errors import DISTRIBUTION
from hybrid_memory.log.port import Key
from hybrid_memory.store.engine import REBUILD, RESTORE, SHOWN, Finding

LEAST_FREE_BYTES = 100_000_000
"""On the disk."""

LARGE_WAL = 256_000_000
"""Bytes of a write-ahead log that no process should need."""

LEFTOVERS = {
    "records without words": "SELECT count(*) FROM records WHERE id NOT IN (SELECT id FROM terms_docsize)",
    "entries of the text index without a record": (
        "SELECT count(*) FROM terms_docsize WHERE id NOT IN (SELECT id FROM records)"
    ),
    "vectors without a record": "SELECT count(*) FROM vectors WHERE record NOT IN (SELECT id FROM records)",
    "records without a vector that wait for none": (
        "SELECT count(*) FROM records WHERE id NOT IN (SELECT record FROM vectors UNION SELECT record FROM pending)"
    ),
}
"""Rows that belong to nothing, and how they are counted."""


def check_file(path: Path, key: Key | None = None) -> Iterator[Finding]:
    """Schema, damaged pages, rows of the index that belong to nothing, and the disk; changes nothing."""
    driver = Driver(path, key)
    try:
        with closing(driver.connect()) as connection:
            connection.execute("PRAGMA query_only = ON")
            yield _schema(connection)
            problems = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({SHOWN})")]
            if problems == ["ok"]:
                yield Finding("integrity", "ok", "no page of the file is damaged")
            else:
                yield Finding("integrity", "wrong", "; ".join(problems), RESTORE)
            yield from _leftovers(connection)
    except driver.error as error:
        yield Finding("integrity", "wrong", str(driver.failure("read", error)), RESTORE)
    yield _disk(path)


def _schema(connection: sqlite3.Connection) -> Finding:
    (there,) = connection.execute("PRAGMA user_version").fetchone()
    if there > len(MIGRATIONS):
        return Finding("schema", "wrong", f"version {there}, newer than {len(MIGRATIONS)}", f"upgrade {DISTRIBUTION}")
    brought = "" if there == len(MIGRATIONS) else f", brought up to {len(MIGRATIONS)} when the store is opened"
    return Finding("schema", "ok", f"version {there}{brought}")


def _leftovers(connection: sqlite3.Connection) -> Iterator[Finding]:
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'terms_docsize'").fetchone() is None:
        return
    for what, sql in LEFTOVERS.items():
        (count,) = connection.execute(sql).fetchone()
        if count:
            yield Finding("orphans", "wrong", f"{count:,} {what}", REBUILD)


def _disk(path: Path) -> Finding:
    usage = shutil.disk_usage(path.parent)
    journal = path.with_name(f"{path.name}-wal")
    wal = journal.stat().st_size if journal.exists() else 0
    told = f"{_size(path.stat().st_size)}, write-ahead log {_size(wal)}, {_size(usage.free)} free on the disk"
    if usage.free < max(LEAST_FREE_BYTES, path.stat().st_size // 10):
        return Finding("disk", "wrong", told, "make room: a full disk refuses every write")
    if wal > LARGE_WAL:
        return Finding("disk", "note", told, "a process keeps an old read open; closing it lets the log shrink")
    return Finding("disk", "ok", told)


def _size(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"  # noqa: PLR2004 - a billion
