"""A memory that nobody holds any more gives back its files and threads, closed or not."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridMemory, MemoryConfig, Task, open_memory
from hybrid_memory.errors import MemoryClosedError
from tests.doubles import wait_until
from tests.forks import exit_code

pytestmark = pytest.mark.background


def files_of(folder: Path) -> int:
    """How many files of the folder this process has open."""
    opened = 0
    for entry in Path("/proc/self/fd").iterdir():
        try:
            opened += str(entry.readlink()).startswith(str(folder))
        except OSError:  # of the listing itself
            continue
    return opened


def used(folder: Path, number: int) -> None:
    """Open a memory, use it as an application does, and drop it."""
    memory = open_memory(MemoryConfig(url=f"sqlite:///{folder / f'{number}.db'}", embedder="hashing", power_safe=False))
    alice = memory.scoped(user="alice", session="monday")
    alice.remember(f"The otter number {number} sleeps under the bridge.")
    assert alice.recall("otter")
    alice.assemble("Where does the otter sleep?")
    assert memory.as_read_only().scoped(user="alice").recall("otter")


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts files the Linux way")
def test_dropped_memories_give_back_their_files_and_threads(tmp_path: Path) -> None:
    gc.collect()
    threads = threading.active_count()
    for number in range(2):
        used(tmp_path, number)
        gc.collect()
    wait_until(lambda: files_of(tmp_path) == 0)
    wait_until(lambda: threading.active_count() <= threads)


async def test_the_threads_of_the_async_face_go_too(tmp_path: Path) -> None:
    threads = threading.active_count()
    memory = open_memory(MemoryConfig(url=f"sqlite:///{tmp_path / 'memory.db'}", embedder="hashing"))
    alice = memory.scoped(user="alice", session="monday")
    await alice.aremember("The otter sleeps under the bridge.")
    assert await alice.arecall("otter")
    del memory, alice
    gc.collect()
    wait_until(lambda: threading.active_count() <= threads)


def test_a_part_of_a_memory_keeps_it_open(tmp_path: Path) -> None:
    config = MemoryConfig(url=f"sqlite:///{tmp_path / 'memory.db'}", embedder="none")
    alice = open_memory(config).scoped(user="alice", session="monday")
    reading = open_memory(config).as_read_only()
    job = open_memory(config).schedule(Task(lambda: None, "recall"))
    gc.collect()
    alice.remember("The otter sleeps under the bridge.")
    assert reading.scoped(user="alice").history()
    assert job.result(60) is None


def test_a_closed_reader_leaves_the_store_open(tmp_path: Path) -> None:
    with open_memory(MemoryConfig(url=f"sqlite:///{tmp_path / 'memory.db'}", embedder="none")) as memory:
        with memory.as_read_only() as reading:
            assert not reading.scoped(user="alice").history()
        assert memory.scoped(user="alice").remember("The otter sleeps under the bridge.").positions
    with pytest.raises(MemoryClosedError):
        reading.scoped(user="alice").history()


def test_what_was_acknowledged_survives_a_process_that_ends_without_closing(tmp_path: Path) -> None:
    code = (
        "import sys; from hybrid_memory import open_memory\n"
        "memory = open_memory(sys.argv[1], embedder=None)\n"
        "memory.scoped(user='alice', session='s').remember('The otter sleeps.')\n"
    )
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, url], check=True, timeout=120)  # noqa: S603
    with open_memory(MemoryConfig(url=url, embedder="none")) as memory:
        assert len(memory.scoped(user="alice").history()) == 1


VERBS: list[Callable[[HybridMemory], Any]] = [
    lambda memory: memory.scoped(user="u").remember("a cat"),
    lambda memory: asyncio.run(memory.scoped(user="u").aremember("a cat")),
    lambda memory: memory.scoped(user="u").recall("cat"),
    lambda memory: memory.scoped(user="u").block("notes").put("a cat"),
    lambda memory: memory.stats(),
    lambda memory: memory.flush(),
]


def _forks(url: str) -> None:
    memory = open_memory(MemoryConfig(url=url, embedder="hashing"))
    alice = memory.scoped(user="u")
    alice.remember("a dog")
    asyncio.run(alice.arecall("dog"))  # starts the threads
    memory._runtime._lock.acquire()  # as another thread may hold it while the process forks
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        for verb in VERBS:
            with pytest.raises(MemoryClosedError, match="forked"):
                verb(memory)
        memory.close()
        with open_memory(MemoryConfig(url=url, embedder="hashing")) as own:
            own.scoped(user="u").remember("a cat")
        os._exit(0)
    memory._runtime._lock.release()
    assert os.waitpid(child, 0)[1] == 0
    alice.remember("a bird")
    assert [message.text for message in alice.history()] == ["a dog", "a cat", "a bird"]
    memory.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows does not fork")
def test_a_fork_refuses_at_once_and_may_open_its_own(tmp_path: Path) -> None:
    assert exit_code(_forks, f"sqlite:///{tmp_path / 'memory.db'}") == 0
