"""Every index passes the suite of the port; filled ones are kept from test to test, as filling takes longest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import count

import pytest

from hybrid_memory.engines.in_memory import InMemoryIndex
from hybrid_memory.engines.milvus import MilvusIndex
from hybrid_memory.engines.milvus.catalog import RECORDS
from hybrid_memory.engines.redis import RedisConnection, RedisIndex
from hybrid_memory.engines.sqlite import Database, SqliteIndex
from hybrid_memory.ports import SemanticIndex
from hybrid_memory.testing.corpus import Corpus, random_corpus
from hybrid_memory.testing.redis_server import RedisServer
from hybrid_memory.testing.semantic_index import SemanticIndexContract
from tests.stores.test_log_contract import ENCRYPTED

NUMBERS = count()
SEEDS = {"memory": 0, "sqlite": 1, "encrypted": 2, "redis": 1, "cluster": 2, "milvus": 0}

corpus_of = cache(random_corpus)
OpenIndex = Callable[[str], SemanticIndex]


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="module")
def open_index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenIndex]:
    """Opens an empty index of an engine; all are closed after the last test."""
    opened: list[SemanticIndex] = []
    folder = tmp_path_factory.mktemp("indexes")

    def sqlite(name: str, key: bytes | None = None) -> SemanticIndex:
        return SqliteIndex(Database(folder / f"{name}.db", power_safe=False, key=key))

    def redis(url: str, name: str) -> SemanticIndex:
        return RedisIndex(RedisConnection(f"{url}?prefix={name}"))

    def milvus(name: str) -> SemanticIndex:
        return MilvusIndex(f"{request.getfixturevalue('milvus_server').url}?prefix={name}", index_type="FLAT")

    def open_one(engine: str) -> SemanticIndex:
        openers: dict[str, OpenIndex] = {
            "memory": lambda _: InMemoryIndex(),
            "sqlite": sqlite,
            "encrypted": lambda name: sqlite(name, bytes(32)),
            "redis": lambda name: redis(request.getfixturevalue("redis_server").url, name),
            "cluster": lambda name: redis(request.getfixturevalue("cluster_url"), name),
            "milvus": milvus,
        }
        opened.append(openers[engine](f"index_{next(NUMBERS)}"))
        return opened[-1]

    yield open_one
    for index in opened:
        index.close()


@pytest.fixture(scope="module")
def kept() -> dict[str, SemanticIndex]:
    """The filled indexes, by engine."""
    return {}


class TestSemanticIndex(SemanticIndexContract):
    @pytest.fixture(params=["memory", "sqlite", ENCRYPTED, "redis", "cluster", "milvus"])
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
            index.reset()
            corpus.fill(index)
