"""What was destroyed leaves the bytes of a file, also where SQLite left copies or a scrubbing was cut short."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from hybrid_memory.engines.sqlite import database as module
from hybrid_memory.engines.sqlite.database import Database

CANARY = "zirconquokka"
ROWS = 2_000


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(Database(tmp_path / "memory.db", power_safe=False)) as made:
        yield made


def destroyed(database: Database, seed: int) -> list[tuple[str, str]]:
    """What is left of a table whose rows with the canary were deleted."""
    random = Random(seed)  # noqa: S311 - of rows

    def write(connection: sqlite3.Connection, _: int) -> None:
        connection.execute("CREATE TABLE IF NOT EXISTS texts(key TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID")
        for row in range(ROWS):
            text = (f"the {CANARY} " if row % 7 == 0 else f"room {row} ") * random.randrange(1, 9)
            connection.execute(
                "INSERT OR REPLACE INTO texts VALUES (?, ?)", (f"{random.randrange(10**6):06} {row}", text)
            )

    def destroy(connection: sqlite3.Connection, _: int) -> None:
        connection.execute("DELETE FROM texts WHERE text LIKE ?", (f"%{CANARY}%",))
        database.destroying(connection)

    database.write(write)
    database.write(destroy)
    return database.query("SELECT * FROM texts")


def holds(path: Path) -> bool:
    return any(CANARY.encode() in file.read_bytes() for file in path.parent.iterdir() if file.is_file())


def test_copies_that_sqlite_leaves_behind_go(database: Database) -> None:
    for seed in range(3):
        left = destroyed(database, seed)
        assert holds(database.path), "else there is nothing to clean"
        database.scrub()
        assert not holds(database.path)
        assert database.query("SELECT * FROM texts") == left
    database.write(lambda connection, _: connection.execute("UPDATE texts SET text = text || '!' WHERE key LIKE '%1'"))
    assert not holds(database.path), "nor does what a connection has of a page in memory bring it back"
    assert database.query("PRAGMA integrity_check") == [("ok",)]


def test_what_was_cut_short_is_done_by_the_next(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(_: sqlite3.Connection) -> bool:
        raise KeyboardInterrupt

    left = destroyed(database, 3)
    with monkeypatch.context() as patch:
        patch.setattr(module, "truncate_journal", killed)
        with pytest.raises(KeyboardInterrupt):
            database.scrub()
    with closing(Database(database.path, power_safe=False)) as opened:  # which finishes it
        assert not holds(database.path)
        assert opened.query("SELECT * FROM texts") == left
