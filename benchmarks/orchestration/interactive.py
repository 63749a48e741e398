"""Recalls that somebody waits for, while much else waits to be embedded."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.orchestration.models import Counted, asked, spoken, spread
from hybrid_memory import HybridMemory, LearningConfig, MemoryConfig, Task, open_memory
from hybrid_memory.config import OrchestrationConfig

INDEXED = 2_000
PER_OWNER = 20
DUE_WITHIN = 300.0
"""Seconds over which the deadlines of the background tasks are spread."""
RACERS = 16
"""Threads of the unscheduled background."""
AT_ONCE = 256
"""Calls of the embedder at once where nothing is batched: more than there are threads."""


@dataclass
class Background:
    """Owners whose turns wait to be indexed, each due at its own time after the start.

    Attributes:
        misses: owners whose work had not begun when it was due; stop: ends it.
    """

    owners: Sequence[str]
    misses: Callable[[], int]
    stop: Callable[[], None]
    began: float = field(default_factory=time.monotonic)

    def due(self) -> int:
        """Owners whose deadline has passed."""
        return min(len(self.owners), int((time.monotonic() - self.began) / DUE_WITHIN * len(self.owners)))


def deadlines(owners: Sequence[str]) -> list[float]:
    """Seconds after the start, spread evenly."""
    return [(place + 1) * DUE_WITHIN / len(owners) for place in range(len(owners))]


def scheduled(memory: HybridMemory, owners: Sequence[str]) -> Background:
    """Each owner's indexing as a task of the memory's scheduler."""
    for owner, due in zip(owners, deadlines(owners), strict=True):
        handle = memory.scoped(user=owner)
        memory.schedule(
            Task(
                partial(handle.flush, progress=False),
                kind="indexing",
                priority=3,
                deadline=timedelta(seconds=due),
                scope=handle.scope,
            )
        )
    return Background(owners, lambda: memory.work.kinds["indexing"].missed, memory.close)


def racing(memory: HybridMemory, owners: Sequence[str]) -> Background:
    """The same on plain threads, each taking the next owner that is not overdue."""
    began, stopped, lock, missed = time.monotonic(), threading.Event(), threading.Lock(), Counter[str]()
    waiting = iter(zip(owners, deadlines(owners), strict=True))

    def work() -> None:
        while not stopped.is_set():
            with lock:
                owner, due = next(waiting, ("", 0.0))
            if not owner:
                return
            if time.monotonic() - began > due:
                missed[owner] = 1
            else:
                memory.scoped(user=owner).flush(progress=False)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(RACERS)]
    for thread in threads:
        thread.start()

    def stop() -> None:
        stopped.set()
        for thread in threads:
            thread.join()
        memory.close()

    return Background(owners, lambda: len(missed), stop, began)


async def burst(memory: HybridMemory, questions: Sequence[str]) -> list[float]:
    """Seconds until each of the questions, asked at the same time, was answered."""
    alice, began = memory.scoped(user="alice"), time.perf_counter()

    async def ask(question: str) -> float:
        await alice.arecall(question)
        return time.perf_counter() - began

    return list(await asyncio.gather(*map(ask, questions)))


def settings(url: str, *, batched: bool = True) -> MemoryConfig:
    """Nothing runs in the background but what is measured; not batched lets each call of the embedder pass at once."""
    work = OrchestrationConfig(background=False)
    if not batched:
        work = OrchestrationConfig(background=False, cache=0, window=timedelta(0), embedding_concurrency=AT_ONCE)
    return MemoryConfig(url=url, power_safe=False, orchestration=work, learning=LearningConfig(background=False))


def filled(folder: Path, model: Counted, turns: Sequence[str], owners: Sequence[str]) -> None:
    """A store of one owner with indexed turns, and of others whose turns wait."""
    model.filling = True
    with open_memory(settings(f"sqlite:///{folder / 'memory.db'}"), embedder=model) as memory:
        for first in range(0, INDEXED, PER_OWNER):
            memory.scoped(user="alice", session=f"s{first}").remember(list(turns[first : first + PER_OWNER]))
        memory.scoped(user="alice").flush(progress=False)
        rest = turns[INDEXED:]
        for place, owner in enumerate(tqdm(owners, desc="owners", disable=None)):
            said = rest[place * PER_OWNER : (place + 1) * PER_OWNER]
            memory.scoped(user=owner, session="s").remember(list(said))
    model.filling = False


def one_burst(way: str, store: Path, model: Counted, owners: Sequence[str], questions: Sequence[str]) -> dict[str, Any]:
    """The recalls of one way, in a fresh copy of the store."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(store, folder, dirs_exist_ok=True)
        memory = open_memory(settings(f"sqlite:///{folder}/memory.db", batched=way != "unscheduled"), embedder=model)
        try:
            for question in questions[:3]:
                memory.scoped(user="alice").recall(f"before all: {question}")
            background, before = None, model.documents
            if way != "idle":
                background = (scheduled if way == "scheduled" else racing)(memory, owners)
                while model.documents == before:
                    time.sleep(0.01)
            before, burnt = model.documents, time.process_time()
            seconds = asyncio.run(burst(memory, questions))
            row: dict[str, Any] = {"seconds": seconds, "cpu": time.process_time() - burnt}
            row["embedded"] = model.documents - before
            if background is not None:
                row |= {"due": background.due(), "missed": background.misses()}
                background.stop()
            return row
        finally:
            memory.close()


def interactive(options: argparse.Namespace, model: Counted) -> dict[str, Any]:
    """So many recalls at once, while nothing else is done and while other owners' turns wait to be embedded.

    Equal work: the same store with 2,000 indexed turns of one owner, the same questions, the same 20 turns for each of
    the other owners, under the same deadlines. ``scheduled`` has them as tasks of priority 3; ``unscheduled`` on 16
    plain threads, and no call of the embedder waits for another or is merged with it. The indexed turns have stand-in
    vectors; questions and waiting turns are embedded for real. A latency is counted from when all were asked.
    """
    owners = [f"owner {number}" for number in range(options.queued // PER_OWNER)]
    questions = asked(options.data)
    ways: dict[str, list[dict[str, Any]]] = {"idle": [], "scheduled": [], "unscheduled": []}
    with tempfile.TemporaryDirectory() as folder:
        filled(Path(folder), model, spoken(options.data, INDEXED + options.queued), owners)
        for turn in range(options.rounds):
            few = [questions[(turn * options.recalls + n) % len(questions)] for n in range(options.recalls)]
            for way, rows in ways.items():
                if way == "unscheduled" and turn:
                    continue
                rows.append(one_burst(way, Path(folder), model, owners, few))
    print(f"\n{options.recalls} recalls at once, {options.queued:,} turns of other owners to be embedded; {model.name}")
    heads = (
        f"{'p50 ms':>9}{'p95 ms':>9}{'p99 ms':>9}{'p99 to idle':>18}{'CPU':>7}{'embedded/s':>12}{'missed of due':>16}"
    )
    print(f"{'':<14}{heads}")
    result: dict[str, Any] = {"recalls": options.recalls, "queued": options.queued, "rounds": options.rounds}
    for way, rows in ways.items():
        result[way] = figures = summed(rows, ways["idle"])
        ratios = figures["ratios"]
        p99 = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"
        missed = "" if way == "idle" else f"{figures['missed']} of {figures['due']}"
        print(
            f"{way:<14}{figures['p50']:>9,.0f}{figures['p95']:>9,.0f}{figures['p99']:>9,.0f}{p99:>18}"
            f"{statistics.median(figures['cpu_ratios']):>7.2f}{figures['embedded_per_s']:>12.1f}{missed:>16}",
            flush=True,
        )
    return result


def summed(rows: Sequence[dict[str, Any]], idle: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Quantiles over all rounds of one way, and its ratio to idle in each: of the p99, and of the seconds of the cores.

    Where other processes take the cores away, the latter tells how much else was done while the recalls waited.
    """
    figures: dict[str, Any] = spread([second for row in rows for second in row["seconds"]])
    figures["ratios"] = [
        spread(row["seconds"])["p99"] / spread(base["seconds"])["p99"] for row, base in zip(rows, idle, strict=False)
    ]
    figures["cpu_ratios"] = [row["cpu"] / base["cpu"] for row, base in zip(rows, idle, strict=False)]
    figures["embedded_per_s"] = sum(row["embedded"] for row in rows) / sum(max(row["seconds"]) for row in rows)
    return figures | {name: sum(row.get(name, 0) for row in rows) for name in ("due", "missed")}
