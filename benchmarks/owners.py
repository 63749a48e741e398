"""The embedded text index shared by many owners, beside the same owner alone in a store of its own.

    python benchmarks/owners.py                                    100 owners of 1,000 records each
    python benchmarks/owners.py --owners 1000 --json owners.json   a million records
    python benchmarks/owners.py --owners 1 --records 1000000 --batch 512

Records of 14 words by Zipf's law come through the port of the index in batches of one owner after the other, so that
those of an owner stand between the others'. What it prints: records a second, in time of the processor and by the
clock, and the longest batch; megabytes on disk; how long a store takes to open, with the first status; and the text
search of an owner chosen at random, of one who was asked before, and of the same owner alone, which share one loop.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started by its file, only its folder is on the path

from hybrid_memory.engines.sqlite import Database, SqliteIndex
from hybrid_memory.index.port import Entry
from hybrid_memory.index.record import Record, Where
from hybrid_memory.scope import Scope

WORDS, LENGTH, ASKED, K = 50_000, 14, 7, 100
START = datetime(2024, 1, 1, tzinfo=UTC)
SEARCHES = 500
KEPT = 0
"""The owner who is asked again and again, and stands alone too."""


class Words:
    """Draws words as often as they come in a language."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self._share = np.cumsum(1 / np.arange(1, WORDS + 1)) / np.sum(1 / np.arange(1, WORDS + 1))

    def draw(self, count: int, length: int) -> list[list[str]]:
        """Texts of so many words."""
        rows = np.searchsorted(self._share, self.chance.random((count, length)))
        return [[f"w{number}" for number in row] for row in rows.tolist()]


def scope_of(owner: int) -> Scope:
    """Of an owner, by number."""
    return Scope(user=f"u{owner}")


def batches(owners: int, records: int, batch: int, words: Words) -> Iterator[tuple[int, list[Entry]]]:
    """Of one owner after the other, until each has all."""
    position = 0
    for start in range(0, records, batch):
        for owner in range(owners):
            entries = []
            for terms in words.draw(min(batch, records - start), LENGTH):
                position += 1
                at, scope = START + timedelta(seconds=position), Scope(user=f"u{owner}", session="s")
                said = Record(position, scope, " ".join(terms), at, (f"e{position}",), position, 0, speaker="user")
                entries.append(Entry(said, f"user {said.text}"))
            yield owner, entries


def fill(file: Path, owners: int, records: int, batch: int) -> dict[str, float]:
    """Fill a store; returns what that took."""
    index, applied = SqliteIndex(Database(file, power_safe=False)), [0] * owners
    clock, processor, longest = 0.0, 0.0, 0.0
    for owner, entries in batches(owners, records, batch, Words(0)):
        upto = entries[-1].record.id
        began, used = time.perf_counter(), time.process_time()
        index.upsert(scope_of(owner), entries, after=applied[owner], upto=upto)
        took, applied[owner] = time.perf_counter() - began, upto
        clock, processor, longest = clock + took, processor + time.process_time() - used, max(longest, took)
    index.close()
    total = owners * records
    megabytes = file.stat().st_size / 1e6
    rates = {"records/s": total / clock, "records/s of processor": total / processor}
    return {**rates, "longest batch ms": 1e3 * longest, "megabytes": megabytes}


def opening(file: Path) -> float:
    """Milliseconds until the status of an owner is known."""
    began = time.perf_counter()
    index = SqliteIndex(Database(file))
    index.status(scope_of(KEPT))
    took = 1e3 * (time.perf_counter() - began)
    index.close()
    return took


def searches(shared: Path, alone: Path, owners: int) -> dict[str, float]:
    """Percentiles in milliseconds of the text search, each question asked of all three."""
    many, one, words = SqliteIndex(Database(shared)), SqliteIndex(Database(alone)), Words(1)
    chance = np.random.default_rng(2)
    taken: dict[str, list[float]] = {}
    for terms in words.draw(SEARCHES, ASKED - 1):
        another = int(chance.integers(owners))
        for name, index, owner in (("one of many", many, another), ("same", many, KEPT), ("alone", one, KEPT)):
            began = time.perf_counter()
            index.matching([*terms, "user"], Where(scope_of(owner)), K)
            taken.setdefault(name, []).append(1e3 * (time.perf_counter() - began))
    many.close()
    one.close()
    return {f"{name}, p{q} ms": float(np.percentile(times, q)) for name, times in taken.items() for q in (50, 95)}


def main() -> None:
    """Fill, open, search, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--owners", type=int, default=100)
    parser.add_argument("--records", type=int, default=1_000, help="of each owner")
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        shared, alone = Path(folder) / "shared.db", Path(folder) / "alone.db"
        figures = fill(shared, asked.owners, asked.records, asked.batch)
        fill(alone, 1, asked.records, asked.batch)
        figures |= {"opening ms": opening(shared), **searches(shared, alone, asked.owners)}
    for name, figure in figures.items():
        print(f"{name:28}{figure:12,.2f}")
    if asked.json:
        asked.json.write_text(json.dumps(vars(asked) | figures, default=str), encoding="utf-8")


if __name__ == "__main__":
    main()
