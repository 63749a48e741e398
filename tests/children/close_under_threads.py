"""Closes a memory while threads use it; prints "closed" and the URL if each of them learns of it by the right error."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

from hybrid_memory import MemoryConfig, ScopedMemory, open_memory
from hybrid_memory.errors import MemoryClosedError

THREADS = 6


def work(alice: ScopedMemory) -> None:
    """Until the memory is closed."""
    try:
        while True:
            alice.recall("cat")
            alice.remember("another cat")
    except MemoryClosedError:
        return


def race(url: str, pool: ThreadPoolExecutor) -> None:
    """Several times, as it's a race."""
    for turn in range(6):
        memory = open_memory(MemoryConfig(url=url, embedder="hashing"))
        alice = memory.scoped(user="alice")
        alice.remember([f"cat {number}" for number in range(20)])
        running = [pool.submit(work, alice) for _ in range(THREADS)]
        time.sleep(0.005 * turn)
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
