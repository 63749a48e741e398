"""An interrupt, wherever it comes, leaves the file free for other threads and processes."""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hybrid_memory import Scope
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.port import Draft
from tests.doubles import PATIENCE
from tests.interrupts import interrupted

if TYPE_CHECKING:
    from tests.stores.conftest import OpenStore, Store

ALICE = Scope(user="alice")


def draft(name: str) -> Draft:
    return Draft(id=name, kind=EventKind.MESSAGE, at=datetime.now(UTC), payload={"content": name}, session="s")


def append(store: Store) -> object:
    return store.log.append(ALICE, [draft(f"one-{sys.getrefcount(store)}"), draft("two")])


def erase(store: Store) -> object:
    return store.log.erase(ALICE, [1], {2: {"content": "gone"}}, draft("note"))


def put_vectors(store: Store) -> object:
    return store.index.put_vectors(("hashing", 2), {3: b"3"}, {b"3": np.ones(2, dtype=np.float32)})


ACTIONS: dict[str, Callable[[Store], object]] = {
    "append": append,
    "erase": erase,
    "drop": lambda store: store.log.drop(ALICE, [5]),
    "scrub": lambda store: (store.index.delete([7]), store.database.scrub()),
    "put vectors": put_vectors,
    "delete": lambda store: store.index.delete([4]),
    "read": lambda store: store.log.read(ALICE, limit=3),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_after_an_interrupt_others_write_at_once(name: str, open_store: OpenStore, tmp_path: Path) -> None:
    store, kept = open_store(), list[Any]()
    store.fill()
    with closing(sqlite3.connect(tmp_path / "memory.db", timeout=0, isolation_level=None)) as other:
        for error in interrupted(lambda: ACTIONS[name](store)):
            kept.append(error)
            other.execute("BEGIN IMMEDIATE")  # raises where the file is locked
            other.execute("ROLLBACK")
            assert free(store.database._lock)
            assert free(store.database._registry)
            assert all(free(reader.lock) for reader in store.database._readers)
    assert len(kept) > 10
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(store.write, [1000]).result(PATIENCE) == [1000]
    assert store.database.query("PRAGMA integrity_check") == [("ok",)]


def free(lock: Any) -> bool:
    """Whether another thread could take the lock now."""
    taken: list[bool] = []

    def take() -> None:
        taken.append(lock.acquire(blocking=False))
        if taken[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return taken[0]
