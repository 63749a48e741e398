"""Postgres behind PgBouncer in transaction mode: two stores in one database, used by many processes at once.

Counts hits of the other store, errors, and acknowledged turns that their store does not have. Starts both servers.
"""

import argparse
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from hybrid_memory import MemoryConfig, open_memory
from hybrid_memory.errors import HybridMemoryError
from tests.postgres_server import Pooler, PostgresServer

STORES = ("red", "blue")
USERS = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be set."""
    parser.add_argument("--count", type=int, default=20_000, help="operations, half of them writes")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=300, help="after which no operation begins")


def run(args: argparse.Namespace) -> int:
    """Use both stores, and print what went wrong."""
    with (
        TemporaryDirectory() as folder,
        PostgresServer(Path(folder) / "postgres") as server,
        Pooler(Path(folder) / "pooler", server) as pooler,
    ):
        began = time.monotonic()
        use = partial(used, pooler.url, args.count // args.processes, args.seconds)
        with ProcessPoolExecutor(args.processes, mp_context=get_context("spawn")) as pool:
            counts = sum(pool.map(use, range(args.processes)), Counter[str]())
        seconds = time.monotonic() - began
        lost = counts["writes"]
        for store in STORES:
            with open_memory(settings(pooler.url, store)) as memory:
                memory.flush(progress=False)
                lost -= memory.stats().records
    print(f"{counts['writes'] + counts['recalls']:,} operations in {seconds:.0f} s: {dict(counts)}")
    print(f"crossed {counts['crossed']}, errors {counts['errors']}, writes missing {lost}")
    return int(bool(counts["crossed"] or counts["errors"] or lost))


def settings(url: str, store: str) -> MemoryConfig:
    """Those of a store, whose schema has its name."""
    quiet = {"embedder": "hashing", "orchestration": {"background": False}, "learning": {"background": False}}
    return MemoryConfig.of({"url": f"{url}?schema={store}&pool=4", **quiet})


def used(url: str, count: int, seconds: float, process: int) -> Counter[str]:
    """Write and recall in turn, as one process; what happened."""
    counts, store, until = Counter[str](), STORES[process % len(STORES)], time.monotonic() + seconds
    with open_memory(settings(url, store)) as memory:
        for number in range(count // 2):
            if time.monotonic() > until:
                break
            user = memory.scoped(user=f"user{number % USERS}")
            try:
                user.remember(f"My {store} lamp of process {process} has number {number}.")
                counts["writes"] += 1
                hits = user.recall("number of the lamp", k=10)
                counts["recalls"] += 1
                counts["crossed"] += sum(store not in hit.record.text for hit in hits) + (not hits)
            except HybridMemoryError as error:
                counts["errors"] += 1
                counts[str(error)] += 1
    return counts
