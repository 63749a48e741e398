"""Many users at once in one process, over one store: how long they wait, what fails, and who sees another's words.

Each user is a task on one event loop that pauses, and then says something or asks something, half of each. Everything
that a user says has a word of the user's own, and a fifth of the questions are for the word of somebody else: a hit
without the own word is a leak. What was acknowledged is compared with the log at the end. Vectors are made in
microseconds. Without --url a store in a file; with ``postgres`` a server of its own is started.
"""

import argparse
import asyncio
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
from tqdm import tqdm

from benchmarks.peers.texts import Clustered, Corpus
from hybrid_memory import Hit, HybridMemory, MemoryConfig, ScopedMemory, open_memory
from hybrid_memory.errors import HybridMemoryError

T = TypeVar("T")

K = 5
SPIES = 0.2
LONGEST = 30.0
"""Seconds that an answer may take."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How many users, and for how long."""
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--pause", type=float, default=5.0, help="seconds between what a user does, the mean")
    parser.add_argument("--turns", type=int, default=100, help="that each user said before")
    parser.add_argument("--url", help="of an empty store; postgres starts a server")
    parser.add_argument("--json", type=Path)


def word_of(user: int) -> str:
    """A word that nobody else says."""
    return f"quill{user:05d}"


@dataclass(slots=True)
class Crowd:
    """What the users did, and what came of it."""

    memory: HybridMemory
    users: int
    pause: float
    ends: float = 0.0
    spent: dict[str, list[float]] = field(default_factory=lambda: {"remember": [], "recall": []})
    acknowledged: dict[int, list[str]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    leaks: list[str] = field(default_factory=list)
    empty: int = 0

    def scoped(self, user: int) -> ScopedMemory:
        """The memory of a user."""
        return self.memory.scoped(user=word_of(user), session="crowd")

    def fill(self, corpus: Corpus, turns: int) -> None:
        """What they said before, indexed."""
        for user in tqdm(range(self.users), desc="users", disable=None):
            said = [f"{word_of(user)} {text}" for text in corpus.texts(user, 0, turns)]
            self.acknowledged[user] = list(self.scoped(user).remember(said).ids)
        self.memory.flush(progress=False)

    async def run(self, corpus: Corpus, minutes: float) -> None:
        """All of them, until the time is over."""
        said = {user: corpus.texts(user, 1000, 1000) for user in range(self.users)}
        self.ends = time.monotonic() + 60 * minutes
        await asyncio.gather(*(self._user(user, said[user]) for user in range(self.users)))

    async def _user(self, user: int, texts: list[str]) -> None:
        chance = random.Random(user)  # noqa: S311 - a user, no secret
        scoped = self.scoped(user)
        while True:
            await asyncio.sleep(chance.expovariate(1 / self.pause))
            if time.monotonic() > self.ends:
                return
            text = chance.choice(texts)
            if chance.random() < 0.5:
                receipt = await self._timed("remember", scoped.aremember(f"{word_of(user)} {text}"))
                self.acknowledged[user] += receipt.ids if receipt else ()
                continue
            other = chance.randrange(self.users) if chance.random() < SPIES else user
            hits = await self._timed("recall", scoped.arecall(f"{word_of(other)} {' '.join(text.split()[-8:])}", k=K))
            self._look(user, hits or ())

    async def _timed(self, verb: str, call: Awaitable[T]) -> T | None:
        started = time.perf_counter()
        try:
            answer = await asyncio.wait_for(call, LONGEST)
        except (HybridMemoryError, TimeoutError) as error:
            self.errors[f"{verb}: {type(error).__name__}: {error}"[:200]] += 1
            return None
        self.spent[verb].append((time.perf_counter() - started) * 1e3)
        return answer

    def _look(self, user: int, hits: Sequence[Hit]) -> None:
        """A turn without the own word is somebody else's, and so is a fact that was read from one."""
        self.empty += not hits
        own = set(self.acknowledged[user])
        self.leaks += [
            f"{word_of(user)} saw {hit.record.text!r}"
            for hit in hits
            if word_of(user) not in hit.record.text
            and (hit.record.kind == "turn" or not own.issuperset(hit.record.sources))
        ]

    def checked(self) -> dict[str, int]:
        """What is not as it must be: turns that are lost or there twice, of the wrong user, and leaks at the end."""
        found: Counter[str] = Counter(lost=0, twice=0, strange=0)
        for user in range(self.users):
            history = self.scoped(user).history()
            there = Counter(str(message.id) for message in history)
            found["lost"] += len(set(self.acknowledged[user]) - set(there))
            found["twice"] += sum(there.values()) - len(there)
            found["strange"] += sum(word_of(user) not in message.text for message in history)
            hits = self.scoped(user).recall(f"{word_of(user)} {word_of((user + 1) % self.users)}", k=4 * K)
            self._look(user, hits)
        return dict(found)


def opened(url: str | None, folder: Path, stack: ExitStack) -> HybridMemory:
    """The store that they share."""
    if url == "postgres":
        from tests.postgres_server import PostgresServer  # noqa: PLC0415 - optional

        url = stack.enter_context(PostgresServer(folder / "server")).url
    config = MemoryConfig.of({"url": url or f"sqlite:///{folder / 'memory.db'}", "recall": {"cache_ttl": 0}})
    return stack.enter_context(open_memory(config, embedder=Clustered()))


def run(args: argparse.Namespace) -> int:
    """Print a row for each verb; 0 if nothing failed, nothing was lost, and nobody saw another's."""
    corpus = Corpus()
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        crowd = Crowd(opened(args.url, Path(folder), stack), args.users, args.pause)
        crowd.fill(corpus, args.turns)
        asyncio.run(crowd.run(corpus, args.minutes))
        wrong = crowd.checked()
    told = figures(crowd, args.minutes) | {"wrong": wrong}
    print(f"{args.users} users, {args.minutes:g} minutes, {args.pause:g} s between what one does")
    for verb, row in told["verbs"].items():
        print(f"{verb:<10}" + "".join(f"{name:>8} {value:>9,.1f}" for name, value in row.items()))
    print(f"errors {sum(crowd.errors.values())}, leaks {len(crowd.leaks)}, {wrong}, recalls with nothing {crowd.empty}")
    for problem in [*(f"{count} times {error}" for error, count in crowd.errors.most_common(5)), *crowd.leaks[:5]]:
        print(f"  {problem}")
    if args.json:
        args.json.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    return 1 if crowd.errors or crowd.leaks or any(wrong.values()) else 0


def figures(crowd: Crowd, minutes: float) -> dict[str, Any]:
    """Milliseconds of each verb, and how often it was called in a second."""
    verbs = {
        verb: {
            "a second": len(spent) / (60 * minutes),
            "p50 ms": statistics.median(spent),
            **{f"p{share} ms": float(np.percentile(spent, share)) for share in (95, 99)},
            "most ms": max(spent),
        }
        for verb, spent in crowd.spent.items()
        if spent
    }
    return {"verbs": verbs, "errors": dict(crowd.errors), "leaks": len(crowd.leaks)}
