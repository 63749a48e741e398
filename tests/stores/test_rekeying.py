import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from hybrid_memory import EventKind, HybridMemory, MemoryConfig, Message, Scope, open_memory
from hybrid_memory.config import OrchestrationConfig
from hybrid_memory.engines.sqlite import Database, SqliteLog
from hybrid_memory.engines.sqlite.driver import KeyNotes
from hybrid_memory.errors import InvalidConfigError, StoreError, StoreUnavailableError, WrongKeyError
from hybrid_memory.index.record import Where
from hybrid_memory.log.port import Draft
from tests.forks import exit_code
from tests.stores.conftest import OpenStore

pytest.importorskip("sqlcipher3")

RAW, OTHER = bytes(range(32)), bytes(range(32, 64))
PASSPHRASE = "it's 苹果"  # noqa: S105 - for tests
ALICE = Scope(user="alice")
REKEYER = Path(__file__).with_name("children") / "rekeyer.py"


@pytest.mark.parametrize(("old", "new"), [(PASSPHRASE, "new"), (RAW, OTHER), ("old", lambda: RAW)])
def test_after_rekeying_only_the_new_key_opens_it(open_store: OpenStore, tmp_path: Path, old: Any, new: Any) -> None:
    store = open_store(key=old)
    store.fill()
    store.database.scrub()
    before = pages(tmp_path / "memory.db")
    said = store.log.read(ALICE)
    store.database.rekey(new)
    assert store.log.read(ALICE) == said
    assert not before & pages(tmp_path / "memory.db"), "a page is still readable with the old key"
    assert (tmp_path / "memory.db-wal").stat().st_size == 0
    store.write([500])
    store.close()
    with pytest.raises(WrongKeyError):
        open_store(key=old)
    later = open_store(key=new)
    assert later.log.count(ALICE) == len(said) + 1
    assert later.database.query("PRAGMA integrity_check") == [("ok",)]


def pages(file: Path) -> set[bytes]:
    whole = file.read_bytes()
    return {whole[start + 16 : start + 4096] for start in range(0, len(whole), 4096)}


def test_threads_that_read_and_write_follow_the_new_key(open_store: OpenStore) -> None:
    store = open_store(key=RAW)
    store.fill()
    over = threading.Event()

    rounds = Counter[str]()

    def read(name: str) -> None:
        while not over.is_set():
            assert len(store.log.read(ALICE)) >= 120
            assert len(store.index.matching(["quartz"], Where(ALICE), 5).ids) == 5
            rounds[name] += 1

    def write(name: str) -> None:
        while not over.is_set():
            store.write([1000 + rounds[name]])
            rounds[name] += 1

    with ThreadPoolExecutor() as pool:
        jobs = [pool.submit(read, "one"), pool.submit(read, "other"), pool.submit(write, "writer")]
        try:
            for number in range(10):
                store.database.rekey(bytes([number]) * 32)
                before = rounds.copy()
                while not all(rounds[name] > before[name] for name in ("one", "other", "writer")):
                    assert not any(job.done() for job in jobs)
                    time.sleep(0.001)
        finally:
            over.set()
        for job in jobs:
            job.result()
    assert store.log.count(ALICE) == 120 + rounds["writer"]
    store.close()
    assert open_store(key=bytes([9]) * 32).log.count(ALICE) == 120 + rounds["writer"]


def test_who_has_the_store_open_elsewhere_is_told_of_the_new_key(open_store: OpenStore) -> None:
    store, other = open_store(key=RAW), open_store(key=RAW)
    store.write([1])
    assert other.log.count(ALICE) == 1
    store.database.rekey(OTHER)
    with pytest.raises(WrongKeyError, match="has another one"):
        other.log.count(ALICE)
    with pytest.raises(WrongKeyError, match="has another one"):
        other.write([2])
    assert store.log.count(ALICE) == 1


def test_a_plain_store_has_no_key_to_change(open_store: OpenStore) -> None:
    with pytest.raises(InvalidConfigError, match="not encrypted"):
        open_store().database.rekey(RAW)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes the POSIX way")
def test_a_store_whose_rekeying_was_killed_has_one_of_both_keys(open_store: OpenStore, tmp_path: Path) -> None:
    with closing(open_store(key=bytes(32))) as store:
        store.fill()
    key = bytes(32)
    for cycle in range(6):
        command = [sys.executable, str(REKEYER), str(tmp_path / "memory.db"), key.hex()]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
            assert process.stdout is not None
            tried = [process.stdout.readline() for _ in range(1 + cycle % 3)]  # all but the last are done
            process.kill()
            tried += process.stdout.readlines()
        last = bytes.fromhex(next(line for line in reversed(tried) if line.endswith("\n")).strip())
        before = (int.from_bytes(last, "big") - 1).to_bytes(32, "big")
        key = the_one_that_opens(tmp_path / "memory.db", before, last)
        with closing(open_store(key=key)) as store:
            assert store.log.count(ALICE) == 120
            assert store.database.query("PRAGMA integrity_check") == [("ok",)]


def the_one_that_opens(path: Path, *keys: bytes) -> bytes:
    able = []
    for key in keys:
        try:
            Database(path, key=key).close()
        except WrongKeyError:
            continue
        able.append(key)
    (only,) = able
    return only


FILES = ("memory.db", "outbox.db")
STEP = 29
"""With 3 it takes 80 s."""
WATCHED = ("sqlite/driver.py", "sqlite/database.py", "memory/engines.py")


def opened(folder: Path, key: bytes) -> HybridMemory:
    config = MemoryConfig(
        url=f"sqlite:///{folder / 'memory.db'}", outbox=str(folder / "outbox.db"), embedder="none", power_safe=False,
        orchestration=OrchestrationConfig(background=False),
    )  # fmt: skip
    return open_memory(config, key=key)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """The folder of a store with media and an outbox, each of which holds something."""
    folder = tmp_path / "store"
    folder.mkdir()
    for name in FILES:
        with closing(SqliteLog(Database(folder / name, power_safe=False, key=RAW))) as log:
            at = datetime(2024, 5, 15, tzinfo=UTC)
            note = Draft(id="n", kind=EventKind.MESSAGE, at=at, payload={"content": name}, session=None, fixed_id=True)
            log.append(Scope(user=name), [note])
    return folder


class Killer:
    """Kills the process in one of the places where files are worked on."""

    def __init__(self, place: int) -> None:
        self.left = place

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "c_return" and frame.f_code.co_filename.endswith(WATCHED):
            self.left -= 1
            if self.left < 0:
                os._exit(9)


def killed(folder: Path, place: int) -> bool:
    """Whether a process that changed the key was killed there, and not done before."""
    code = exit_code(rekeyed, folder, place)
    assert code in {0, 9}
    return code == 9


def rekeyed(folder: Path, place: int) -> None:
    memory = opened(folder, RAW)
    sys.setprofile(Killer(place))
    memory.rekey(OTHER)
    os._exit(0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes the POSIX way")
def test_wherever_it_is_killed_one_key_opens_every_file(store: Path, tmp_path: Path) -> None:
    opened_by, place = {RAW: 0, OTHER: 0}, 0
    for place in count(0, STEP):
        folder = tmp_path / str(place)
        shutil.copytree(store, folder)
        if not killed(folder, place):
            break
        first, second = (RAW, OTHER) if place // STEP % 2 else (OTHER, RAW)
        try:
            opened(folder, first).close()
            key = first
        except WrongKeyError:
            opened(folder, second).close()
            key = second
        opened_by[key] += 1
        assert sorted(file.name for file in folder.iterdir() if "-key-" in file.name) == []
        for name in FILES:
            with closing(SqliteLog(Database(folder / name, power_safe=False, key=key))) as log:
                assert log.count(Scope(user=name)) == 1
        shutil.rmtree(folder)
    assert min(opened_by.values()) > 1
    assert place > 50


def test_one_file_that_another_process_holds_keeps_the_key_of_all(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid_memory.engines.sqlite.driver.BUSY_SECONDS", 0.2)
    memory, other = opened(store, RAW), Database(store / "outbox.db", key=RAW)

    def busy(*_: object) -> None:
        with pytest.raises(StoreUnavailableError, match=r"outbox\.db"):
            memory.rekey(OTHER)

    other.write(busy)
    other.close()
    memory.scoped(user="memory.db").remember(Message(content="still here"))
    memory.close()
    with pytest.raises(StoreError):
        opened(store, OTHER)
    with opened(store, RAW) as memory:
        assert memory.scoped(user="memory.db").recall("still here")
    assert not KeyNotes(store / "memory.db").left()
