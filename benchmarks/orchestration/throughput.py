"""Texts a second, and calls of the embedder, through what batches and schedules them."""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from benchmarks.orchestration.models import Counted, asked, spoken
from hybrid_memory import Task
from hybrid_memory.models.batching import BatchingEmbedder
from hybrid_memory.ports import Embedder, Floats
from hybrid_memory.runtime.scheduler import Scheduler

BATCH = 32
THREADS = 64


def straight(model: Embedder, texts: Sequence[str]) -> None:
    """Batch by batch, as a loop of one's own does."""
    for first in range(0, len(texts), BATCH):
        model.embed_documents(texts[first : first + BATCH])


def batched(model: Embedder, texts: Sequence[str]) -> None:
    """One call with all texts."""
    BatchingEmbedder(model, batch_size=BATCH).embed_documents(texts)


def by_tasks(model: Embedder, texts: Sequence[str], *, size: int) -> None:
    """A task of the scheduler for every so many texts."""
    embedder, scheduler = BatchingEmbedder(model, batch_size=BATCH), Scheduler()
    jobs = [
        scheduler.schedule(Task(partial(embedder.embed_documents, texts[n : n + size]), kind="embedding", priority=3))
        for n in range(0, len(texts), size)
    ]
    for job in jobs:
        job.result()
    scheduler.close()


def together(embed: Callable[[str], Floats], questions: Sequence[str]) -> None:
    """Each question on a thread of its own, all at the same time."""
    ready = threading.Barrier(len(questions))

    def ask(question: str) -> None:
        ready.wait()
        embed(question)

    with ThreadPoolExecutor(len(questions)) as pool:
        list(pool.map(ask, questions))


def clocked(work: Callable[[], None], model: Counted) -> dict[str, float]:
    """Seconds of the clock and of the cores, and calls of the embedder."""
    began, burnt, calls = time.perf_counter(), time.process_time(), model.calls
    work()
    return {
        "wall": time.perf_counter() - began,
        "cpu": time.process_time() - burnt,
        "calls": float(model.calls - calls),
    }


def compared(ways: dict[str, Callable[[], None]], model: Counted, rounds: int) -> dict[str, list[dict[str, float]]]:
    """What each way takes in each round; who begins changes with the rounds."""
    names, rows = list(ways), {name: list[dict[str, float]]() for name in ways}
    for turn in range(rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            rows[name].append(clocked(ways[name], model))
    return rows


def throughput(options: argparse.Namespace, model: Counted) -> dict[str, Any]:
    """Texts a second through the batching embedder and the scheduler, and what many threads at once cost.

    Equal work: the same texts, none of them known, no cache; the raw embedder gets batches of 32. The ratio is raw
    time to this way's time, of the clock and of the cores. Then 64 threads that ask one question each, through the
    batching embedder and straight.
    """
    texts, questions = spoken(options.data, options.texts), asked(options.data)[:THREADS]
    model.embed_documents(texts[:BATCH])
    tasks = {
        f"scheduler, {size} texts a task": partial(by_tasks, model, texts, size=size) for size in (BATCH, BATCH // 4)
    }
    ways: dict[str, Callable[[], None]] = {
        "raw, batches of 32": partial(straight, model, texts),
        "BatchingEmbedder": partial(batched, model, texts),
        **tasks,
    }
    asking: dict[str, Callable[[], None]] = {
        f"{THREADS} threads, raw": partial(together, model.embed_query, questions),
        f"{THREADS} threads, batching": lambda: together(BatchingEmbedder(model).embed_query, questions),
    }
    result: dict[str, Any] = {}
    print(f"\n{len(texts)} texts, and {len(questions)} queries; {model.name}")
    print(f"{'':<30}{'calls':>7}{'texts/s':>10}{'wall ratio':>12}{'CPU ratio':>11}   wall ratio of each round")
    for group, count, rounds in ((ways, len(texts), 3 * options.rounds), (asking, len(questions), options.rounds)):
        rows = compared(group, model, rounds)
        first = next(iter(rows.values()))
        for name, mine in rows.items():
            result[name] = row = related(mine, first, count)
            print(
                f"{name:<30}{row['calls']:>7.0f}{row['texts_per_s']:>10.1f}{row['wall_ratio']:>12.3f}"
                f"{row['cpu_ratio']:>11.3f}   {' '.join(f'{ratio:.2f}' for ratio in row['rounds']['wall'])}",
                flush=True,
            )
    return result


def related(mine: Sequence[dict[str, float]], raw: Sequence[dict[str, float]], count: int) -> dict[str, Any]:
    """Medians over the rounds, and how this way stands to the raw one in each."""
    ratios = {
        clock: [base[clock] / row[clock] for base, row in zip(raw, mine, strict=True)] for clock in ("wall", "cpu")
    }
    return {
        "calls": statistics.median(row["calls"] for row in mine),
        "texts_per_s": count / statistics.median(row["wall"] for row in mine),
        "wall_ratio": statistics.median(ratios["wall"]),
        "cpu_ratio": statistics.median(ratios["cpu"]),
        "rounds": ratios,
    }
