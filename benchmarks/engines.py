"""The engines side by side, in one run: what an outage does.

    python benchmarks/engines.py --json out.json

Redis, Postgres and Milvus (Milvus Lite as a server) are started by the script, each with an empty folder; --engines
names those that are measured. How quick they are is measured by `benchmarks/peers --parts speed`.

Four threads write and two recall, while the server is killed (SIGKILL) three times and started again on the
same port. A write that is refused is repeated under its id. All that was acknowledged is compared with the log, and the
index with the log.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, only its folder is on the path

from benchmarks.compression.sets import Table
from hybrid_memory import HybridMemory, MemoryConfig, open_memory
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.testing.servers import MilvusServer, RedisServer, Server
from tests.postgres_server import PostgresServer

ENGINES = ["sqlite", "postgres", "redis", "milvus"]
OUTAGES = ["postgres", "postgres, outbox", "redis", "redis, outbox", "sqlite+redis", "sqlite+milvus"]
KILLED = ["milvus", "redis", "postgres"]
"""The first of these in the name is killed."""

WRITERS, READERS, KILLS = 4, 2, 3
AWAY_SECONDS = 1.0
QUERIES = ["the tram to the harbour", "渡轮 码头", "writer1 number 77", "what about number 5?"]

Started: TypeAlias = RedisServer | MilvusServer | PostgresServer

numbers = count(1)


class Servers:
    """Those that are needed, started when they are, and new stores on them and in files."""

    def __init__(self, folder: Path, running: ExitStack) -> None:
        self._folder = folder
        self._running = running
        self._started: dict[str, Started] = {}

    def server(self, engine: str) -> Started:
        """The server of an engine."""
        if engine not in self._started:
            where = self._folder / engine
            server: Started
            if engine == "redis":
                server = RedisServer(where, appendfsync="always")
            elif engine == "milvus":
                server = MilvusServer(where)
            else:
                server = PostgresServer(where)
            self._running.enter_context(server)
            self._started[engine] = server
        return self._started[engine]

    def url(self, engine: str) -> str:
        """Of a new store."""
        name = f"store{next(numbers)}"
        if engine == "sqlite":
            return f"sqlite:///{self._folder / name}.db"
        name = f"schema={name}" if engine == "postgres" else f"prefix={name}"
        return f"{self.server(engine).url}?{name}"

    def config(self, engines: str, **settings: Any) -> MemoryConfig:
        """Of a new memory on one engine or two: ``redis``, ``redis+milvus``, ``redis, outbox``."""
        stores, _, outbox = engines.partition(", ")
        log, _, index = stores.partition("+")
        where: dict[str, Any] = {"url": self.url(log)}
        if index:
            where["index"] = {"url": self.url(index)}
        if outbox:
            where["outbox"] = str(self._folder / f"outbox{next(numbers)}.db")
        # Nothing that another run would not do at the same moment; and no answer that was given before.
        still = {"orchestration": {"background": False}, "learning": {"background": False}, "recall": {"cache_ttl": 0}}
        return MemoryConfig.of({**where, **still, **settings})


@contextmanager
def started() -> Iterator[Servers]:
    """For as long as they are needed."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, ExitStack() as running:
        yield Servers(Path(folder), running)


@dataclass(slots=True)
class Crowd:
    """Threads that write and recall while a server comes and goes, and what they saw."""

    memory: HybridMemory
    each: int
    acknowledged: list[str] = field(default_factory=list)
    waited: list[str] = field(default_factory=list)
    repeated: list[int] = field(default_factory=list)
    recalls: list[float] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)

    def write(self, writer: int) -> None:
        """A conversation of its own."""
        scoped = self.memory.scoped(user="alice", session=f"s{writer}")
        for number in range(self.each):
            text = f"Tram number {number} of writer{writer} goes to the harbour. {number}路渡轮到码头。"
            while True:
                try:
                    receipt = scoped.remember(text, id=f"{writer}-{number}")
                except StoreUnavailableError:
                    self.repeated.append(number)
                    time.sleep(0.02)
                else:
                    break
            self.acknowledged += receipt.ids
            self.waited += receipt.waiting

    def recall(self) -> None:
        """One question after the other."""
        scoped = self.memory.scoped(user="alice")
        while not self.done.is_set():
            for query in QUERIES:
                started = time.perf_counter()
                try:
                    hits = scoped.recall(query, k=5)
                except StoreUnavailableError as error:
                    self.refused.append(str(error))
                else:
                    self.recalls.append(time.perf_counter() - started)
                    self.noted += {hit.note for hit in hits if hit.note}
                time.sleep(0.02)

    def through(self, server: Server) -> None:
        """Write and recall while the server is killed three times."""
        with ThreadPoolExecutor() as pool:
            recalling = [pool.submit(self.recall) for _ in range(READERS)]
            writing = [pool.submit(self.write, writer) for writer in range(WRITERS)]
            for kill in range(1, KILLS + 1):
                while len(self.acknowledged) < kill * WRITERS * self.each // (KILLS + 1):
                    time.sleep(0.001)
                server.kill()
                time.sleep(AWAY_SECONDS)
                server.start()
            for job in writing:
                job.result()
            self.done.set()
            for job in recalling:
                job.result()


def outage(options: argparse.Namespace, servers: Servers) -> Table:
    """What is lost, doubled or out of order, and what recall did meanwhile."""
    columns = [
        "engines", "acknowledged", "lost", "doubled", "disordered", "repeated", "outbox", "recalls", "from log",
        "refused", "longest s", "catch up s", "index = log",
    ]  # fmt: skip
    table = Table(f"{KILLS} kills in the middle of {options.writes:,} writes and recalls", columns)
    table.note = "refused: recalls while the log itself was away; longest: of an answered recall"
    logging.disable(logging.CRITICAL)  # each recall without the index is a warning
    for engines in [one for one in OUTAGES if set(one.replace(",", "+").split("+")) & set(options.engines)]:
        with open_memory(servers.config(engines, embedder="hashing")) as memory:
            crowd = Crowd(memory, options.writes // WRITERS)
            crowd.through(servers.server(next(one for one in KILLED if one in engines)))
            table.rows.append({"engines": engines, **compared(memory, crowd)})
    logging.disable(logging.NOTSET)
    return table


def compared(memory: HybridMemory, crowd: Crowd) -> dict[str, Any]:
    """The log against what was acknowledged, and the index against the log."""
    alice = memory.scoped(user="alice")
    started = time.perf_counter()
    alice.remember("the last word")  # an outbox is emptied by the next write
    alice.recall("tram")
    caught_up = time.perf_counter() - started
    said = Counter(str(message.id) for message in alice.history())
    sessions = [memory.scoped(user="alice", session=f"s{writer}").history() for writer in range(WRITERS)]
    orders = [[int(str(message.id).split("-")[1]) for message in some] for some in sessions]
    stats = memory.stats()
    return {
        "acknowledged": len(crowd.acknowledged),
        "lost": len(set(crowd.acknowledged) - set(said)),
        "doubled": sum(said.values()) - len(said) + len(crowd.acknowledged) - len(set(crowd.acknowledged)),
        "disordered": sum(order != sorted(order) for order in orders),
        "repeated": len(crowd.repeated),
        "outbox": len(crowd.waited),
        "recalls": len(crowd.recalls),
        "from log": len(crowd.noted),
        "refused": len(crowd.refused),
        "longest s": max(crowd.recalls),
        "catch up s": caught_up,
        "index = log": (stats.records, stats.vectors, stats.unindexed, stats.pending) == (len(said), len(said), 0, 0),
    }  # fmt: skip


def main() -> None:
    """Print the table, and write the JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", nargs="+", default=ENGINES)
    parser.add_argument("--writes", type=int, default=10_000, help="during the outages")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with started() as servers:
        table = outage(options, servers)
    table.show()
    results = {"outage": table.rows}
    if options.json:
        names = ("hybrid-agent-memory", "numpy", "redis", "pymilvus", "milvus-lite", "psycopg")
        versions = {name: version(name) for name in names} | {"python": sys.version.split()[0]}
        report = {"versions": versions, "machine": platform.machine(), "cores": os.cpu_count(), "results": results}
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
