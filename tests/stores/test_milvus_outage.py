from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import pytest

from hybrid_memory.engines.in_memory import InMemoryIndex
from hybrid_memory.engines.milvus import MilvusIndex
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.index.record import Where
from hybrid_memory.ports import Use
from hybrid_memory.testing.corpus import (
    ALICE,
    BOB,
    DIM,
    START,
    assert_same_ranking,
    entry_of,
    ids,
    make_record,
    random_corpus,
    unit,
)
from hybrid_memory.testing.servers import MilvusServer
from hybrid_memory.text.tokenize import terms

NUMBERS = count()
ALL = 10_000
VECTOR = unit(np.ones(DIM))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    with MilvusServer(tmp_path_factory.mktemp("milvus")) as server:
        yield server


@pytest.fixture
def url(server: MilvusServer) -> str:
    return f"{server.url}?prefix=index_{next(NUMBERS)}"


def test_after_a_restart_the_same_object_works_on(server: MilvusServer, url: str) -> None:
    """Meanwhile every call says that the server is away."""
    index = MilvusIndex(url)
    corpus, oracle = random_corpus(1, size=60), InMemoryIndex()
    corpus.fill(index)
    corpus.fill(oracle)
    server.kill()
    for call in (
        lambda: index.nearest(VECTOR, Where(ALICE), 5),
        lambda: index.matching(["cat"], Where(ALICE), 5),
        lambda: index.upsert(ALICE, [], after=0, upto=1),
        lambda: index.get([1]),
        index.size,
        lambda: index.delete(None),
    ):
        with pytest.raises(StoreUnavailableError, match="is the server running"):
            call()
    server.start()
    assert index.size() == oracle.size()
    assert_same_ranking(index.nearest(VECTOR, Where(ALICE), ALL), oracle.nearest(VECTOR, Where(ALICE), ALL), ALL)
    words = terms("marathon cat 北京")
    assert_same_ranking(index.matching(words, Where(BOB), ALL), oracle.matching(words, Where(BOB), ALL), ALL)
    everything = ids(*range(1, 61))
    assert (
        index.columns(everything, Where(ALICE), 1).ids.tolist()
        == oracle.columns(everything, Where(ALICE), 1).ids.tolist()
    )
    index.close()


def test_uses_add_up_over_threads(url: str) -> None:
    index = MilvusIndex(url)
    index.upsert(ALICE, [entry_of(make_record(1))], after=0, upto=1)

    def use(_: int) -> None:
        assert index.upsert(ALICE, [], after=1, upto=1, uses={1: Use(1, START), 99: Use(1, START)})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(16)))
    assert (index.get([1])[0].uses, index.get([1])[0].last_used) == (16, START)
    index.close()
