from __future__ import annotations

from collections.abc import Iterator

import pytest

from hybrid_memory.ports import SemanticIndex
from hybrid_memory.stores.milvus import MilvusIndex
from hybrid_memory.testing.corpus import Corpus, random_corpus
from hybrid_memory.testing.milvus_server import MilvusServer
from hybrid_memory.testing.semantic_index import SemanticIndexContract
from tests.stores.shelf import Shelf


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    with MilvusServer(tmp_path_factory.mktemp("milvus")) as server:
        yield server


@pytest.fixture(scope="module")
def shelf(server: MilvusServer) -> Iterator[Shelf]:
    def opened(name: str) -> MilvusIndex:
        index = MilvusIndex(f"{server.url}?prefix={name}", index_type="FLAT")
        index.reset()
        return index

    shelf = Shelf(opened)
    yield shelf
    shelf.close()


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
    def filled(self, shelf: Shelf, corpus: Corpus) -> Iterator[SemanticIndex]:
        index = shelf.take(corpus)
        yield index
        shelf.give_back(index, corpus)
