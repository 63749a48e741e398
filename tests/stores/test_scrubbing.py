from __future__ import annotations

import logging
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pytest

from hybrid_memory import Scope
from hybrid_memory.engines.sqlite import driver
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.index.record import Where

if TYPE_CHECKING:
    from tests.stores.conftest import OpenStore, Store

Scan = Callable[[list[int]], list[tuple[str, int]]]
CHILDREN = Path(__file__).with_name("children")
GONE = list(range(0, 120, 2))
KEPT = list(range(1, 120, 2))


@contextmanager
def running(script: str, *arguments: str | Path) -> Iterator[tuple[subprocess.Popen[str], IO[str], IO[str]]]:
    """A process of its own with its stdin and stdout; it must end well, or be killed."""
    command = [sys.executable, str(CHILDREN / script), *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process, process.stdin, process.stdout
        finally:
            process.kill()


def lines_until(output: IO[str], wanted: str) -> None:
    for line in output:
        if line == f"{wanted}\n":
            return
    raise AssertionError(f"ended before {wanted!r}")


def numbers(found: list[tuple[str, int]]) -> set[int]:
    return {number for _, number in found}


def test_what_was_erased_and_deleted_is_in_no_file(filled: Store, found: Scan) -> None:
    gone = random.Random(1).sample(range(120), 60)  # noqa: S311 - for tests
    kept = sorted(set(range(120)) - set(gone))
    assert numbers(found(gone)) == set(gone)
    assert any(name.endswith(".npz") for name, _ in found(gone))
    positions = [number + 1 for number in gone]
    filled.erase(positions)
    assert filled.index.delete(positions) == len(gone)
    filled.log.scrub()
    assert found(gone) == []
    assert numbers(found(kept)) == set(kept)
    filled.close()
    assert found(gone) == []
    assert numbers(found(kept)) == set(kept)


def test_events_that_no_index_knows_are_scrubbed_too(open_store: OpenStore, found: Scan) -> None:
    store = open_store()
    store.say(list(range(20)))
    store.erase([1, 2])
    assert numbers(found([0, 1])) == {0, 1}
    store.log.scrub()
    assert found([0, 1]) == []
    assert numbers(found([2, 3])) == {2, 3}


def test_what_was_written_anew_is_in_no_file_as_it_was(open_store: OpenStore, found: Scan) -> None:
    store = open_store()
    store.name = "e{}".format  # an event keeps its id
    store.fill()
    assert numbers(found(GONE)) == set(GONE)
    positions = [number + 1 for number in GONE]
    store.erase([], {position: {"content": f"cleaned {position}"} for position in positions})
    store.reindex(positions, "cleaned words")
    store.log.scrub()
    assert found(GONE) == []
    assert numbers(found(KEPT)) == set(KEPT)
    assert store.log.read(Scope(user="alice"), limit=1)[0].payload == {"content": "cleaned 1"}
    assert sorted(store.index.matching(["cleaned"], Where(Scope(user="alice")), 1000).ids.tolist()) == positions


def test_resetting_the_index_leaves_nothing_that_the_log_has_not(filled: Store, found: Scan) -> None:
    filled.erase([number + 1 for number in GONE])
    filled.index.reset()
    filled.log.scrub()
    assert found(GONE) == []


def test_scrubbing_a_clean_store_writes_nothing(filled: Store, tmp_path: Path) -> None:
    filled.log.scrub()
    filled.erase([1])
    filled.log.scrub()
    files = [tmp_path / "memory.db", tmp_path / "memory.db-wal"]
    before = [file.stat().st_mtime_ns for file in files]
    filled.log.scrub()
    assert [file.stat().st_mtime_ns for file in files] == before


def kill_while_forgetting(path: Path, last: str, wait: float = 0) -> None:
    with running("forgetter.py", path, last) as (process, _, output):
        lines_until(output, "before scrubbed" if last == "scrubbed" else last)
        time.sleep(wait)
        process.kill()


@pytest.mark.parametrize("last", ["erased", "deleted"])
def test_opening_finishes_what_a_killed_process_had_begun(
    filled: Store, open_store: OpenStore, found: Scan, tmp_path: Path, last: str
) -> None:
    filled.close()
    kill_while_forgetting(tmp_path / "memory.db", last)
    assert numbers(found(GONE)) == set(GONE)
    store = open_store()
    assert store.log.count(Scope(user="alice")) == len(KEPT) + 1
    if last == "erased":
        assert store.index.delete([number + 1 for number in GONE]) == len(GONE)
        store.close()
        open_store()
    assert found(GONE) == []
    assert numbers(found(KEPT)) == set(KEPT)


@pytest.mark.parametrize("wait", [0, 0.01, 0.03, 0.1])
def test_a_process_killed_while_it_scrubs_leaves_a_whole_store(
    filled: Store, open_store: OpenStore, found: Scan, tmp_path: Path, wait: float
) -> None:
    filled.close()
    kill_while_forgetting(tmp_path / "memory.db", "scrubbed", wait)
    store = open_store()
    assert store.database.query("PRAGMA integrity_check") == [("ok",)]
    assert found(GONE) == []
    assert numbers(found(KEPT)) == set(KEPT)


def test_a_reader_of_the_past_is_waited_for_and_then_reported(
    open_store: OpenStore,
    found: Scan,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(driver, "BUSY_SECONDS", 0.2)
    store = open_store()
    store.write(list(range(20)))
    with running("holder.py", tmp_path / "memory.db") as (process, orders, output):
        lines_until(output, "holding")
        store.erase([1, 2])
        store.index.delete([1, 2])
        with pytest.raises(StoreUnavailableError, match=r"memory\.db.*another process"):
            store.log.scrub()
        with caplog.at_level(logging.WARNING, logger="hybrid_memory.engines.sqlite.database"):
            late = open_store()
        assert "another process" in caplog.text
        assert late.log.count(Scope(user="alice")) == 19
        late.close()
        orders.write("\n")
        orders.flush()
        assert process.wait(timeout=60) == 0
    store.log.scrub()
    assert found([0, 1]) == []
    assert numbers(found([2, 3])) == {2, 3}


def test_a_reader_that_ends_in_time_is_waited_for(open_store: OpenStore, found: Scan, tmp_path: Path) -> None:
    store = open_store()
    store.write(list(range(20)))
    with running("holder.py", tmp_path / "memory.db") as (process, orders, output):
        lines_until(output, "holding")
        store.erase([1, 2])
        store.index.delete([1, 2])
        with ThreadPoolExecutor() as pool:
            scrubbing = pool.submit(store.log.scrub)
            time.sleep(0.1)
            assert not scrubbing.done()
            orders.write("\n")
            orders.flush()
            scrubbing.result(timeout=60)
        assert process.wait(timeout=60) == 0
    assert found([0, 1]) == []


def test_threads_that_never_stop_reading_do_not_block_it(filled: Store, found: Scan) -> None:
    over = threading.Event()

    def read() -> int:
        rounds = 0
        while not over.is_set():
            assert len(filled.log.read(Scope(user="alice"))) >= len(KEPT)
            filled.index.matching(["quartz"], Where(Scope(user="alice")), 5)
            rounds += 1
        return rounds

    with ThreadPoolExecutor() as pool:
        reading = [pool.submit(read) for _ in range(4)]
        try:
            for batch in range(0, len(GONE), 12):
                positions = [number + 1 for number in GONE[batch : batch + 12]]
                filled.erase(positions)
                filled.index.delete(positions)
                filled.log.scrub()
        finally:
            over.set()
        assert all(job.result() > 1 for job in reading)
    assert found(GONE) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX locks")
def test_another_process_goes_on_writing_and_finding(filled: Store, found: Scan, tmp_path: Path) -> None:
    with running("neighbour.py", tmp_path / "memory.db") as (process, orders, output):
        lines_until(output, "writing")
        for number in GONE[:12]:
            filled.erase([number + 1])
            filled.index.delete([number + 1])
            filled.log.scrub()
            assert output.readline() == "writing\n"
        orders.write("\n")
        orders.flush()
        written = int(output.read().split()[-1])
        assert process.wait(timeout=60) == 0
    assert written > 12
    assert filled.log.count(Scope(user="bob")) == written
    assert filled.database.query("PRAGMA integrity_check") == [("ok",)]
    assert found(GONE[:12]) == []
    assert numbers(found(KEPT)) == set(KEPT)


def test_an_index_that_knew_a_deleted_vector_does_not_save_it_again(
    filled: Store, open_store: OpenStore, found: Scan
) -> None:
    other = open_store()
    other.index.train(Scope(user="alice"))
    filled.write(list(range(120, 150)))
    vectors = other.index._caches.vectors(1)
    assert vectors is not None
    assert vectors.grown
    positions = [number + 1 for number in GONE]
    filled.erase(positions)
    filled.index.delete(positions)
    other.close()
    filled.log.scrub()
    assert found(GONE) == []


def test_a_file_that_cannot_be_removed_keeps_the_records(
    filled: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("in use")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        with pytest.raises(StoreUnavailableError, match="in use"):
            filled.index.delete([1])
    assert len(filled.index.get([1])) == 1
    assert filled.index.delete([1]) == 1
    assert list((tmp_path / "memory.db.faiss").iterdir()) == []
