"""Writes facts and learns from eight threads at once; a child of the tests of learning."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from hybrid_memory import HybridMemory, MemoryConfig, open_memory

THREADS = 8
TURNS = 5


def say(memory: HybridMemory, who: str, thread: int) -> None:
    """A few facts, each followed by learning."""
    handle = memory.scoped(user="crowd", session=f"{who}-{thread}")
    for number in range(TURNS):
        handle.remember(f"I love topic{who}x{thread}x{number}.")
        handle.flush()


def main() -> None:
    """Learn as the process that the second argument names."""
    url, who = sys.argv[1:]
    config = MemoryConfig(url=url, embedder="none", power_safe=False)
    with open_memory(config) as memory, ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda thread: say(memory, who, thread), range(THREADS)))


if __name__ == "__main__":
    main()
