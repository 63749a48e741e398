"""Processes that talk, learn, fold and forget on one store for an hour: whether anything becomes slower or larger.

Each process has users of its own and users whom all of them share. It remembers, recalls, assembles (which folds),
reads facts and profile, writes notes and forgets, and sleeps between turns. Latency by verb is reported as it goes; in
the end the median of the last tenth of the time is compared with that of the second, and memory with what it was then.
What a fixed piece of work takes tells how busy the machine is with others: ratios are told beside it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.queues import Queue
from pathlib import Path
from queue import Empty
from tempfile import TemporaryDirectory
from typing import Any

from hybrid_memory import CompactionConfig, HybridMemory, MemoryConfig, Message, Role, ScopedMemory, open_memory
from hybrid_memory.errors import HybridMemoryError

TENTHS = 10
MOST = 1.5
"""Times the latency of the second tenth that the last tenth may have."""

NOISE = 2.0
"""Milliseconds that a median may grow by, whatever the ratio: what a busy machine does by itself."""

MOST_MEMORY = 1.3
MACHINE = "(machine)"
"""The fixed piece of work."""

ROUNDS = 5_000
BUDGET = 2_000
OWN, SHARED = 3, 2

THINGS = ("green tea", "sailing", "old maps", "jazz", "chess", "cycling", "ramen", "poetry", "orchids", "opera")
CITIES = ("Berlin", "Oslo", "Rome", "Lisbon", "Vienna", "Porto", "Ghent", "Turin")

Sample = tuple[float, str, float]
"""Seconds since the beginning, the verb, and the seconds that it took."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How long, how many, and how fast."""
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--pause", type=float, default=0.5, help="seconds of sleep between two turns of a process")
    parser.add_argument("--every", type=float, default=60, help="seconds between two reports")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)


def said(chance: random.Random, turn: int) -> str:
    """What a user says: of every kind that rules learn from, and more that they do not."""
    thing, city = chance.choice(THINGS), chance.choice(CITIES)
    return chance.choice(
        (
            f"I like {thing} number {turn}.",
            f"I don't like {thing} any more.",
            f"I live in {city}.",
            f"Remind me to buy {thing} {turn} on Friday.",
            f"我喜欢{turn}号茶。",
            f"What did I tell you about {thing}?",
            f"The train to {city} was late by {turn % 60} minutes, platform {turn % 24}, and nobody told us why.",
            f"Error: build {turn} failed in src/part{turn % 50}.py line {turn % 900}.",
        )
    )


class Talk:
    """One process's share: which owners it speaks for, and how long each verb takes."""

    def __init__(self, memory: HybridMemory, number: int, seed: int, begin: float) -> None:
        self.samples: list[Sample] = []
        self.refused: dict[str, int] = defaultdict(int)
        self._chance = random.Random(f"{seed}:{number}")  # noqa: S311 - words, no secret
        self._begin = begin
        self._users = [f"own-{number}-{one}" for one in range(OWN)] + [f"shared-{one}" for one in range(SHARED)]
        self._memory = memory
        self._ids: dict[int, list[str]] = defaultdict(list)
        self._number = number
        self._turn = 0

    @contextmanager
    def _timed(self, verb: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        except HybridMemoryError as error:
            self.refused[f"{verb}: {type(error).__name__}"] += 1
        finally:
            self.samples.append((started - self._begin, verb, time.perf_counter() - started))

    def turn(self) -> None:
        """One turn of one of the owners, with what its program does around it."""
        self._turn += 1
        which = self._chance.randrange(len(self._users))
        owner = self._memory.scoped(user=self._users[which])
        # Every process has sessions of its own; a new one begins now and then, as in life.
        session = self._memory.scoped(user=self._users[which], session=f"s{self._number}-{self._turn // 400}")
        words = said(self._chance, self._turn)
        with self._timed(MACHINE):
            hashlib.pbkdf2_hmac("sha256", b"words", b"salt", ROUNDS)
        with self._timed("remember"):
            receipt = session.remember([Message(content=words, role=Role.USER)])
            self._ids[which] += receipt.ids
        with self._timed("recall"):
            owner.recall(f"What about {self._chance.choice(THINGS)}?")
        with self._timed("assemble"):
            session.assemble(words, max_tokens=BUDGET)
        with self._timed("answer"):
            session.remember([Message(content=f"Noted: {words}", role=Role.ASSISTANT)])
        self._now_and_then(owner, which)

    def _now_and_then(self, owner: ScopedMemory, which: int) -> None:
        if self._turn % 3 == 0:
            with self._timed("facts"):
                owner.facts(attribute="home")
        if self._turn % 5 == 0:
            with self._timed("profile"):
                owner.profile()
        if self._turn % 7 == 0:
            with self._timed("note"):
                owner.block("human").put(f"turn {self._turn}")
        if self._turn % 40 == 0 and len(self._ids[which]) > 1:
            with self._timed("forget"):
                owner.forget(ids=[self._ids[which].pop(self._chance.randrange(len(self._ids[which])))])


def resident(process: int) -> float:
    """Megabytes of memory that a process takes; 0 where the system does not tell."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def speak(url: str, number: int, args: argparse.Namespace, begin: float, results: Queue[Any]) -> None:
    """What a process does until its time is over; it reports what it measured as it goes."""
    config = MemoryConfig(url=url, embedder="hashing", compaction=CompactionConfig(max_tokens=BUDGET))
    with open_memory(config) as memory:
        talk = Talk(memory, number, args.seed, begin)
        end, reported = begin + 60 * args.minutes, time.perf_counter()
        while time.perf_counter() < end:
            talk.turn()
            time.sleep(args.pause)
            if time.perf_counter() - reported >= min(args.every, 6 * args.minutes):
                reported = time.perf_counter()
                results.put((number, talk.samples, dict(talk.refused), resident(os.getpid())))
                talk.samples = []
        results.put((number, talk.samples, dict(talk.refused), resident(os.getpid())))
    results.put((number, None, {}, 0.0))


class Report:
    """What the processes measured, as it comes in."""

    def __init__(self, args: argparse.Namespace, folder: Path, begin: float) -> None:
        self.samples: list[Sample] = []
        self.memory: dict[int, list[tuple[float, float]]] = defaultdict(list)
        self.refused: dict[int, dict[str, int]] = {}
        self._args, self._folder, self._begin = args, folder, begin
        self._printed = begin

    def take(self, number: int, samples: list[Sample], refused: dict[str, int], megabytes: float) -> None:
        """Note the report of one process; print one of all when it is time."""
        now = time.perf_counter()
        self.samples += samples
        self.refused[number] = refused
        self.memory[number].append((now - self._begin, megabytes))
        if now - self._printed >= self._args.every:
            self._print(self._printed - self._begin, now - self._begin)
            self._printed = now

    def _print(self, since: float, until: float) -> None:
        by_verb: dict[str, list[float]] = defaultdict(list)
        for at, verb, seconds in self.samples:
            if since <= at < until:
                by_verb[verb].append(1000 * seconds)
        latency = "  ".join(f"{verb} {_at(ms, 0.5):.1f}/{_at(ms, 0.95):.1f}" for verb, ms in sorted(by_verb.items()))
        memory = " ".join(f"{kept[-1][1]:.0f}" for _, kept in sorted(self.memory.items()))
        size = sum(file.stat().st_size for file in self._folder.iterdir()) / 2**20
        print(f"{until / 60:5.1f} min  ms p50/p95: {latency}  MB: {memory}  files: {size:.1f} MB", flush=True)

    def verdict(self) -> dict[str, Any]:
        """Ratios of the last tenth to the second, by verb, and the growth of memory."""
        tenth = 60 * self._args.minutes / TENTHS
        verbs: dict[str, dict[str, Any]] = {}
        pace = 1.0
        for verb in sorted({verb for _, verb, _ in self.samples}):  # the machine comes first
            second, last = (
                [1000 * seconds for at, name, seconds in self.samples if name == verb and tenth * n <= at < tenth * end]
                for n, end in ((1, 2), (TENTHS - 1, TENTHS * 2))
            )
            if second and last:
                before, after = statistics.median(second), statistics.median(last)
                ratio = after / before
                pace = max(1.0, ratio) if verb == MACHINE else pace
                verbs[verb] = {
                    "second": round(before, 2), "last": round(after, 2), "ratio": round(ratio, 2),
                    "p95": [round(_at(second, 0.95), 2), round(_at(last, 0.95), 2)],
                    "held": verb == MACHINE or after <= max(MOST * pace * before, before + NOISE),
                }  # fmt: skip
        memory = {number: _growth(kept, tenth) for number, kept in sorted(self.memory.items())}
        return {"verbs": verbs, "memory": memory, "refused": self.refused}


def _growth(kept: list[tuple[float, float]], tenth: float) -> dict[str, Any]:
    """Megabytes after the second tenth and at the end, and the slope in megabytes an hour from there on."""
    late = [one for one in kept if one[0] >= 2 * tenth] or kept
    first, last = late[0], late[-1]
    hours = (last[0] - first[0]) / 3600
    slope = (last[1] - first[1]) / hours if hours else 0.0
    held = last[1] <= MOST_MEMORY * first[1] or not first[1]
    return {"begin": round(first[1], 1), "end": round(last[1], 1), "per hour": round(slope, 1), "held": held}


def _at(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def run(args: argparse.Namespace) -> int:
    """Let them all talk; 0 if nothing became slower or larger than it may."""
    context = multiprocessing.get_context("spawn")
    with TemporaryDirectory() as folder:
        results: Queue[Any] = context.Queue()
        begin = time.perf_counter()
        report = Report(args, Path(folder), begin)
        given = [(f"sqlite:///{folder}/memory.db", number, args, begin, results) for number in range(args.processes)]
        processes = [context.Process(target=speak, args=one) for one in given]
        for process in processes:
            process.start()
        left = args.processes
        while left and any(process.is_alive() for process in processes):
            left -= _next(results, report.take)
        while not results.empty():
            left -= _next(results, report.take)
        for process in processes:
            process.join()
        died = sum(process.exitcode != 0 for process in processes)
    verdict = report.verdict() | {"died": died}
    print(json.dumps(verdict, indent=2))
    if args.json:
        args.json.write_text(json.dumps(verdict, indent=2) + "\n", encoding="utf-8")
    held = all(one["held"] for part in ("verbs", "memory") for one in verdict[part].values())
    return 0 if held and not died and verdict["verbs"] else 1


def _next(results: Queue[Any], take: Callable[..., None]) -> int:
    """Take the next report, if one comes soon; 1 if it is a process's last."""
    try:
        number, samples, refused, megabytes = results.get(timeout=1)
    except Empty:
        return 0
    if samples is None:
        return 1
    take(number, samples, refused, megabytes)
    return 0
