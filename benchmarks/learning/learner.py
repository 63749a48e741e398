"""Eight threads that write to one store and learn from it at once; started by `concurrency` with url, name, turns."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from hybrid_memory import HybridMemory, MemoryConfig, open_memory

THREADS = 8
OWNERS = ("alice", "bob")
EVERY = 5
"""Turns after which a thread asks for the facts, which learns from all that is there."""


def write(memory: HybridMemory, process: str, thread: int, turns: int) -> None:
    """Say so many things that are each one claim."""
    owner = memory.scoped(user=OWNERS[thread % len(OWNERS)], session=f"{process}-{thread}")
    for number in range(turns):
        owner.remember(f"I am allergic to plant{process}{thread}x{number}.", id=f"{process}-{thread}-{number}")
        if number % EVERY == thread % EVERY:
            owner.facts(attribute="allergy")
        if number % (4 * EVERY) == 0:
            owner.flush(progress=False)


def main() -> None:
    """All threads through one memory."""
    url, process, turns = sys.argv[1:]
    config = MemoryConfig(url=url, embedder="hashing", power_safe=False)
    with open_memory(config) as memory, ThreadPoolExecutor(THREADS) as pool:
        for job in [pool.submit(write, memory, process, thread, int(turns)) for thread in range(THREADS)]:
            job.result()


if __name__ == "__main__":
    main()
