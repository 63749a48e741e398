from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from hybrid_memory.engines.milvus import MilvusIndex
from hybrid_memory.engines.milvus.catalog import RECORDS
from hybrid_memory.ports import SemanticIndex
from hybrid_memory.testing.corpus import Corpus
from hybrid_memory.testing.milvus_server import MilvusServer
from hybrid_memory.testing.semantic_index import SemanticIndexContract
from tests.stores.shelf import Shelf, corpus_of

NUMBERS = count()


@pytest.fixture(scope="module")
def shelf(milvus_server: MilvusServer) -> Iterator[Shelf]:
    shelf = Shelf(lambda name: MilvusIndex(f"{milvus_server.url}?prefix={name}", index_type="FLAT"))
    yield shelf
    shelf.close()


class TestMilvusIndex(SemanticIndexContract):
    @pytest.fixture
    def index(self, milvus_server: MilvusServer) -> Iterator[MilvusIndex]:
        # A name of its own, as dropping the collections of another test takes longer.
        index = MilvusIndex(f"{milvus_server.url}?prefix=empty_{next(NUMBERS)}", index_type="FLAT")
        yield index
        index.close()

    @pytest.fixture
    def corpus(self) -> Corpus:
        """One of the suite's two: Milvus Lite takes its time."""
        return corpus_of(0)

    @pytest.fixture
    def filled(self, shelf: Shelf, corpus: Corpus) -> Iterator[SemanticIndex]:
        index = shelf.take(corpus)
        assert isinstance(index, MilvusIndex)
        # Milvus Lite searches the words of rows that it holds in memory slowly; the tests of few records search those.
        index._catalog.flush(RECORDS, 1)
        yield index
        shelf.give_back(index, corpus)
