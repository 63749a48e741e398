"""Writers and servers that are killed at random moments: nothing acknowledged is lost, doubled or not found.

Writers also write files, share a space, forget turns, and say forgotten ones again; those must not come back.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from tests.postgres_server import PostgresServer
from tests.servers import MilvusServer, RedisServer

CHILD = Path(__file__).with_name("_killed.py")
SHARES = {"sqlite": 0.25, "encrypted": 0.15, "postgres": 0.25, "redis": 0.2, "milvus": 0.1, "clickhouse": 0.05}
"""Of all kills; where some engines are left out, the others take theirs."""

BATCHES = dict.fromkeys(("sqlite", "encrypted", "postgres", "redis"), (0, 0, 1, 2, 5, 9, 16))
SLOW_BATCHES = (0, 2, 5, 9, 14, 20)
"""How many writes are acknowledged before a writer is killed; more where it takes long to begin."""

SERVERS = {"postgres": 0.5, "redis": 0.5, "milvus": 0.25}
"""How often the server is killed as well."""

PER_STORE = 25
"""Kills of one store, before another is begun: what is there is looked through after each."""

Server = PostgresServer | RedisServer | MilvusServer


@dataclass
class Figures:
    """What a campaign comes to, by engine."""

    kills: Counter[str] = field(default_factory=Counter)
    acknowledged: Counter[str] = field(default_factory=Counter)
    signs: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


class Writers:
    """The process whose forks are killed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.wrong: list[str] = []
        self.line()

    @property
    def _pipes(self) -> tuple[IO[str], IO[str]]:
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the process has no pipes")
        return self._process.stdin, self._process.stdout

    def order(self, **order: Any) -> None:
        """Have a fork do something."""
        orders, _ = self._pipes
        orders.write(json.dumps(order) + "\n")
        orders.flush()

    def line(self) -> str:
        """What it says next; ``dead`` when the fork has ended."""
        line = self._pipes[1].readline()
        if line.startswith("wrong "):
            self.wrong.append(line.removeprefix("wrong ").strip())
            return self.line()
        return line

    def ids(self, batches: int) -> Iterator[str]:
        """What so many writes acknowledge, or all until the fork has ended."""
        while batches and (line := self.line()) not in ("dead\n", ""):
            batches -= 1
            yield from line.split() if line.endswith("\n") else []


@contextmanager
def writers() -> Iterator[Writers]:
    """A process that forks on demand."""
    command = [sys.executable, str(CHILD)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        yield Writers(process)
        process.communicate()


def settings_of(engine: str, folder: Path, number: int, server: Server | None) -> dict[str, Any]:
    """Of a new store."""
    name = "schema" if engine == "postgres" else "prefix"
    here = f"{server.url}?{name}=store{number}" if server else f"sqlite:///{folder / f'store{number}.db'}"
    settings: dict[str, Any] = {"url": here, "embedder": "hashing", "recall": {"count_uses": False}}
    if engine == "milvus":
        settings |= {"url": f"sqlite:///{folder / f'store{number}.db'}", "index": {"url": here}}
    if engine == "clickhouse":
        settings["archive"] = {"url": f"chdb:///{folder / 'archive'}?table=store{number}", "after": 1}
    return settings


def campaign(engine: str, count: int, chance: random.Random, folder: Path, figures: Figures) -> None:
    """Kill writers of one engine, and its server among them."""
    with ExitStack() as opened:
        child = opened.enter_context(writers())
        server: Server | None = None
        if engine == "postgres":
            server = opened.enter_context(PostgresServer(folder / "postgres"))
        if engine == "redis":
            server = opened.enter_context(RedisServer(folder / "redis", appendfsync="always"))
        if engine == "milvus":
            server = opened.enter_context(MilvusServer(folder / "milvus"))
        acknowledged: list[str] = []
        config: dict[str, Any] = {}
        for cycle in range(count):
            if cycle % PER_STORE == 0:
                config, acknowledged = settings_of(engine, folder, cycle // PER_STORE, server), []
            before = len(acknowledged)
            key = "a key" if engine == "encrypted" else None
            child.order(do="write", config=config, cycle=cycle, key=key)
            pid = int(child.line())
            acknowledged += child.ids(chance.choice(BATCHES.get(engine, SLOW_BATCHES)))
            time.sleep(chance.random() * 0.05)
            if server is not None and chance.random() < SERVERS[engine]:
                server.kill()
                server.start()
                acknowledged += child.ids(2)
                figures.kills[f"{engine} server"] += 1
            os.kill(pid, signal.SIGKILL)
            acknowledged += child.ids(-1)
            figures.kills[engine] += 1
            figures.acknowledged[engine] += sum(name[0] != "?" for name in acknowledged[before:])
            figures.signs.update(f"{engine} {name[0]}" for name in acknowledged[before:])
            named = folder / "acknowledged"
            named.write_text("\n".join(acknowledged), encoding="utf-8")
            child.order(do="check", config=config, cycle=cycle, key=key, acknowledged=str(named))
            list(child.ids(-1))
            figures.wrong += [f"{engine}, after kill {cycle}: {one}" for one in child.wrong]
            child.wrong.clear()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("--engines", nargs="+", choices=list(SHARES), default=list(SHARES))
    parser.add_argument("--count", type=int, default=100, help="kills of writers in all; servers come on top")
    parser.add_argument("--seed", type=int, default=7)


def run(args: argparse.Namespace) -> int:
    """Kill, look, and say what is wrong."""
    figures, chance = Figures(), random.Random(args.seed)  # noqa: S311 - for tests
    needs = {"clickhouse": "chdb", "encrypted": "sqlcipher3"}
    engines = [engine for engine in args.engines if engine not in needs or find_spec(needs[engine])]
    for engine in set(args.engines) - set(engines):
        print(f"{engine}: left out, its package is not installed")
    whole = sum(SHARES[engine] for engine in engines)
    for engine in engines:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            campaign(engine, max(1, round(args.count * SHARES[engine] / whole)), chance, Path(folder), figures)
        servers = figures.kills[f"{engine} server"]
        print(
            f"{engine}: {figures.kills[engine]} writers and {servers} servers killed, "
            f"{figures.acknowledged[engine]:,} writes acknowledged, with {figures.signs[f'{engine} /']} files, "
            f"{figures.signs[f'{engine} @']} in a space, {figures.signs[f'{engine} -']} forgotten, "
            f"{time.monotonic() - began:.0f} s"
        )
    print(f"seed {args.seed}: {len(figures.wrong)} things wrong", *figures.wrong[:20], sep="\n")
    return int(bool(figures.wrong))
