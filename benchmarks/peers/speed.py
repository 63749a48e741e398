"""Speed over growing stores: search, writing, and what it takes of memory and disk, on every engine and beside others.

Texts are made from numbers, and so are vectors (384 wide), in microseconds, whose time is taken off: see `texts`.
Sizes are turns of one owner, or owners with so many turns each (10000x1000) in one store. Every memory runs in a
process of its own, one after the other, one thread for its arithmetic; a server that it needs is started for it
alone, on the same machine.

search: k = 5, after a warm-up, up to 300 questions or ten seconds, of one owner, or of twenty of the many. found: the
share of questions whose turn came back. first: the first question of an owner that nobody asked about before, ours
with the store opened anew. writes: turns a second that are written one by one and acknowledged; the peers index them
at once, ours with the next search. bulk: turns a second with all the work until they are found, a thousand in a call,
ours with the facts that are read from them, which the peers do not read. client: the memory of this process above what
it had before the first turn; disk: of the files, those of the server too.
"""

import gc
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.own import Own
from benchmarks.peers.servers import bytes_in, serving
from benchmarks.peers.systems import OURS, Entry, System, chosen
from benchmarks.peers.texts import Clustered, Corpus, Shape
from benchmarks.tables import Table
from hybrid_memory.ports import Floats

K = 5
BATCH = 10_000
SECONDS = 10.0
QUESTIONS = (5, 300)
WARM, COLD = 20, 30
SINGLES = 200
SLOWEST = 200
"""Turns a second; a peer that is slower over two minutes is stopped, and its rate so far told."""

COLUMNS = (
    "memory", "work", "search p50 ms", "search p95 ms", "found", "first ms", "writes/s", "bulk/s", "client MB",
    "disk MB",
)  # fmt: skip


class Timed(Clustered):
    """Tells how long its vectors took."""

    spent = 0.0

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Unit rows."""
        started = time.perf_counter()
        rows = super().embed_documents(texts)
        self.spent += time.perf_counter() - started
        return rows


@dataclass(slots=True)
class Clock:
    """Seconds of work, those that the embedder took left out."""

    embedder: Timed
    spent: float = 0.0

    def run(self, call: Callable[[], Any]) -> None:
        """Count the seconds of a call."""
        started, embedding = time.perf_counter(), self.embedder.spent
        call()
        self.spent += time.perf_counter() - started - (self.embedder.spent - embedding)


def work(job: dict[str, Any], entry: Entry) -> dict[str, Any]:
    """In the memory's own process: its figures at one size."""
    shape, embedder = Shape.of(job["of"]), Timed()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        files = Path(folder) / "files"
        files.mkdir()
        with serving(entry.server, Path(folder) / "server") as server:
            system = entry.open(embedder, files, server)
            try:
                found = measured(system, Clock(embedder), shape)
            finally:
                system.close()
            taken = bytes_in(files) + (bytes_in(Path(folder) / "server") if server else 0)
    return {**found, "disk MB": round(taken / 2**20)}


def measured(system: System, clock: Clock, shape: Shape) -> dict[str, Any]:
    """The figures of a store that is filled here."""
    corpus = Corpus()
    before = own_memory()
    stopped = filled(system, shape, corpus, clock)
    if stopped:
        return {"failed": stopped}
    figures: dict[str, Any] = {"bulk/s": round(shape.total / clock.spent)}
    figures["first ms"] = first_questions(system, corpus, shape)
    figures |= searched(system, corpus, shape)
    figures["writes/s"] = written(system, corpus, shape)
    return figures | {"client MB": round((own_memory() - before) / 2**20)}


def filled(system: System, shape: Shape, corpus: Corpus, clock: Clock) -> str | None:
    """Store all, 10,000 turns at a time; why it was stopped, if it was."""
    stored = 0
    for batch in shape.batches(BATCH):
        turns = [turn for owner, first, count in batch for turn in corpus.turns(owner, first, count)]
        clock.run(lambda some=turns: system.add(some))  # type: ignore[misc]
        stored += len(turns)
        if not isinstance(system, Own) and clock.spent > max(120, stored / SLOWEST) and stored < shape.total:
            return f"stopped after {clock.spent:.0f} s at {stored:,} turns ({stored / clock.spent:.0f}/s)"
    finish = getattr(system, "finish", None)
    if finish:
        clock.run(finish)
    return None


def asked_of(system: System, shape: Shape, owner: int) -> None:
    """Search what this owner said; where there is but one, as a store is searched that knows no owners."""
    if shape.owners > 1 or isinstance(system, Own):
        system.owner = f"u{owner}"  # type: ignore[attr-defined]
    elif getattr(system, "owner", ""):
        system.owner = "u0"  # type: ignore[attr-defined]


def first_questions(system: System, corpus: Corpus, shape: Shape) -> float:
    """Milliseconds that the first question of an owner takes."""
    if isinstance(system, Own):
        system.reopen()
    spent = []
    for owner in range(shape.owners - min(COLD, shape.owners), shape.owners):
        asked_of(system, shape, owner)
        [(question, _)] = corpus.questions(owner, shape.turns, 1)
        started = time.perf_counter()
        system.search(question, K)
        spent.append((time.perf_counter() - started) * 1e3)
    return float(np.median(spent))


def searched(system: System, corpus: Corpus, shape: Shape) -> dict[str, Any]:
    """How long its searches took."""
    warm = min(WARM, shape.owners)
    most = QUESTIONS[1] // warm
    questions = [(owner, corpus.questions(owner, shape.turns, most)) for owner in range(warm)]
    calls = []
    for owner, some in questions:
        asked_of(system, shape, owner)
        for question, _ in some[: 1 if warm > 1 else QUESTIONS[0]]:
            system.search(question, K)
        calls += [(question, owner, turn) for question, turn in some]
    spent: list[float] = []
    found = 0
    for question, owner, turn in sorted(calls):  # now one owner, now another
        if len(spent) >= QUESTIONS[0] and sum(spent) > SECONDS * 1e3:
            break
        asked_of(system, shape, owner)
        started = time.perf_counter()
        ids = system.search(question, K)
        spent.append((time.perf_counter() - started) * 1e3)
        found += turn in ids
    figures = {f"search p{share} ms": float(np.percentile(spent, share)) for share in (50, 95)}
    return figures | {"found": round(found / len(spent), 2)}


def written(system: System, corpus: Corpus, shape: Shape) -> int:
    """How many turns a second are written one by one, by owners that are there."""
    add = system.remember if isinstance(system, Own) else system.add
    spent: list[float] = []
    for number in range(SINGLES):
        turn = corpus.turns(number % shape.owners, shape.turns + number, 1)
        started = time.perf_counter()
        add(turn)
        spent.append(time.perf_counter() - started)
        if sum(spent) > SECONDS:
            break
    return round(len(spent) / sum(spent))


def own_memory() -> int:
    """The memory of the process in bytes; on Linux without the files that it maps, which the system takes back."""
    gc.collect()
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def run(job: dict[str, Any], ask: Callable[[dict[str, Any], Entry], dict[str, Any]]) -> Iterator[Table]:
    """A table for each size."""
    for size in job["sizes"]:
        shape = Shape.of(size)
        figures: dict[str, dict[str, Any]] = {}
        for entry in chosen(job["only"]):
            if fits(entry, shape):
                figures[entry.name] = ask({**job, "measure": "speed", "of": size}, entry)
        yield table(shape, figures)


def fits(entry: Entry, shape: Shape) -> bool:
    """Whether it is measured with so much; ours by one kind of work is not."""
    alone = entry.ours and "only" in entry.options
    return not alone and (entry.owners or shape.owners == 1) and shape.total <= (entry.most or shape.total)


def table(shape: Shape, figures: dict[str, dict[str, Any]]) -> Table:
    """The rows class by class, the fastest first."""
    made = Table(f"Speed over {shape}", COLUMNS)
    entries = [entry for entry in chosen(()) if entry.name in figures]
    measured = [entry for entry in entries if "failed" not in figures[entry.name]]
    order = list(OURS)
    for entry in sorted(measured, key=lambda entry: (order.index(entry.work), figures[entry.name]["search p50 ms"])):
        made.rows.append({"memory": entry.name, "work": entry.work, "note": entry.note, **figures[entry.name]})
    failures = [f"{name}: {row['failed']}" for name, row in figures.items() if "failed" in row]
    made.note = "\n".join(f"not measured: {reason}" for reason in failures)
    return made


def published(tables: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What stands on the page of benchmarks, in three digits that count."""
    return [
        {
            "title": table["title"],
            "columns": list(COLUMNS),
            "rows": [[_short(row.get(name)) for name in COLUMNS] for row in table["rows"]],
        }
        for table in tables
    ]


def _short(value: Any) -> Any:
    return float(f"{value:.3g}") if isinstance(value, float) else value
