"""What was destroyed leaves the bytes of a file, page by page, while others read and write it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from hybrid_memory.engines.sqlite import scrubbing
from hybrid_memory.engines.sqlite.scrubbing import Scrubber

CANARY = "zirconquokka"
ROWS = 2_000


class Store:
    """A file with the tables that a scrubber needs, and one of texts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = self.connect()
        self.connection.execute("CREATE TABLE erasures(one INTEGER PRIMARY KEY, begun INTEGER, scrubbed INTEGER)")
        self.connection.execute("INSERT INTO erasures VALUES (1, 0, 0)")
        self.connection.execute("CREATE TABLE texts(key TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID")
        self.scrubber = Scrubber(path, self.connect, encrypted=False)

    def connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=20)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA secure_delete = ON")
        return connection

    def write(self, connection: sqlite3.Connection, random: Random, row: int, text: str) -> None:
        key = f"{random.randrange(10**6):06} {row}"
        connection.execute("INSERT OR REPLACE INTO texts VALUES (?, ?)", (key, text * random.randrange(1, 9)))

    def destroy(self, like: str) -> None:
        self.connection.execute("BEGIN")
        self.connection.execute("DELETE FROM texts WHERE text LIKE ?", (f"%{like}%",))
        self.connection.execute("UPDATE erasures SET begun = begun + 1")
        self.connection.execute("COMMIT")

    def holds(self, word: str) -> bool:
        return any(word.encode() in file.read_bytes() for file in self.path.parent.iterdir() if file.is_file())

    def check(self) -> None:
        assert self.connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "store.db")
    yield made
    made.connection.close()
    made.scrubber.close()


def filled(store: Store, random: Random) -> None:
    store.connection.execute("BEGIN")
    for row in range(ROWS):
        store.write(store.connection, random, row, f"the {CANARY} " if row % 7 == 0 else f"room {row} ")
    store.connection.execute("COMMIT")


def test_copies_that_sqlite_leaves_behind_go(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    left = []
    for seed in range(4):
        filled(store, Random(seed))  # noqa: S311 - of rows
        store.destroy(CANARY)
        rows = store.connection.execute("SELECT * FROM texts").fetchall()
        with monkeypatch.context() as patch:
            patch.setattr(scrubbing.PageFile, "soiled", lambda _: ())
            assert store.scrubber.scrub()
        left.append(store.holds(CANARY))
        store.connection.execute("UPDATE erasures SET begun = begun + 1")
        assert store.scrubber.scrub()
        assert not store.holds(CANARY)
        assert store.connection.execute("SELECT * FROM texts").fetchall() == rows
        assert store.connection.execute("SELECT begun = scrubbed FROM erasures").fetchone() == (1,)
    assert any(left), "else nothing was left to clean"
    store.check()


def test_what_others_have_of_a_page_in_memory_does_not_bring_it_back(store: Store) -> None:
    random = Random(1)  # noqa: S311
    filled(store, random)
    store.destroy(CANARY)
    with closing(store.connect()) as other:
        assert other.execute("SELECT count(*), sum(length(text)) FROM texts").fetchone()[0]
        assert store.scrubber.scrub()
        for connection in (other, store.connection):
            connection.execute("UPDATE texts SET text = text || '!' WHERE key LIKE '%1'")
            assert scrubbing.truncate_journal(connection)
            assert not store.holds(CANARY)
    store.check()


def test_what_was_cut_short_is_done_by_the_next(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(store, Random(3))  # noqa: S311
    store.destroy(CANARY)
    monkeypatch.setattr(scrubbing, "CLEANED_PAGES", 2)
    clean, left = scrubbing.PageFile.clean, [5]

    def killed(file: scrubbing.PageFile, number: int) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        clean(file, number)

    with monkeypatch.context() as patch:
        patch.setattr(scrubbing.PageFile, "clean", killed)
        with pytest.raises(KeyboardInterrupt):
            store.scrubber.scrub()
    store.check()
    assert store.scrubber.scrub()
    assert not store.holds(CANARY)
