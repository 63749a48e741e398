from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count

import numpy as np
import pytest

from hybrid_memory import Scope
from hybrid_memory.engines.in_memory import InMemoryIndex
from hybrid_memory.engines.milvus import MilvusIndex
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.index.record import Where
from hybrid_memory.ports import Use
from hybrid_memory.testing.corpus import (
    ALICE,
    BOB,
    DIM,
    EMBEDDER,
    START,
    Corpus,
    assert_same_ranking,
    entry_of,
    ids,
    make_record,
    random_corpus,
    unit,
)
from hybrid_memory.testing.servers import MilvusServer
from hybrid_memory.text.tokenize import terms
from tests.doubles import until_there

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


@pytest.mark.parametrize("seed", [0])
def test_a_kill_in_the_middle_of_writes_is_mended_by_writing_on(server: MilvusServer, url: str, seed: int) -> None:
    """No record is lost or there twice, and after `train` every number is that of an index that was never killed."""
    corpus, oracle = random_corpus(seed, size=150), InMemoryIndex()
    corpus.fill(oracle)
    index = MilvusIndex(url)
    # Before it is killed all collections are there: Milvus Lite that is killed while it makes one never can again.
    first = corpus.of(ALICE)[:1]
    assert index.upsert(ALICE, first, after=0, upto=first[0].record.id)
    vectors_of(index, corpus, ALICE)
    chance, stop = np.random.default_rng(seed), threading.Event()

    def kill_now_and_then() -> None:
        for _ in range(2):
            stop.wait(chance.uniform(0.05, 0.4))
            server.kill()
            server.start()

    with ThreadPoolExecutor() as pool:
        killing = pool.submit(kill_now_and_then)
        rounds = 0
        while not killing.done() or rounds < 1:
            follow(index, corpus)
            rounds += 1
        killing.result()
    follow(index, corpus)
    for owner in (ALICE, BOB):
        index.train(owner)
        everything = Where(owner)
        words = terms("marathon cat 北京 moved")
        assert_same_ranking(index.nearest(VECTOR, everything, ALL), oracle.nearest(VECTOR, everything, ALL), ALL)
        assert_same_ranking(index.matching(words, everything, ALL), oracle.matching(words, everything, ALL), ALL)
        assert index.pending(owner, ALL) == oracle.pending(owner, ALL)
        np.testing.assert_allclose(index.status(owner, sums=True).mean, oracle.status(owner, sums=True).mean, atol=1e-4)
        mine, theirs = (one.columns(ids(*range(1, 151)), everything, 2) for one in (index, oracle))
        assert mine.ids.tolist() == theirs.ids.tolist()
    assert index.size() == oracle.size()
    index.close()


def follow(index: MilvusIndex, corpus: Corpus) -> None:
    """Bring the index up to the corpus in small steps, going on after each failure, as a flow does."""
    for owner in (ALICE, BOB):
        until_there(partial(records_of, index, corpus, owner))
        until_there(partial(vectors_of, index, corpus, owner))


def records_of(index: MilvusIndex, corpus: Corpus, owner: Scope) -> None:
    applied = index.status(owner).applied
    rest = [entry for entry in corpus.of(owner) if entry.record.id > applied][:5]
    while rest:
        assert index.upsert(owner, rest, after=applied, upto=rest[-1].record.id)
        applied = rest[-1].record.id
        rest = [entry for entry in corpus.of(owner) if entry.record.id > applied][:5]


def vectors_of(index: MilvusIndex, corpus: Corpus, owner: Scope) -> None:
    waiting = [record.id for record, _ in index.pending(owner, ALL) if record.id in corpus.keys]
    for start in range(0, len(waiting), 7):
        index.put_vectors(EMBEDDER, {n: corpus.keys[n] for n in waiting[start : start + 7]}, corpus.vectors)


def test_uses_add_up_over_threads(url: str) -> None:
    index = MilvusIndex(url)
    index.upsert(ALICE, [entry_of(make_record(1))], after=0, upto=1)

    def use(_: int) -> None:
        assert index.upsert(ALICE, [], after=1, upto=1, uses={1: Use(1, START), 99: Use(1, START)})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(16)))
    assert (index.get([1])[0].uses, index.get([1])[0].last_used) == (16, START)
    index.close()
