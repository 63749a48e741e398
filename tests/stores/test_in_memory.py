"""The in-memory engine, which is the oracle of the others: its searches are compared with arithmetic written out."""

import math

import numpy as np
import pytest

from hybrid_memory.engines.in_memory import InMemoryIndex
from hybrid_memory.index.record import Where
from hybrid_memory.testing.corpus import ALICE, BOB, DIM, EMBEDDER, entry_of, ids, make_record, random_corpus, unit
from hybrid_memory.testing.semantic_index import ALL


@pytest.fixture
def index() -> InMemoryIndex:
    return InMemoryIndex()


def test_scores_of_a_vector_are_inner_products(index: InMemoryIndex) -> None:
    corpus = random_corpus(3)
    corpus.fill(index)
    query = unit(np.random.default_rng(3).normal(size=DIM))
    mine = [entry.record.id for entry in corpus.of(ALICE) if entry.record.id in corpus.keys]
    scores = np.array([corpus.vectors[corpus.keys[number]] @ query for number in mine])
    found = index.search(query, Where(ALICE), ALL)
    assert sorted(found.ids.tolist()) == mine
    np.testing.assert_allclose(found.scores, np.sort(scores)[::-1], atol=1e-6)


def test_matching_is_bm25_by_hand(index: InMemoryIndex) -> None:
    texts = ["cat cat dog", "cat", "bird", "bird", "bird"]
    index.upsert(ALICE, [entry_of(make_record(n, text)) for n, text in enumerate(texts, start=1)], after=0, upto=5)
    average = (7 + 5) / 5  # each length counts one more
    idf = {"cat": math.log((5 - 2 + 0.5) / (2 + 0.5)), "dog": math.log((5 - 1 + 0.5) / (1 + 0.5))}

    def part(term: str, count: int, length: int) -> float:
        return idf[term] * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * (length + 1) / average))

    found = index.search(["cat", "dog", "cat", "fish"], Where(ALICE), 5)
    assert found.ids.tolist() == [1, 2]
    np.testing.assert_allclose(found.scores, [part("cat", 2, 3) + part("dog", 1, 3), part("cat", 1, 1)], rtol=1e-6)
    assert index.search(["bird"], Where(ALICE), 5).scores[0] > 0, "a word of most records still counts a little"


def test_places_reach_to_the_neighbours_in_the_segment(index: InMemoryIndex) -> None:
    records = [make_record(n, segment=1 if n < 5 else 5, ordinal=n - 1 if n < 5 else n - 5) for n in range(1, 8)]
    index.upsert(ALICE, [entry_of(record) for record in records], after=0, upto=7)
    index.put_vectors(EMBEDDER, {}, {})
    assert index.columns(ids(2, 5), Where(ALICE), 1).ids.tolist() == [1, 2, 3, 5, 6]
    assert index.columns(ids(2), Where(ALICE), 0).ids.tolist() == [2]
    assert index.columns(ids(2), Where(ALICE), 9).ids.tolist() == [1, 2, 3, 4]
    assert index.columns(ids(2), Where(BOB), 9).ids.tolist() == []
    one = index.columns(ids(6), Where(ALICE), 0)
    assert (one.segments.tolist(), one.ordinals.tolist(), one.last_used.tolist()) == ([5], [1], [0])
    assert one.at.tolist() == [records[5].at.timestamp()]
