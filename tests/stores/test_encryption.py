import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import MemoryConfig, Scope, check_store, errors, open_memory
from hybrid_memory.engines.sqlite import SqliteEngine
from tests.stores.conftest import OpenStore

pytest.importorskip("sqlcipher3")

RAW, OTHER = bytes(range(32)), bytes(range(32, 64))
PASSPHRASE = "it's 苹果 🍏 \"x'00'\""  # noqa: S105 - for tests
ALICE = Scope(user="alice")


def test_no_file_shows_a_word_or_a_vector(
    open_store: OpenStore, found: Callable[[list[int]], list[tuple[str, int]]], tmp_path: Path
) -> None:
    store = open_store(key=RAW)
    store.fill()
    assert {file.name for file in tmp_path.iterdir()} == {"memory.db", "memory.db-wal", "memory.db-shm"}
    assert (tmp_path / "memory.db-wal").stat().st_size > 100_000
    assert found(list(range(120))) == []
    assert store.database.query("PRAGMA temp_store") == [(2,)]
    store.erase([1, 2, 3])
    store.index.delete([1, 2, 3])
    store.log.scrub()
    assert found(list(range(120))) == []
    store.close()
    assert found(list(range(120))) == []
    assert [file.name for file in tmp_path.iterdir()] == ["memory.db"]


@pytest.mark.parametrize(
    ("made", "asked", "message"),
    [
        (RAW, OTHER, "with this key"), (PASSPHRASE, PASSPHRASE + " ", "with this key"),
        (PASSPHRASE, RAW, "with this key"), (RAW, None, "without a key"), (None, RAW, "is not encrypted"),
        (None, PASSPHRASE, "is not encrypted"),
    ],
)  # fmt: skip
def test_a_wrong_key_is_told_and_nothing_is_changed(
    open_store: OpenStore, tmp_path: Path, made: Any, asked: Any, message: str
) -> None:
    with closing(open_store(key=made)) as store:
        store.write([1, 2])
    before = (tmp_path / "memory.db").read_bytes()
    with pytest.raises(errors.WrongKeyError, match=f"memory.db.*{message}") as caught:
        open_store(key=asked)
    assert isinstance(caught.value, errors.StoreError)
    assert PASSPHRASE not in str(caught.value)
    assert (tmp_path / "memory.db").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["memory.db"]
    assert open_store(key=made).log.count(ALICE) == 2


def test_sqlcipher_writes_nothing_to_stderr(open_store: OpenStore, capfd: pytest.CaptureFixture[str]) -> None:
    open_store(key=RAW).close()
    with pytest.raises(errors.WrongKeyError):
        open_store(key=OTHER)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "key", ["", b"", b"short", RAW + b"x", bytearray(RAW), 7, lambda: None, lambda: ""], ids=range(8)
)
def test_what_is_no_key_is_refused_before_a_file_is_made(open_store: OpenStore, tmp_path: Path, key: Any) -> None:
    with pytest.raises(errors.InvalidConfigError, match="32 bytes"):
        open_store(key=key)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("key", ["", lambda: "", lambda: None], ids=range(3))
def test_no_plain_store_is_made_where_a_key_was_meant(tmp_path: Path, key: Any) -> None:
    config = MemoryConfig(url=f"sqlite:///{tmp_path / 'memory.db'}", embedder="none")
    for opened in (open_memory, check_store):
        with pytest.raises(errors.InvalidConfigError, match="32 bytes"):
            opened(config, key=key)
    with pytest.raises(errors.InvalidConfigError, match="make that one with the key"):
        open_memory(config, engine=SqliteEngine(config.url, config), key="a key")
    assert list(tmp_path.iterdir()) == []


def test_a_text_file_is_not_taken_for_an_encrypted_store(open_store: OpenStore, tmp_path: Path) -> None:
    for text, error in (("a", errors.StoreUnavailableError), ("my notes\n" * 1000, errors.WrongKeyError)):
        (tmp_path / "memory.db").write_text(text, encoding="utf-8")
        with pytest.raises(error, match=r"memory\.db"):
            open_store(key=RAW)
        with pytest.raises(errors.StoreUnavailableError, match=r"memory\.db"):
            open_store()
        assert (tmp_path / "memory.db").read_text(encoding="utf-8") == text


def test_a_key_that_cannot_be_had_is_the_callers_error(open_store: OpenStore, tmp_path: Path) -> None:
    def locked() -> str:
        raise PermissionError("keyring is locked")

    with pytest.raises(PermissionError, match="keyring"):
        open_store(key=locked)
    assert list(tmp_path.iterdir()) == []


def test_without_sqlcipher_the_extra_is_named(
    open_store: OpenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sqlcipher3.dbapi2", None)
    with pytest.raises(errors.MissingDependencyError, match=r"hybrid-agent-memory\[encryption\]"):
        open_store(key=RAW)
    assert list(tmp_path.iterdir()) == []
    open_store().write([1])


def test_a_damaged_page_is_reported(open_store: OpenStore, tmp_path: Path) -> None:
    with closing(open_store(key=RAW)) as store:
        store.fill()
    file = tmp_path / "memory.db"
    whole = bytearray(file.read_bytes())
    for start in range(4096, len(whole), 4096):
        whole[start + 100] ^= 1
    file.write_bytes(whole)
    with pytest.raises(errors.StoreError, match=r"memory\.db"):
        open_store(key=RAW).log.read(ALICE)


def test_sqlcipher_itself_opens_the_file_with_the_passphrase(open_store: OpenStore, tmp_path: Path) -> None:
    from sqlcipher3 import dbapi2  # noqa: PLC0415 - may be missing

    with closing(open_store(key="correct horse")) as store:
        store.write([1, 2, 3])
    with closing(dbapi2.connect(str(tmp_path / "memory.db"))) as connection:
        connection.execute("PRAGMA key = 'correct horse'")
        assert connection.execute("SELECT count(*) FROM events").fetchone() == (3,)
