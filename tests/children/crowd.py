"""Eight threads that write to and recall from one store, so many rounds each; prints the ids that were acknowledged."""

import sys
from concurrent.futures import ThreadPoolExecutor

from hybrid_memory import HybridMemory, LearningConfig, MemoryConfig, open_memory

THREADS = 8


def work(memory: HybridMemory, name: str, rounds: int) -> list[str]:
    """What was acknowledged; every fourth turn it is recalled as well."""
    written: list[str] = []
    own, shared = memory.scoped(user=f"user-{name}", session="s"), memory.scoped(user="everybody", session=name)
    for number in range(rounds):
        text = f"{name} number {number} about cats"
        for alice in (own, shared):
            written += alice.remember(text, id=f"{alice.scope.user}/{name}/{number}").ids
        if number % 4 == 0:
            best = own.recall(f"{name} number {number}", k=1)
            if not best:
                raise AssertionError(f"{name} {number} was not found")
            shared.recall("cats", k=5)
            own.history(limit=3)
    return written


def main() -> None:
    """All of it through one memory."""
    url, process, rounds = sys.argv[1:]
    config = MemoryConfig(url=url, embedder="hashing", learning=LearningConfig(background=False))
    with open_memory(config) as memory, ThreadPoolExecutor(THREADS) as pool:
        jobs = [pool.submit(work, memory, f"{process}-{thread}", int(rounds)) for thread in range(THREADS)]
        for job in jobs:
            for name in job.result():
                sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    main()
