"""Works on a store while other processes do the same: the verb, the URL, the name of this process, and its rounds.

What was acknowledged is printed.
"""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from hybrid_memory import HybridMemory, LearningConfig, MemoryConfig, open_memory

THREADS = 8


def write(memory: HybridMemory, name: str, rounds: int) -> list[str]:
    """The ids of turns of a user's own and of everybody's; every fourth turn it is recalled as well."""
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


def learn(memory: HybridMemory, name: str, rounds: int) -> list[str]:
    """A few facts, each followed by learning."""
    handle = memory.scoped(user="crowd", session=name)
    said = [f"I love topic{name}x{number}." for number in range(rounds)]
    for text in said:
        handle.remember(text)
        handle.flush()
    return said


def grant(memory: HybridMemory, name: str, rounds: int) -> list[str]:
    """The names of those who got a right in a shared space and kept it."""
    team = memory.scoped(user="alice").space("team")
    for number in range(rounds):
        team.grant(user=f"{name}-{number}", right="read")
        if number % 5 == 0:
            team.revoke(user=f"{name}-{number}")
    return [f"{name}-{number}" for number in range(rounds) if number % 5]


VERBS: dict[str, Callable[[HybridMemory, str, int], list[str]]] = {"write": write, "learn": learn, "grant": grant}


def main() -> None:
    """From eight threads through one memory."""
    verb, url, process, rounds = sys.argv[1:]
    embedder, learning = "hashing" if verb == "write" else "none", LearningConfig(background=verb != "write")
    config = MemoryConfig(url=url, embedder=embedder, learning=learning, power_safe=verb == "write")
    with open_memory(config) as memory, ThreadPoolExecutor(THREADS) as pool:
        jobs = [pool.submit(VERBS[verb], memory, f"{process}-{thread}", int(rounds)) for thread in range(THREADS)]
        for job in jobs:
            for name in job.result():
                sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    main()
