"""An interrupt, wherever it comes, leaves the file free for other threads and processes."""

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid_memory import EventKind, Scope
from hybrid_memory.log.port import Draft
from tests.doubles import PATIENCE
from tests.interrupts import interrupted
from tests.stores.conftest import DIM, OpenStore, Store

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""What is raised where a generator is closed is swallowed."""

ALICE = Scope(user="alice")


def draft(name: str) -> Draft:
    at = datetime(2024, 5, 15, tzinfo=UTC)
    return Draft(id=name, kind=EventKind.MESSAGE, at=at, payload={"content": name}, session="s", fixed_id=True)


def append(store: Store) -> object:
    return store.log.append(ALICE, [draft("one"), draft("two")])


def erase(store: Store) -> object:
    return store.log.erase(ALICE, [1], {2: {"content": "gone"}}, draft("note"))


def put_vectors(store: Store) -> None:
    store.index.put_vectors(("canaries", DIM), {3: b"3"}, {b"3": np.ones(DIM, dtype=np.float32)})


def scrub(store: Store) -> None:
    store.index.delete([7])
    store.database.scrub()


ACTIONS: dict[str, Callable[[Store], object]] = {
    "append": append,
    "erase": erase,
    "drop": lambda store: store.log.drop(ALICE, [5]),
    "scrub": scrub,
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
            kept.append(error)  # and its frames
            other.execute("BEGIN IMMEDIATE")  # raises where the file is locked
            other.execute("ROLLBACK")
            assert free(store.database._lock)
            assert free(store.database._registry)
            assert all(free(reader.lock) for reader in store.database._readers)
    assert len(kept) > 5
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(store.write, [1000]).result(PATIENCE)
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
