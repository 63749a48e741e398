"""Every log and every index passes the suite of its port, and so does a log with an archive behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import pytest

from hybrid_memory.engines.in_memory import InMemoryIndex, InMemoryLog
from hybrid_memory.engines.milvus import MilvusIndex
from hybrid_memory.engines.milvus.catalog import RECORDS
from hybrid_memory.engines.postgres import PostgresConnection, PostgresIndex, PostgresLog
from hybrid_memory.engines.redis import RedisConnection, RedisIndex, RedisLog
from hybrid_memory.engines.sqlite import Database, SqliteIndex, SqliteLog
from hybrid_memory.log.views import ArchivedLog
from hybrid_memory.ports import EventLog, SemanticIndex
from hybrid_memory.testing.archive import ArchiveContract
from hybrid_memory.testing.corpus import Corpus, random_corpus
from hybrid_memory.testing.event_log import EventLogContract
from hybrid_memory.testing.semantic_index import SemanticIndexContract
from tests.archives import InMemoryArchive

NUMBERS = count()
SEEDS = {"memory": 0, "sqlite": 1, "postgres": 2, "redis": 1, "milvus": 0}

ENCRYPTED = pytest.param("encrypted", marks=pytest.mark.skipif(find_spec("sqlcipher3") is None, reason="no SQLCipher"))

LOGS = ["memory", "sqlite", ENCRYPTED, "postgres", "redis", "archived sqlite"]

corpus_of = cache(random_corpus)
OpenIndex = Callable[[str], SemanticIndex]


class TestEventLog(EventLogContract):
    @pytest.fixture(params=LOGS)
    def log(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EventLog]:
        def sqlite() -> EventLog:
            key = bytes(32) if request.param == "encrypted" else None
            return SqliteLog(Database(tmp_path / "memory.db", power_safe=False, key=key))

        def redis(url: str) -> EventLog:
            return RedisLog(RedisConnection(f"{url}?prefix=contract-{next(NUMBERS)}"))

        def postgres() -> EventLog:
            server = request.getfixturevalue("postgres_server")
            return PostgresLog(PostgresConnection(f"{server.url}?schema=contract_{next(NUMBERS)}"))

        openers: dict[str, Callable[[], EventLog]] = {
            "memory": InMemoryLog,
            "sqlite": sqlite,
            "encrypted": sqlite,
            "postgres": postgres,
            "redis": lambda: redis(request.getfixturevalue("redis_server").url),
            "archived sqlite": lambda: ArchivedLog(sqlite(), InMemoryArchive()),
        }
        log = openers[request.param]()
        yield log
        log.close()


class TestInMemoryArchive(ArchiveContract):
    @pytest.fixture
    def archive(self) -> InMemoryArchive:
        return InMemoryArchive()


@pytest.fixture(scope="module")
def open_index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenIndex]:
    """Opens an empty index of an engine; all are closed after the last test."""
    opened: list[SemanticIndex] = []
    folder = tmp_path_factory.mktemp("indexes")

    def sqlite(name: str) -> SemanticIndex:
        return SqliteIndex(Database(folder / f"{name}.db", power_safe=False))

    def redis(url: str, name: str) -> SemanticIndex:
        return RedisIndex(RedisConnection(f"{url}?prefix={name}"))

    def postgres(name: str) -> SemanticIndex:
        server = request.getfixturevalue("postgres_server")
        return PostgresIndex(PostgresConnection(f"{server.url}?schema={name}"))

    def milvus(name: str) -> SemanticIndex:
        return MilvusIndex(f"{request.getfixturevalue('milvus_server').url}?prefix={name}", index_type="FLAT")

    def open_one(engine: str) -> SemanticIndex:
        openers: dict[str, OpenIndex] = {
            "memory": lambda _: InMemoryIndex(),
            "sqlite": sqlite,
            "postgres": postgres,
            "redis": lambda name: redis(request.getfixturevalue("redis_server").url, name),
            "milvus": milvus,
        }
        opened.append(openers[engine](f"index_{next(NUMBERS)}"))
        return opened[-1]

    yield open_one
    for index in opened:
        index.close()


@pytest.fixture(scope="module")
def kept() -> dict[str, SemanticIndex]:
    """The filled indexes, by engine: filling takes longest."""
    return {}


class TestSemanticIndex(SemanticIndexContract):
    @pytest.fixture(params=["memory", "sqlite", "postgres", "redis", "milvus"])
    def engine(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.fixture
    def index(self, engine: str, open_index: OpenIndex) -> Iterator[SemanticIndex]:
        index = open_index(engine)
        yield index
        index.close()

    @pytest.fixture
    def corpus(self, engine: str) -> Corpus:
        return corpus_of(SEEDS[engine])

    @pytest.fixture
    def filled(
        self, engine: str, corpus: Corpus, open_index: OpenIndex, kept: dict[str, SemanticIndex]
    ) -> Iterator[SemanticIndex]:
        if engine not in kept:
            kept[engine] = open_index(engine)
            corpus.fill(kept[engine])
        index = kept[engine]
        if isinstance(index, MilvusIndex):
            # Milvus Lite is slow at rows that it holds in memory; the tests of few records search those.
            index._catalog.flush(RECORDS, 1)
        yield index
        size = index.size()
        if (size.records, size.vectors) != (len(corpus.entries), len(corpus.keys)):
            index.delete(None)
            corpus.fill(index)
