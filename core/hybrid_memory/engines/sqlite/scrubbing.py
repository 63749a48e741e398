"""Leaving nothing of what was destroyed: not in free pages, not in the text index, not in the write-ahead log.

`PRAGMA secure_delete` overwrites what is deleted, but not the copies that SQLite leaves behind when it moves entries
between pages, and the text index of FTS5 keeps the words of a deleted row until its parts are merged.
"""

from __future__ import annotations

import sqlite3
import time


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
