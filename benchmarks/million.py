"""Vectors of one owner up to a million, and of many owners, on the embedded store: time, memory, and what is found.

    python benchmarks/million.py                           one owner with 10,000, 100,000 and 1,000,000 vectors
    python benchmarks/million.py --sizes 10000 --owners 1000 --each 1000 --json million.json

Random vectors of 384 numbers in clusters within clusters, and questions beside some of them. Of each size: seconds to
write and to train, milliseconds of the first search in a process of its own, of the next 200 (p50, p95), and of one
after a deletion; the share of the ten nearest that is found; megabytes of the process (its own, and with what it shares
of the mapped file), and of the files. Of many owners: searches of owners in turn, under the bound on memory.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started by its file, only its folder is on the path

from hybrid_memory import Record, Scope
from hybrid_memory.engines.sqlite import Database, SqliteIndex
from hybrid_memory.index.record import Where
from hybrid_memory.ports import Entry, Floats

DIM, BATCH, K = 384, 5_000, 10
SEARCHES, CANDIDATES = 200, 48
EMBEDDER = ("random", DIM)
NOON = datetime(2025, 5, 1, 12, tzinfo=UTC)


class Vectors:
    """Unit vectors in groups of some fifty, within a thousand larger ones."""

    def __init__(self, count: int) -> None:
        chance = np.random.default_rng(1)
        large = chance.normal(size=(1_000, DIM))
        groups = max(count // 50, 1)
        small = large[chance.integers(len(large), size=groups)] + 0.7 * chance.normal(size=(groups, DIM))
        self._groups = small.astype(np.float32)

    def block(self, number: int, size: int) -> Floats:
        """As many of them, the same for the same number."""
        return self._around(np.random.default_rng([2, number]), size, 0.6)

    def questions(self, size: int) -> Floats:
        """Beside some of them."""
        return self._around(np.random.default_rng(3), size, 0.8)

    def _around(self, chance: np.random.Generator, size: int, noise: float) -> Floats:
        rows = self._groups[chance.integers(len(self._groups), size=size)]
        rows = rows + noise * chance.normal(size=rows.shape).astype(np.float32)
        unit: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


@dataclass
class Row:
    """Of one size. Seconds to write and train, milliseconds of searches, megabytes."""

    owners: int
    each: int
    writing: float
    training: float
    first: float
    p50: float
    p95: float
    deleting: float
    after_deleting: float
    found: float
    own: float
    shared: float
    disk: float


def written(index: SqliteIndex, owner: Scope, start: int, vectors: Floats) -> None:
    """The next records of the owner."""
    ids = range(start + 1, start + len(vectors) + 1)
    entries = [Entry(Record(n, owner, f"turn {n}", NOON, (f"e{n}",), segment=n, ordinal=0), f"t{n}") for n in ids]
    index.upsert(owner, entries, after=index.status(owner).applied, upto=ids[-1])
    keys = {n: b"%d" % n for n in ids}
    index.put_vectors(EMBEDDER, keys, dict(zip(keys.values(), vectors, strict=True)))


def filled(path: Path, owners: int, each: int) -> tuple[float, float]:
    """A store; returns the seconds of writing and of training."""
    database = Database(path, power_safe=False)
    index = SqliteIndex(database)
    vectors = Vectors(owners * each)
    writing = training = 0.0
    with tqdm(total=owners * each, desc=f"{owners} x {each:,}", disable=None) as bar:
        for owner in range(owners):
            scope = Scope(user=f"u{owner}")
            for start in range(0, each, BATCH):
                rows = vectors.block(owner * each + start, min(BATCH, each - start))
                began = time.perf_counter()
                written(index, scope, owner * each + start, rows)
                writing += time.perf_counter() - began
                bar.update(len(rows))
            began = time.perf_counter()
            index.train(scope)
            training += time.perf_counter() - began
    index.close()
    return writing, training


def memory() -> tuple[float, float]:
    """Megabytes that this process has of its own, and that it shares with others who map the same file."""
    lines = (line.split() for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines())
    sizes = {line[0]: int(line[1]) / 1024 for line in lines if line[0] in {"RssAnon:", "RssFile:"}}
    return sizes["RssAnon:"], sizes["RssFile:"]


def searched(path: Path, owners: int, each: int) -> dict[str, Any]:
    """Searches in a process that has just been started."""
    before = memory()
    database = Database(path, power_safe=False)
    index = SqliteIndex(database)
    asked = Vectors(owners * each).questions(SEARCHES)
    times, answers = [], []
    for number, question in enumerate(asked):
        owner = Scope(user=f"u{number % owners}")
        began = time.perf_counter()
        answers.append(index.nearest(question, Where(owner), CANDIDATES).ids[:K].tolist())
        times.append(1000 * (time.perf_counter() - began))
    own, shared = (after - earlier for after, earlier in zip(memory(), before, strict=True))
    began = time.perf_counter()
    index.delete([answers[0][0]])
    deleted = time.perf_counter()
    index.nearest(asked[0], Where(Scope(user="u0")), CANDIDATES)
    ended = time.perf_counter()
    index.close()
    return {
        "first": times[0], "p50": float(np.percentile(times[1:], 50)), "p95": float(np.percentile(times[1:], 95)),
        "deleting": 1000 * (deleted - began), "after_deleting": 1000 * (ended - deleted), "answers": answers,
        "own": own, "shared": shared,
    }  # fmt: skip


def recall(answers: list[list[int]], owners: int, each: int) -> float:
    """The share of the nearest that was found."""
    vectors = Vectors(owners * each)
    asked = vectors.questions(SEARCHES)
    scores = np.full((SEARCHES, K), -2.0, dtype=np.float32)
    ids = np.zeros((SEARCHES, K), dtype=np.int64)
    for owner in range(min(owners, SEARCHES)):
        mine = np.arange(owner, SEARCHES, owners)
        for start in range(0, each, BATCH):
            block = vectors.block(owner * each + start, min(BATCH, each - start))
            every = np.concatenate([scores[mine], asked[mine] @ block.T], axis=1)
            numbers = np.broadcast_to(np.arange(len(block)) + owner * each + start + 1, (len(mine), len(block)))
            best = np.argpartition(-every, K, axis=1)[:, :K]
            ids[mine] = np.take_along_axis(np.concatenate([ids[mine], numbers], axis=1), best, axis=1)
            scores[mine] = np.take_along_axis(every, best, axis=1)
    return float(np.mean([len(set(mine) & set(best)) / K for mine, best in zip(answers, ids.tolist(), strict=True)]))


def measured(folder: Path, owners: int, each: int) -> Row:
    """A store of this size."""
    path = folder / f"{owners}x{each}.db"
    writing, training = filled(path, owners, each)
    command = [sys.executable, __file__, "--search", str(path), "--owners", str(owners), "--each", str(each)]
    told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)  # noqa: S603
    found = recall(told.pop("answers"), owners, each)
    disk = sum(file.stat().st_size for file in folder.rglob(f"{path.name}*") if file.is_file())
    disk += sum(file.stat().st_size for file in Path(f"{path}.faiss").glob("*"))
    return Row(owners=owners, each=each, writing=writing, training=training, found=found, disk=disk / 2**20, **told)


def main() -> None:
    """Print a row for each size, and write the JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="*", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--owners", type=int, default=0, help="so many owners besides")
    parser.add_argument("--each", type=int, default=1_000, help="vectors of each of them")
    parser.add_argument("--folder", type=Path, help="for the stores, 4 GB at a million")
    parser.add_argument("--search", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    if chosen.search:
        print(json.dumps(searched(chosen.search, chosen.owners, chosen.each)))
        return
    shapes = [(1, size) for size in chosen.sizes] + [(chosen.owners, chosen.each)] * bool(chosen.owners)
    rows = []
    names = list(Row.__dataclass_fields__)
    print("".join(f"{name.replace('_', ' '):>15}" for name in names))
    for owners, each in shapes:
        with TemporaryDirectory(dir=chosen.folder) as folder:
            rows.append(measured(Path(folder), owners, each))
        print(
            "".join(
                f"{value:>15,.3f}" if isinstance(value, float) else f"{value:>15,}"
                for value in asdict(rows[-1]).values()
            )
        )
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(row) for row in rows], indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
