"""Closes a memory while threads use it; prints "closed" if each of them learns of it by the right error."""

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


def main() -> None:
    """Several times, as it's a race."""
    with ThreadPoolExecutor(max_workers=THREADS) as pool:
        for turn in range(12):
            memory = open_memory(MemoryConfig(url=sys.argv[1], embedder="hashing"))
            alice = memory.scoped(user="alice")
            alice.remember([f"cat {number}" for number in range(20)])
            running = [pool.submit(work, alice) for _ in range(THREADS)]
            time.sleep(0.005 * (turn % 6))
            memory.close()
            for job in running:
                job.result()
    sys.stdout.write("closed\n")


if __name__ == "__main__":
    main()
