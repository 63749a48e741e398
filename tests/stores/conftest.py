import json
import os
import pickle
import random
import string
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count, pairwise
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
import pytest

from hybrid_memory import EventKind, MemoryConfig, Record, Scope
from hybrid_memory.engines.sqlite import Database, SqliteIndex, SqliteLog
from hybrid_memory.memory.opening import engine_at
from hybrid_memory.ports import Draft, Entry, Floats
from hybrid_memory.store.engine import Engine
from hybrid_memory.text.tokenize import terms
from tests.doubles import PATIENCE
from tests.postgres_server import Pooler, PostgresServer
from tests.servers import MilvusServer, RedisServer

ALICE = Scope(user="alice", session="s1")
DIM = 32
HEADS = 16_777_213
NUMBERS = count()
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
CANARIES = ["The passphrase is {0}xylophone quartz", "密码是{0}麒麟貔貅饕餮", "J'ai dit {0}œuvre à Zoë 🦜"]
"""The number makes each one's words its own."""


class Store:
    """A log with its index, filled with turns that have a number each; ``name`` makes their ids."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.name = name
        self.log = SqliteLog(database)
        self.index = SqliteIndex(database)

    def say(self, numbers: list[int]) -> list[int]:
        """Append turns; returns their positions."""
        drafts = [
            Draft(self.name(n), True, "s1", EventKind.MESSAGE, NOON + timedelta(minutes=n), {"content": canary(n)})
            for n in numbers
        ]
        return [appended.position for appended in self.log.append(ALICE.owner, drafts)]

    def write(self, numbers: list[int]) -> list[int]:
        """Append and index turns; returns their positions."""
        positions = self.say(numbers)
        after = self.index.status(ALICE).applied
        entries = [
            Entry(
                Record(p, ALICE, canary(n), NOON, (self.name(n),), segment=p, ordinal=0, metadata={"said": canary(n)}),
                " ".join(terms(canary(n))),
            )
            for p, n in zip(positions, numbers, strict=True)
        ]
        assert self.index.upsert(ALICE, entries, after=after, upto=positions[-1])
        keys = {p: b"key %d" % n for p, n in zip(positions, numbers, strict=True)}
        self.index.put_vectors(("canaries", DIM), keys, {b"key %d" % n: vector(n) for n in numbers})
        return positions

    def fill(self) -> None:
        """A hundred and twenty turns; number n is said at position n + 1."""
        for start in range(0, 120, 10):
            self.write(list(range(start, start + 10)))

    def erase(self, positions: list[int], rewritten: dict[int, dict[str, str]] | None = None) -> None:
        """Destroy the events."""
        note = Draft(f"note {positions}", False, None, EventKind.ERASED, NOON, {"positions": positions})
        self.log.erase(ALICE.owner, positions, rewritten or {}, note)

    def close(self) -> None:
        self.index.close()
        self.log.close()


@cache
def own(number: int) -> str:
    """A word that only this turn has; in every third one it is Chinese."""
    letters = [chr(code) for code in range(0x4E00, 0x9FA5)] if number % 3 == 1 else string.ascii_lowercase
    return "".join(random.Random(number).choices(letters, k=16))  # noqa: S311 - for tests


@cache
def canary(number: int) -> str:
    """A sentence in one of the languages, of one line or of many."""
    return CANARIES[number % len(CANARIES)].format(own(number)) + f" {own(number)[::-1]}" * (number % 40)


def name(number: int) -> str:
    """The id of a turn, which a store may write with JSON's escapes."""
    return f"e{number} {own(number)}"


def vector(number: int) -> Floats:
    row = np.random.default_rng(number).normal(size=DIM)
    unit: Floats = (row / np.linalg.norm(row)).astype(np.float32)
    return unit


@cache
def traces(number: int) -> list[bytes]:
    """The bytes that give a turn away: its own words as they may be written, and a part of its vector."""
    word = own(number)
    forms = [half.encode(code) for half in (word[:8], word[8:]) for code in ("utf-8", "utf-16-le", "utf-16-be")]
    escaped = [json.dumps(half).strip('"').encode() for half in (word[:8], word[8:])]
    pairs = [pair.encode() for pair in map("".join, pairwise(word))] if number % 3 == 1 else []  # terms of Chinese
    return [*forms, *escaped, *pairs, vector(number).tobytes()[:24]]


def heads(content: bytes) -> np.ndarray[Any, np.dtype[Any]]:
    """A number of the four bytes from each place on."""
    view = np.frombuffer(content, np.uint8).astype(np.uint32)
    return (view[:-3] | view[1:-2] << 8 | view[2:-1] << 16 | view[3:] << 24) % HEADS


def likely(content: bytes) -> Callable[[bytes], bool]:
    """Rules out nearly all that is not there: searching megabytes for each trace would take seconds."""
    there = np.zeros(HEADS, np.bool_)
    there[heads(content)] = True
    return lambda trace: bool(there[heads(trace[:4])[0]])


@pytest.fixture
def found(tmp_path: Path) -> Callable[[list[int]], list[tuple[str, int]]]:
    """Which of these turns left a trace, and in which file; all files of the folder are read byte by byte."""
    reading = (
        "import pathlib, pickle, sys\n"
        "files = [file for file in pathlib.Path(sys.argv[1]).rglob('*') if file.is_file()]\n"
        "sys.stdout.buffer.write(pickle.dumps({file.name: file.read_bytes() for file in files}))"
    )

    def scan(numbers: list[int]) -> list[tuple[str, int]]:
        # In a process of its own: to close a file drops the locks that SQLite has on it.
        command = [sys.executable, "-S", "-c", reading, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, check=True, timeout=PATIENCE)  # noqa: S603
        contents: dict[str, bytes] = pickle.loads(done.stdout)  # noqa: S301 - our own
        left: list[tuple[str, int]] = []
        for file, content in contents.items():
            may_be = likely(content)
            left += [
                (file, number)
                for number in numbers
                if any(may_be(trace) and trace in content for trace in traces(number))
            ]
        return left

    return scan


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One for all tests that never kill it, each with a prefix of its own."""
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """One for all tests that never kill it, each with a schema of its own."""
    with PostgresServer(tmp_path_factory.mktemp("postgres"), options={"fsync": "off"}) as server:
        yield server


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    return f"{redis_server.url}?prefix=store_{next(NUMBERS)}"


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> str:
    return f"{postgres_server.url}?schema=store_{next(NUMBERS)}"


@pytest.fixture(scope="session")
def pooler(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pooler]:
    """PgBouncer in transaction mode with two sessions; `make setup-pooler` installs it."""
    required = os.environ.get("HYBRID_MEMORY_POOLER") == "required"
    if not required and which("pgbouncer", path=f"{os.defpath}:/usr/sbin:/usr/local/sbin") is None:
        pytest.skip("no PgBouncer: make setup-pooler")
    with Pooler(tmp_path_factory.mktemp("pooler"), postgres_server) as pooler:
        yield pooler


@pytest.fixture(scope="session")
def milvus_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    """One for all tests that never kill it, each with names of its own or an index that it resets."""
    with MilvusServer(tmp_path_factory.mktemp("milvus")) as server:
        yield server


OpenEngine = Callable[..., Engine]


@pytest.fixture(scope="session")
def engine_of(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> OpenEngine:
    """The engine of a kind, at the store with this name, or at a new one."""
    folder = tmp_path_factory.mktemp("stores")

    def engine_of(kind: str, name: str = "", key: bytes | None = None) -> Engine:
        name = name or f"store_{next(NUMBERS)}"
        url = {"memory": "memory://", "sqlite": f"sqlite:///{folder / name}.db"}.get(kind)
        if url is None:
            server = request.getfixturevalue(f"{kind}_server")
            url = f"{server.url}?{'schema' if kind == 'postgres' else 'prefix'}={name}"
        index = {"algorithm": "flat"} if kind == "milvus" else {}
        return engine_at(url, MemoryConfig.of({"power_safe": False, "index": index}), key)

    return engine_of


OpenStore = Callable[..., Store]


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[OpenStore]:
    """Opens stores on one file, and closes them after the test."""
    stores: list[Store] = []

    def open_one(**settings: Any) -> Store:
        stores.append(Store(Database(tmp_path / "memory.db", **{"power_safe": False, **settings})))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()
