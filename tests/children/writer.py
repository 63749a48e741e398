"""Writes batches to a store until it is killed, and prints the ids of each batch once it is acknowledged.

For every number on stdin a fork of this process opens the store given as argument and starts writing; the fork
prints its process id first. Importing once and forking makes a hundred cycles quick.
"""

import faulthandler
import os
import sys

from hybrid_memory import MemoryConfig, open_memory

READ_EVERY = 3


def say(*words: object) -> None:
    """One line, at once."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def write(url: str, cycle: str) -> None:
    """Batches of one to three messages; every third time a recall, so that indexing is cut short as well."""
    alice = open_memory(MemoryConfig(url=url, embedder="hashing")).scoped(user="alice", session=f"s{cycle}")
    for batch in range(100_000):
        ids = [f"c{cycle}-b{batch}-{part}" for part in range(1 + batch % 3)]
        say(*alice.remember([{"content": f"cat number {name}", "id": name} for name in ids]).ids)
        if batch % READ_EVERY == 0:
            alice.recall("cat", k=1)


def main() -> None:
    """One fork after the other."""
    open_memory(MemoryConfig(url=sys.argv[1], embedder="hashing")).close()
    say("ready")
    for line in sys.stdin:
        child = os.fork()
        if not child:
            faulthandler.dump_traceback_later(120, exit=True)
            say(os.getpid())
            write(sys.argv[1], line.strip())
        os.waitpid(child, 0)
        say("dead")


if __name__ == "__main__":
    main()
