"""Stores that earlier versions wrote."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from hybrid_memory import EventKind, Scope
from hybrid_memory.engines.sqlite import Database, SqliteIndex, SqliteLog, database
from hybrid_memory.engines.sqlite.schema import APPLICATION_ID, MIGRATIONS
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.index.record import Where
from hybrid_memory.ports import Draft

RELEASED = ["9f02d5", "a1649e"]
"""How the digests of the migrations begin that stores in the field were made with."""

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
MICROS = int(NOON.timestamp()) * 1_000_000
OWNERS = [Scope(user="alice"), Scope(tenant="acme", user="alice", agent="coach"), Scope(tenant="alice")]
SIZE = 60
DIM = 8


def test_migrations_that_were_released_are_never_edited() -> None:
    digests = [hashlib.sha256(script.encode()).hexdigest()[:6] for script in MIGRATIONS[: len(RELEASED)]]
    assert digests == RELEASED


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A store of version 2: events and records of three owners, every third one deleted carelessly."""
    file = tmp_path / "memory.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA secure_delete = OFF")
        for script in MIGRATIONS[:2]:
            connection.executescript(script)
        connection.execute("PRAGMA user_version = 2")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.executemany(
            "INSERT INTO owners(tenant, user, agent) VALUES (?, ?, ?)",
            [(owner.tenant or "", owner.user or "", owner.agent or "") for owner in OWNERS],
        )
        connection.execute("INSERT INTO embedder VALUES (1, 'old', ?)", (DIM,))
        for number in range(1, SIZE + 1):
            write(connection, number)
        connection.execute("INSERT INTO embeddings(key, vector) VALUES (?, ?)", (b"orphan", b"x"))
        gone = [number for number in range(1, SIZE + 1) if number % 3 == 0]
        tables = ("events WHERE position", "records WHERE id", "terms WHERE rowid")
        for place in (*tables, "vectors WHERE record", "pending WHERE record"):
            connection.executemany(f"DELETE FROM {place} = ?", [(number,) for number in gone])  # noqa: S608 - our own
        connection.executemany("UPDATE term_counts SET records = 0 WHERE term = ?", [(word(n),) for n in gone])
        connection.executemany("INSERT INTO index_state VALUES (?, ?)", [(n, SIZE) for n in range(1, len(OWNERS) + 1)])
        connection.commit()
    return file


def write(connection: sqlite3.Connection, number: int) -> None:
    owner, text, at = owner_of(number), said(number), MICROS + number
    connection.execute(
        "INSERT INTO events(id, owner, session, kind, at, payload, sources) VALUES (?, ?, 's', 'message', ?, ?, '[]')",
        (f"e{number}", owner, at, json.dumps({"content": text})),
    )
    connection.execute(
        "INSERT INTO records VALUES "
        "(?, ?, 's', 'turn', NULL, 'user', ?, ?, ?, 0, ?, 0.5, 0, NULL, NULL, NULL, ?, '{}')",
        (number, owner, text, at, number, len(text), json.dumps([f"e{number}"])),
    )
    connection.execute("INSERT INTO terms(rowid, owner, words) VALUES (?, ?, ?)", (number, owner, word(number)))
    connection.execute("INSERT INTO term_counts VALUES (?, ?, 1)", (owner, word(number)))
    if number % 5:
        row = np.eye(DIM, dtype=np.float32)[number % DIM]
        connection.execute(
            "INSERT OR IGNORE INTO embeddings(key, vector) VALUES (?, ?)", (row.tobytes(), row.tobytes())
        )
        connection.execute(
            "INSERT INTO vectors(owner, record, embedding) SELECT ?, ?, id FROM embeddings WHERE key = ?",
            (owner, number, row.tobytes()),
        )
    else:
        connection.execute("INSERT INTO pending VALUES (?, ?)", (number, owner))


def owner_of(number: int) -> int:
    return number % len(OWNERS) + 1 if number % 2 else 1


def word(number: int) -> str:
    return f"kangaroo{number * 7919}"


def said(number: int) -> str:
    return f"I saw {word(number)} in 北京 {number}"


def left(owner: int) -> list[int]:
    return [number for number in range(1, SIZE + 1) if number % 3 and owner_of(number) == owner]


def test_a_store_of_version_2_is_read_as_it_was(old: Path) -> None:
    store = Database(old)
    log, index = SqliteLog(store), SqliteIndex(store)
    for owner, scope in enumerate(OWNERS, start=1):
        events = log.read(scope)
        assert [(e.position, e.id, e.author, e.payload["content"]) for e in events] == [
            (n, f"e{n}", "", said(n)) for n in left(owner)
        ]
        assert {event.scope.owner for event in events} == {scope}
        records = index.get(left(owner))
        assert [(r.id, r.turn, r.author, r.text) for r in records] == [(n, n, "", said(n)) for n in left(owner)]
        assert records[0].at == NOON + timedelta(microseconds=records[0].id)
        assert index.applied(scope) == SIZE
        for number in left(owner):
            assert index.matching([word(number)], Where(scope), 9).ids.tolist() == [number]
        hidden = Where(scope, hidden=((1, left(owner)[0]),))
        found = index.nearest(np.ones(DIM, dtype=np.float32), hidden, SIZE).ids.tolist()
        assert sorted(found) == [number for number in left(owner)[1:] if number % 5]
    assert store.query("PRAGMA integrity_check") == [("ok",)]
    assert store.query("PRAGMA foreign_key_check") == []
    assert store.query("SELECT sum(records) FROM posting_blocks") == [(sum(len(left(owner)) for owner in (1, 2, 3)),)]
    assert store.query("SELECT 1 FROM sqlite_master WHERE name LIKE 'term%'") == []
    assert index.known([b"orphan"]) == {}
    index.close()


def test_an_old_store_takes_spaces_and_authors(old: Path) -> None:
    log = SqliteLog(Database(old))
    space = Scope(space="alice")
    draft = Draft("e1", True, None, EventKind.MESSAGE, NOON, {"content": "hello"}, author="user bob")
    (appended,) = log.append(space, [draft])
    assert appended.position > SIZE
    assert [(event.scope, event.author) for event in log.read(space)] == [(space, "user bob")]
    assert len(log.read(OWNERS[0])) == len(left(1))
    log.close()
    log = SqliteLog(Database(old))
    assert set(log.heads()) == {*OWNERS, space}
    log.close()


def test_scrubbing_takes_what_the_old_version_left_in_free_pages(old: Path) -> None:
    gone = [number for number in range(1, SIZE + 1) if number % 3 == 0]

    def traces() -> list[int]:
        whole = b"".join(file.read_bytes() for file in old.parent.iterdir())
        return [number for number in gone if word(number)[8:].encode() in whole]

    assert traces()
    store = Database(old)
    log, index = SqliteLog(store), SqliteIndex(store)
    log.erase(OWNERS[0], [2], {}, Draft("note", True, None, EventKind.ERASED, NOON, {}))
    index.delete([2])
    log.scrub()
    assert traces() == []
    index.close()


def test_a_migration_that_fails_leaves_the_old_store(
    old: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def version() -> int:
        with closing(sqlite3.connect(old)) as connection:
            (number,) = connection.execute("PRAGMA user_version").fetchone()
            assert connection.execute("SELECT count(*) FROM records").fetchone() == (SIZE - SIZE // 3,)
            return int(number)

    with monkeypatch.context() as patch:
        patch.setattr(database, "MIGRATIONS", (*MIGRATIONS[:2], MIGRATIONS[2] + "; DROP TABLE no_such"))
        with pytest.raises(StoreUnavailableError, match="no_such"):
            Database(old)
    assert version() == 2
    Database(old).close()
    assert version() == len(MIGRATIONS)
