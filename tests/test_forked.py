"""A memory in a fork of its process: every verb refuses at once, and the parent's goes on."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridMemory, MemoryConfig, open_memory
from hybrid_memory.errors import MemoryClosedError
from tests.forks import exit_code

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
