"""Appends to a block of a shared space while other processes do the same."""

import sys
from concurrent.futures import ThreadPoolExecutor

from hybrid_memory import HybridMemory, MemoryConfig, open_memory

THREADS = 4
EACH = 5


def work(memory: HybridMemory, name: str) -> None:
    """Of one agent."""
    agent = memory.scoped(user="alice", agent=name).space("team")
    for number in range(EACH):
        agent.block("task").edit(append=f"{name} {number}")
        agent.block("task").edit(append=f"{name} {number}?")
        agent.block("task").edit(old=f"{name} {number}?", new=f"{name} {number}!")


def main() -> None:
    """As several agents of the process that the second argument names."""
    url, process = sys.argv[1:]
    with open_memory(MemoryConfig(url=url, embedder="none", power_safe=False)) as memory, ThreadPoolExecutor() as pool:
        list(pool.map(lambda thread: work(memory, f"{process}-{thread}"), range(THREADS)))


if __name__ == "__main__":
    main()
