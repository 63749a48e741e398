"""What encryption costs: ratios of figures that were measured within this run, side by side.

The same turns written one by one and in hundreds, flushed, and asked for, in a plain and in an encrypted store in turn;
medians over all rounds. The vectors come from a cache, so that flushing is what the store does.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from benchmarks.compression.sets import CachedEmbedder, Table, load
from benchmarks.learning.sets import Options
from benchmarks.retrieval import messages
from hybrid_memory import MemoryConfig, Message, open_memory

KEY = "correct horse battery staple"
ROUNDS = 3
WRITTEN = 600
BATCH = 100
QUESTIONS = 60


def spent(call: Callable[[], object]) -> float:
    """Seconds."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def said(data: Path, name: str, count: int) -> list[Message]:
    """The first turns of a set, with ids of their own."""
    turns = (message for one in load(data, name) for _, those in messages(one["turns"]) for message in those)
    return [message.model_copy(update={"id": None}) for message in islice(turns, count)]


def run(options: Options) -> Iterator[Table]:
    """Plain and encrypted, and the ratio."""
    turns = said(options.data, "locomo", WRITTEN)
    questions = [question["question"] for question in next(load(options.data, "locomo"))["questions"][:QUESTIONS]]
    figures: dict[str, dict[str, list[float]]] = {}
    stored(turns, questions, options.embedder, None)  # fills the cache, so that no round embeds
    for _ in range(ROUNDS):
        for name, key in (("plain", None), ("encrypted", KEY)):
            for what, values in stored(turns, questions, options.embedder, key).items():
                figures.setdefault(what, {}).setdefault(name, []).extend(values)
    table = Table(
        f"Encryption: {ROUNDS} rounds of {len(turns)} turns, {len(questions)} questions, medians in ms",
        ["what", "plain", "encrypted", "ratio"],
    )
    for what, by_name in figures.items():
        plain, encrypted = (statistics.median(by_name[name]) * 1e3 for name in ("plain", "encrypted"))
        table.rows.append({"what": what, "plain": plain, "encrypted": encrypted, "ratio": encrypted / plain})
    yield table


def stored(
    turns: Sequence[Message], questions: Sequence[str], embedder: CachedEmbedder, key: str | None
) -> dict[str, list[float]]:
    """Seconds of each write, flush and recall in one store."""
    with tempfile.TemporaryDirectory() as folder:
        config = MemoryConfig(url=f"sqlite:///{folder}/memory.db")
        opening = time.perf_counter()
        with open_memory(config, embedder=embedder, key=key) as memory:
            opened = time.perf_counter() - opening
            owner = memory.scoped(user="u", session="s")
            middle = len(turns) // 2
            single = [spent(partial(owner.remember, turn)) for turn in turns[:middle]]
            parts = [list(turns[at : at + BATCH]) for at in range(middle, len(turns), BATCH)]
            batches = [spent(partial(owner.remember, part)) for part in parts]
            flush = spent(lambda: owner.flush(progress=False))
            owner.recall(questions[0])
            recalls = [spent(partial(owner.recall, asked)) for asked in questions]
    return {
        "open": [opened],
        "write a turn": single,
        f"write {BATCH} turns": batches,
        "flush": [flush],
        "recall": recalls,
    }
