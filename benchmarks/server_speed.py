"""What a recall costs on each engine, and how much of it is the engine's own.

    python benchmarks/server_speed.py --sizes 1000 10000 100000

Calls are those of ports, trips the answers of a server that a recall waits for (statements in SQLite are not
counted); the engine's share is the time inside its ports. Turns, questions and vectors are those of
`benchmarks/peers/texts.py`, of one owner; answers are not kept, and the embedder answers from its cache. Servers are
started by the script; Milvus is Milvus Lite, which searches in Python, one row after the other: above --most-in-
milvus turns it is left out.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, only its folder is on the path

from benchmarks.peers.texts import Clustered, Corpus
from hybrid_memory import HybridMemory, MemoryConfig, open_memory
from hybrid_memory.engines.milvus import MilvusIndex
from hybrid_memory.engines.redis import RedisConnection, RedisIndex, RedisLog
from hybrid_memory.engines.sqlite import SqliteIndex, SqliteLog
from hybrid_memory.testing.servers import MilvusServer, RedisServer

ENGINES = ("sqlite", "redis", "sqlite+milvus")
PORTS = (SqliteIndex, SqliteLog, RedisIndex, RedisLog, MilvusIndex)
TRIPS = ("call", "calls", "script")
"""Of `RedisConnection`: each waits for the server once."""


@dataclass(slots=True)
class Meter:
    """Calls of ports, trips to a server, and the seconds inside the ports."""

    calls: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    trips: Counter[str] = field(default_factory=Counter)
    inside: int = 0

    def counted(self, method: Callable[..., Any], name: str) -> Callable[..., Any]:
        """The method of a port, counted where no other method of a port calls it."""

        def run(*values: Any, **named: Any) -> Any:
            self.inside += 1
            started = time.perf_counter()
            try:
                return method(*values, **named)
            finally:
                self.inside -= 1
                if not self.inside:
                    self.calls[name] += 1
                    self.seconds[name] += time.perf_counter() - started

        return run

    def asked(self, method: Callable[..., Any], name: str) -> Callable[..., Any]:
        """The method of a client, each call of which is a trip."""

        def run(*values: Any, **named: Any) -> Any:
            self.trips[name] += 1
            return method(*values, **named)

        return run


@contextmanager
def metered() -> Iterator[Meter]:
    """All engines, counted while inside."""
    meter, stood = Meter(), list[tuple[type, str, Any]]()

    def replace(owner: type, name: str, wrap: Callable[[Callable[..., Any], str], Callable[..., Any]]) -> None:
        if name in vars(owner):
            stood.append((owner, name, vars(owner)[name]))
        setattr(owner, name, wrap(getattr(owner, name), f"{owner.__name__}.{name}"))

    for port in PORTS:
        for name in dir(port):
            if not name.startswith("_") and callable(getattr(port, name)):
                replace(port, name, meter.counted)
    for name in TRIPS:
        replace(RedisConnection, name, meter.asked)
    yield meter
    for owner, name, method in stood:
        setattr(owner, name, method)


def main() -> None:
    """Print a table for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--most-in-milvus", type=int, default=10_000)
    parser.add_argument("--parts", action="store_true", help="each method of the ports too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        urls = {"sqlite": f"sqlite:///{folder}/memory"}
        if "redis" in options.engines:
            urls["redis"] = running.enter_context(RedisServer(Path(folder) / "redis")).url
        if "sqlite+milvus" in options.engines:
            urls["milvus"] = running.enter_context(MilvusServer(Path(folder) / "milvus")).url
        for size in options.sizes:
            print(
                f"\n{size:,} turns\n{'engine':<14} {'calls':>6} {'trips':>6} {'p50 ms':>8} {'p95 ms':>8} {'engine':>7}"
            )
            for engine in options.engines:
                if "milvus" not in engine or size <= options.most_in_milvus:
                    show(engine, options, settings(engine, urls, size), size)


def settings(engine: str, urls: dict[str, str], size: int) -> dict[str, Any]:
    """Of a new memory on one engine or two."""
    log, _, index = engine.partition("+")
    url = f"{urls[log]}{index}{size}.db" if log == "sqlite" else f"{urls[log]}?prefix=p{size}"
    still = {"orchestration": {"background": False}, "learning": {"background": False}, "recall": {"cache_ttl": 0}}
    return {"url": url, **still, **({"index": {"url": f"{urls[index]}?prefix=p{size}"}} if index else {})}


def show(engine: str, options: argparse.Namespace, config: dict[str, Any], size: int) -> None:
    """Fill a store and print its row."""
    corpus = Corpus()
    questions = [question for question, _ in corpus.questions(0, size, options.questions)]
    with open_memory(MemoryConfig.of(config), embedder=Clustered()) as memory:
        fill(memory, corpus.texts(0, 0, size))
        meter, spent = measured(memory, questions)
    count = len(spent)
    inside = sum(meter.seconds.values()) / sum(spent)
    print(
        f"{engine:<14} {meter.calls.total() / count:>6.1f} {meter.trips.total() / count:>6.1f} "
        f"{np.median(spent) * 1e3:>8.2f} {np.percentile(spent, 95) * 1e3:>8.2f} {inside:>7.0%}",
        flush=True,
    )
    if options.parts:
        for name, seconds in sorted(meter.seconds.items(), key=lambda part: -part[1]):
            print(f"    {name:<28} {meter.calls[name] / count:>6.1f} calls {seconds / count * 1e3:>8.2f} ms")


def fill(memory: HybridMemory, texts: list[str]) -> None:
    """Remember and index these turns."""
    for first in range(0, len(texts), 1000):
        memory.scoped(user="alice", session=f"s{first // 20}").remember(texts[first : first + 1000])
    memory.scoped(user="alice").flush()


def measured(memory: HybridMemory, questions: list[str]) -> tuple[Meter, list[float]]:
    """What these recalls cost, when all was asked once before."""
    alice, spent = memory.scoped(user="alice", session="s"), list[float]()
    for question in questions:
        alice.recall(question, k=10)
    with metered() as meter:
        for question in questions:
            started = time.perf_counter()
            alice.recall(question, k=10)
            spent.append(time.perf_counter() - started)
    return meter, spent


if __name__ == "__main__":
    main()
