"""The key of a store of several files changes as a whole, wherever the process is killed."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from hybrid_memory import HybridMemory, MemoryConfig, Message, Scope, open_memory
from hybrid_memory.config import OrchestrationConfig
from hybrid_memory.engines.sqlite import Database, SqliteLog
from hybrid_memory.engines.sqlite.driver import KeyNotes
from hybrid_memory.errors import StoreError, StoreUnavailableError, WrongKeyError
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.port import Draft
from tests.forks import exit_code

pytest.importorskip("sqlcipher3")

OLD, NEW = bytes(range(32)), bytes(range(32, 64))
FILES = ("memory.db", "outbox.db")
STEP = 29
"""With 3 it takes 80 s."""
WATCHED = ("sqlite/driver.py", "sqlite/database.py", "memory/engines.py")


def opened(folder: Path, key: bytes) -> HybridMemory:
    config = MemoryConfig(
        url=f"sqlite:///{folder / 'memory.db'}",
        outbox=str(folder / "outbox.db"),
        embedder="none",
        power_safe=False,
        orchestration=OrchestrationConfig(background=False),
    )
    return open_memory(config, key=key)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """The folder of a store with an outbox, each of which holds something."""
    folder = tmp_path / "store"
    folder.mkdir()
    for name in FILES:
        with closing(SqliteLog(Database(folder / name, power_safe=False, key=OLD))) as log:
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
    memory = opened(folder, OLD)
    sys.setprofile(Killer(place))
    memory.rekey(NEW)
    os._exit(0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes the POSIX way")
def test_wherever_it_is_killed_one_key_opens_every_file(store: Path, tmp_path: Path) -> None:
    opened_by, place = {OLD: 0, NEW: 0}, 0
    for place in count(0, STEP):
        folder = tmp_path / str(place)
        shutil.copytree(store, folder)
        if not killed(folder, place):
            break
        first, second = (OLD, NEW) if place // STEP % 2 else (NEW, OLD)
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


def test_one_file_that_another_process_writes_keeps_the_key_of_all(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid_memory.engines.sqlite.driver.BUSY_SECONDS", 0.2)
    memory, other = opened(store, OLD), Database(store / "outbox.db", key=OLD)

    def busy(_: sqlite3.Connection) -> None:
        with pytest.raises(StoreUnavailableError, match=r"outbox\.db"):
            memory.rekey(NEW)

    other.write(busy)
    other.close()
    memory.scoped(user="memory.db").remember(Message(content="still here"))
    memory.close()
    with pytest.raises(StoreError):
        opened(store, NEW)
    with opened(store, OLD) as memory:
        assert memory.scoped(user="memory.db").recall("still here")
    assert not KeyNotes(store / "memory.db").left()
