"""What is killed: forks of this process that write to a memory, and others that look at what is left of it.

One order a line on stdin, as JSON: ``write`` forks a writer, which prints its process id, then the ids of each batch
once it is acknowledged, until it is killed; ``check`` prints what is wrong. Both end with ``dead``.
"""

from __future__ import annotations

import json
import logging
import os
import random
import sys
import time
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from hybrid_memory import MemoryConfig, ScopedMemory, open_memory
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.memory.opening import check_store

OLD = datetime(2024, 1, 1, tzinfo=UTC)
READ_EVERY, FLUSH_EVERY = 3, 11
RECALLED = 5


def say(*words: object) -> None:
    """One line, at once."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def patiently(remember: Any) -> Any:
    """What a write returns, made again under the same ids while the server is away."""
    give_up = time.monotonic() + 60
    while True:
        try:
            return remember()
        except StoreUnavailableError:
            if time.monotonic() > give_up:
                raise
            time.sleep(0.02)


def write(config: MemoryConfig, cycle: int) -> None:
    """Batches of one to three messages; in between recalls, flushes and moves to the archive, if there is one."""
    memory = patiently(lambda: open_memory(config))
    alice: ScopedMemory = memory.scoped(user="alice", session=f"s{cycle % 7}")
    at = OLD if config.archive.url else None
    for batch in range(1_000_000):
        ids = [f"c{cycle}-b{batch}-{part}" for part in range(1 + batch % 3)]
        said = [{"content": f"The cat number {name} sat on the mat.", "id": name, "at": at} for name in ids]
        say(*patiently(lambda said=said: alice.remember(said)).ids)
        if batch % READ_EVERY == 0:
            patiently(lambda: alice.recall("cat", k=1))
        if batch % FLUSH_EVERY == 0:
            patiently(memory.flush)
        if config.archive.url and batch % READ_EVERY == 1:
            patiently(memory.archive)


def wrong(config: MemoryConfig, acknowledged: list[str], seed: int) -> list[str]:
    """What is lost, doubled, not found, or complained of by the doctor."""
    with open_memory(config) as memory:
        said = Counter(str(message.id) for message in memory.scoped(user="alice").history())
        found = [f"lost {name}" for name in acknowledged if name not in said]
        found += [f"{count} times {name}" for name, count in said.items() if count > 1]
        memory.flush()
        stats = memory.stats()
        if (stats.records, stats.vectors, stats.unindexed, stats.pending) != (len(said), len(said), 0, 0):
            found.append(f"{len(said)} messages, but {stats!r}")
        chance = random.Random(seed)  # noqa: S311 - for tests
        for name in chance.sample(acknowledged, min(RECALLED, len(acknowledged))):
            hits = memory.scoped(user="alice").recall(f'"{name}"', k=5)
            if name not in {hit.record.sources[0] for hit in hits}:
                found.append(f"not recalled {name}: {[hit.note for hit in hits[:1]]}")
    if not config.archive.url:  # which the doctor's second connection would find locked
        found += [one.told for one in check_store(config) if one.state == "wrong"]
    return found


def warmed() -> None:
    """Import once what every fork needs; threads and connections are theirs alone."""
    with open_memory(MemoryConfig(url="memory://", embedder="hashing")) as memory:
        memory.scoped(user="alice").remember("I live in Lisbon.")
        memory.scoped(user="alice").recall("Where do I live?")
        memory.flush()
    for name in (
        "faiss",
        "hybrid_memory.engines.sqlite",
        "hybrid_memory.engines.postgres",
        "hybrid_memory.engines.redis",
        "hybrid_memory.engines.milvus",
    ):
        with suppress(ImportError):
            import_module(name)


def main() -> None:
    """One fork after the other."""
    logging.disable(logging.CRITICAL)  # every lost connection is told at length
    warmed()
    say("ready")
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if not child:
            try:
                config = MemoryConfig.of(order["config"])
                if order["do"] == "write":
                    say(os.getpid())
                    write(config, order["cycle"])
                else:
                    names = Path(order["acknowledged"]).read_text(encoding="utf-8").split()
                    for one in wrong(config, names, order["cycle"]):
                        say("wrong", one)
            except BaseException as error:  # noqa: BLE001 - told to who reads
                say("wrong", f"{type(error).__name__}: {error}".replace("\n", " "))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        say("dead")


if __name__ == "__main__":
    main()
