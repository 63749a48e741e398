from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from hybrid_memory.stores.milvus import MilvusIndex
from hybrid_memory.testing.corpus import Corpus, random_corpus
from hybrid_memory.testing.milvus_server import MilvusServer
from hybrid_memory.testing.semantic_index import SemanticIndexContract


@dataclass
class Shelf:
    """Indexes that are filled already: most tests only read them."""

    server: MilvusServer
    filled: dict[str, MilvusIndex] = field(default_factory=dict)

    def take(self, corpus: Corpus) -> MilvusIndex:
        key = " ".join(entry.record.text for entry in corpus.entries)
        if key not in self.filled:
            self.filled[key] = MilvusIndex(f"{self.server.url}?prefix=filled_{len(self.filled)}", index_type="FLAT")
            self.filled[key].reset()
            corpus.fill(self.filled[key])
        return self.filled[key]

    def give_back(self, index: MilvusIndex, corpus: Corpus) -> None:
        size = index.size()
        if (size.records, size.vectors) != (len(corpus.entries), len(corpus.keys)):
            index.reset()
            corpus.fill(index)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    with MilvusServer(tmp_path_factory.mktemp("milvus")) as server:
        yield server


@pytest.fixture(scope="module")
def shelf(server: MilvusServer) -> Iterator[Shelf]:
    shelf = Shelf(server)
    yield shelf
    for index in shelf.filled.values():
        index.close()


class TestMilvusIndex(SemanticIndexContract):
    @pytest.fixture
    def index(self, server: MilvusServer) -> Iterator[MilvusIndex]:
        index = MilvusIndex(server.url, index_type="FLAT")
        index.reset()
        yield index
        index.close()

    @pytest.fixture
    def corpus(self) -> Corpus:
        """One of the suite's two: Milvus Lite takes its time."""
        return random_corpus(0)

    @pytest.fixture
    def filled(self, shelf: Shelf, corpus: Corpus) -> Iterator[MilvusIndex]:
        index = shelf.take(corpus)
        yield index
        shelf.give_back(index, corpus)
