"""Closes a memory while threads use it; prints "closed" and the URL if each of them learns of it by the right error."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Semaphore

from hybrid_memory import MemoryConfig, ScopedMemory, open_memory
from hybrid_memory.errors import MemoryClosedError

THREADS = 6


def work(alice: ScopedMemory, rounds: Semaphore) -> None:
    """Until the memory is closed; every round is counted."""
    try:
        while True:
            alice.recall("cat")
            alice.remember("another cat")
            rounds.release()
    except MemoryClosedError:
        return


def race(url: str, pool: ThreadPoolExecutor) -> None:
    """Several times, as it's a race."""
    for turn in range(6):
        memory = open_memory(MemoryConfig(url=url, embedder="hashing"))
        alice = memory.scoped(user="alice")
        alice.remember([f"cat {number}" for number in range(20)])
        rounds = Semaphore(0)
        running = [pool.submit(work, alice, rounds) for _ in range(THREADS)]
        for _ in range(turn * 2):
            rounds.acquire()
        memory.close()
        for job in running:
            job.result()


def main() -> None:
    """On each store that is given."""
    with ThreadPoolExecutor(max_workers=THREADS) as pool:
        for url in sys.argv[1:]:
            race(url, pool)
            sys.stdout.write(f"closed {url}\n")


if __name__ == "__main__":
    main()
