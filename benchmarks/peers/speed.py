"""Speed over stores of growing size: search, writing, and what it takes of memory.

Turns are those of the conversation sets, repeated with a fifth of their words exchanged until there are enough; the
queries are real questions of the same sets. No memory waits for a model: texts are embedded by counts of hashed words
(384 wide), and this time is taken off the time to write; the embedding of a query is known to all before the clock
starts. Every memory runs in a process of its own, one after the other, one thread for its arithmetic.

search: k = 10, after five queries to warm up, up to 200 queries or eight seconds, at least five. Rows of one kind of
work are compared with ours of that kind (vector, text, or both: equal work); *to ours* is the median by ours, so that
below 1 it is faster than ours; cpu is the same by the time that the processors were busy, which other work on the
machine disturbs less. Ours of one kind gives the other signals no weight, but still searches by both. bulk: turns per
second, until a search finds them all; ours reads facts out of them meanwhile, the peers do not. single: one more turn,
until a search finds it. memory: the peak above what the process had before the first turn. durable: whether what was
acknowledged survives the process; ours writes to a file that does.
"""

from __future__ import annotations

import gc
import json
import resource
import statistics
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compression.sets import Table
from benchmarks.latency import corpus
from benchmarks.peers.own import Own
from benchmarks.peers.systems import OURS, Entry, System, Turn, chosen
from hybrid_memory.models.embedders import unit_rows
from hybrid_memory.ports import Floats

K = 10
BATCH = 1_000
SECONDS = 8.0
QUERIES = (5, 200)
SINGLES = 50
PATIENCE = 120.0
"""Seconds that the bulk of a memory may take; then it is stopped, and its rate so far told."""

COLUMNS = (
    "memory", "work", "equal work", "durable", "search p50 ms", "search p95 ms", "to ours", "faster than ours",
    "search cpu ms", "cpu to ours", "bulk/s", "bulk to ours", "single ms", "memory MB", "calls",
)  # fmt: skip


class Hashed:
    """Hashed words for texts, and queries whose vectors are known; tells how long it took for the texts."""

    dim = 384
    name = "benchmark-hashed"

    def __init__(self, queries: Sequence[str]) -> None:
        self._known: dict[str, Floats] = dict(zip(queries, self._rows(queries), strict=True))
        self.spent = 0.0

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Unit rows."""
        started = time.perf_counter()
        rows = self._rows(texts)
        self.spent += time.perf_counter() - started
        return rows

    def embed_query(self, text: str) -> Floats:
        """A unit vector."""
        return self._known[text]

    def _rows(self, texts: Sequence[str]) -> Floats:
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                code = zlib.crc32(word.encode())
                row[code % self.dim] += 1 if code & 0x10000 else -1
        rows[~rows.any(axis=1), 0] = 1.0  # a text without words: a cosine with zeros is none
        return unit_rows(rows)


def turns_of(texts: Sequence[str]) -> list[Turn]:
    """The texts as turns, a session for every thousand."""
    turns = []
    for number, text in enumerate(texts):
        speaker, parted, said = text.partition(": ")
        if not parted or not said.strip():
            speaker, said = "somebody", text
        turns.append(Turn(f"t{number}", speaker, said, session=f"s{number // BATCH}"))
    return turns


def work(job: dict[str, Any], entry: Entry) -> dict[str, Any]:
    """In the memory's own process: its figures at one size, by the name of the row; ours has three over one store."""
    texts, questions = json.loads(Path(job["corpus"]).read_text(encoding="utf-8"))
    embedder = Hashed(questions)
    turns = turns_of(texts)
    more = turns_of([f"Somebody: a new turn, number {number}" for number in range(SINGLES)])
    del texts
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        system = entry.open(embedder, Path(folder))
        try:
            return measured(system, entry, embedder, turns, more=[_renamed(turn) for turn in more], questions=questions)
        finally:
            system.close()


def _renamed(turn: Turn) -> Turn:
    return Turn(f"n{turn.id}", turn.speaker, turn.said, session="new")


def measured(
    system: System, entry: Entry, embedder: Hashed, turns: Sequence[Turn], *, more: Sequence[Turn],
    questions: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    """The figures of a store that is filled here."""
    gc.collect()
    before = fresh_peak()
    started, embedding = time.perf_counter(), embedder.spent
    for first in range(0, len(turns), BATCH * 10):
        system.add(turns[first : first + BATCH * 10])
        elapsed, stored = time.perf_counter() - started, first + BATCH * 10
        if elapsed > PATIENCE and stored < len(turns):
            return {"failed": f"writing stopped after {elapsed:.0f} s at {stored:,} turns ({stored / elapsed:.0f}/s)"}
    figures: dict[str, float] = {
        "bulk/s": round(len(turns) / (time.perf_counter() - started - (embedder.spent - embedding)))
    }
    rows = {}
    for row in [entry] if not isinstance(system, Own) else [one for one in chosen(()) if one.ours]:
        if isinstance(system, Own):
            system.only = row.options.get("only")
        rows[row.name] = searched(system, questions)
    figures["memory MB"] = round((peak_memory() - before) / 2**20)
    single, _ = timed([lambda turn=turn: system.add([turn]) for turn in more])  # type: ignore[misc]
    figures["single ms"] = statistics.median(single)
    return {name: row | figures for name, row in rows.items()}


def searched(system: System, questions: Sequence[str]) -> dict[str, Any]:
    """How long its searches took."""
    for question in questions[: QUERIES[0]]:
        system.search(question, K)
    spent, used = timed([lambda words=words: system.search(words, K) for words in questions])  # type: ignore[misc]
    return {
        "search p50 ms": statistics.median(spent), "search p95 ms": float(np.percentile(spent, 95)),
        "search cpu ms": statistics.median(used), "calls": len(spent),
    }  # fmt: skip


def timed(calls: Sequence[Callable[[], Any]]) -> tuple[list[float], list[float]]:
    """Milliseconds of each call by the clock, and of the processors, for eight seconds."""
    spent: list[float] = []
    used: list[float] = []
    for call in calls:
        if len(spent) >= QUERIES[0] and sum(spent) > SECONDS * 1e3:
            break
        started, busy = time.perf_counter(), time.process_time()
        call()
        spent.append((time.perf_counter() - started) * 1e3)
        used.append((time.process_time() - busy) * 1e3)
    return spent, used


def fresh_peak() -> int:
    """The memory that the process has now, in bytes; where the system can, the peak is counted from here."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return peak_memory()
    return _status("VmRSS")


def peak_memory() -> int:
    """The most memory that the process had, in bytes."""
    try:
        return _status("VmHWM")
    except OSError:  # no Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def run(job: dict[str, Any], ask: Callable[[dict[str, Any], Entry], dict[str, Any]]) -> Iterator[Table]:
    """A table for each size."""
    for size in job["sizes"]:
        texts, questions = corpus(Path(job["data"]), size)
        with tempfile.TemporaryDirectory() as folder:
            written = Path(folder) / "corpus.json"
            written.write_text(json.dumps([texts, questions[: QUERIES[1]]]), encoding="utf-8")
            asked = {**job, "measure": "speed", "of": size, "corpus": str(written)}
            figures: dict[str, dict[str, Any]] = {}
            for entry in chosen(job["only"]):
                if entry.name not in figures:
                    answer = ask(asked, entry)
                    figures |= {entry.name: answer} if "failed" in answer else answer
        yield table(size, figures)


def table(size: int, figures: dict[str, dict[str, Any]]) -> Table:
    """The rows class by class, the fastest first."""
    made = Table(f"Speed over {size:,} turns", COLUMNS)
    order = list(OURS)
    entries = [entry for entry in chosen(()) if entry.name in figures]
    measured = [entry for entry in entries if "failed" not in figures[entry.name]]
    for entry in sorted(measured, key=lambda entry: (order.index(entry.work), figures[entry.name]["search p50 ms"])):
        row = figures[entry.name]
        ours = figures.get(OURS[entry.work], {})
        cells = {"memory": entry.name, "work": entry.work, "equal work": "yes", "note": entry.note, **row}
        cells["durable"] = "yes" if entry.durable else "no"
        if "search p50 ms" in ours:
            cells["to ours"] = round(row["search p50 ms"] / ours["search p50 ms"], 2)
            cells["faster than ours"] = "yes" if row["search p50 ms"] < ours["search p50 ms"] else "no"
            cells["cpu to ours"] = round(row["search cpu ms"] / ours["search cpu ms"], 2)
            cells["bulk to ours"] = round(row["bulk/s"] / ours["bulk/s"], 2)
        made.rows.append(cells)
    failures = [f"{name}: {row['failed']}" for name, row in figures.items() if "failed" in row]
    made.note = "\n".join(f"not measured: {reason}" for reason in failures)
    return made
