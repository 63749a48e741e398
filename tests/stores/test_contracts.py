"""Every log and every index passes the suite of its port, and so does a log with an archive behind it."""

from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec

import pytest

from hybrid_memory.engines.milvus import MilvusIndex
from hybrid_memory.engines.milvus.catalog import RECORDS
from hybrid_memory.log.views import ArchivedLog
from hybrid_memory.ports import EventLog, SemanticIndex
from hybrid_memory.testing.archive import ArchiveContract
from hybrid_memory.testing.corpus import Corpus, random_corpus
from hybrid_memory.testing.event_log import EventLogContract
from hybrid_memory.testing.semantic_index import SemanticIndexContract
from tests.archives import InMemoryArchive
from tests.stores.conftest import OpenEngine

SEEDS = {"memory": 0, "sqlite": 1, "postgres": 2, "redis": 1, "milvus": 0}

ENCRYPTED = pytest.param("encrypted", marks=pytest.mark.skipif(find_spec("sqlcipher3") is None, reason="no SQLCipher"))

LOGS = ["memory", "sqlite", ENCRYPTED, "postgres", "redis", "archived sqlite"]

corpus_of = cache(random_corpus)
OpenIndex = Callable[[str], SemanticIndex]


class TestEventLog(EventLogContract):
    @pytest.fixture(params=LOGS)
    def log(self, request: pytest.FixtureRequest, engine_of: OpenEngine) -> Iterator[EventLog]:
        kind = request.param.removeprefix("archived ")
        log = engine_of("sqlite", key=bytes(32)).log() if kind == "encrypted" else engine_of(kind).log()
        log = log if kind == request.param else ArchivedLog(log, InMemoryArchive())
        yield log
        log.close()


class TestInMemoryArchive(ArchiveContract):
    @pytest.fixture
    def archive(self) -> InMemoryArchive:
        return InMemoryArchive()


@pytest.fixture(scope="module")
def open_index(engine_of: OpenEngine) -> Iterator[OpenIndex]:
    """Opens an empty index of an engine; all are closed after the last test."""
    opened: list[SemanticIndex] = []

    def open_one(kind: str) -> SemanticIndex:
        opened.append(engine_of(kind).index())
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
