"""What every semantic index must do: searching, compared with the in-memory engine, and keeping."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from hybrid_memory.engines.in_memory import InMemoryIndex
from hybrid_memory.index.port import RecordColumns
from hybrid_memory.index.record import Where
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.testing.corpus import (
    ALICE,
    BOB,
    DIM,
    PHRASES,
    STRANGER,
    TOLERANCE,
    Corpus,
    assert_same_ranking,
    every_where,
    ids,
    random_corpus,
    unit,
)
from hybrid_memory.testing.index_search import ALL, IndexSearchContract
from hybrid_memory.testing.index_upkeep import IndexUpkeepContract
from hybrid_memory.text.tokenize import terms

QUERIES = [
    *PHRASES,
    "北京",
    "猫",
    "BERLIN marathon 钢琴",
    "nothing matches zyx",
    "berlin berlin berlin cat",
    "sqlite OR faiss AND NOT python",
]


class SemanticIndexContract(IndexSearchContract, IndexUpkeepContract):
    """Subclass it and give a fixture ``index``: an empty index that searches exactly, closed after the test."""

    @pytest.fixture
    def index(self) -> SemanticIndex:
        """The index under test."""
        raise NotImplementedError("give a fixture named 'index'")

    @pytest.fixture(params=range(2), ids=lambda seed: f"seed {seed}")
    def corpus(self, request: pytest.FixtureRequest) -> Corpus:
        """Random records."""
        return random_corpus(request.param)

    @pytest.fixture
    def oracle(self, corpus: Corpus) -> InMemoryIndex:
        """The in-memory index, filled."""
        oracle = InMemoryIndex()
        corpus.fill(oracle)
        return oracle

    @pytest.fixture
    def filled(self, index: SemanticIndex, corpus: Corpus) -> SemanticIndex:
        """The index under test, filled."""
        corpus.fill(index)
        return index

    @pytest.mark.parametrize("k", [1, 7, ALL])
    def test_nearest_agrees_with_the_oracle(self, filled: SemanticIndex, oracle: InMemoryIndex, k: int) -> None:
        """For every condition, and more than there is."""
        chance = np.random.default_rng(k)
        for where in every_where():
            vector = unit(chance.normal(size=DIM))
            assert_same_ranking(filled.nearest(vector, where, k), oracle.nearest(vector, where, ALL), k, where)

    @pytest.mark.parametrize("k", [1, 7, ALL])
    def test_matching_agrees_with_the_oracle(self, filled: SemanticIndex, oracle: InMemoryIndex, k: int) -> None:
        """In English and Chinese, for every condition, and more than there is."""
        for number, where in enumerate(every_where()):
            words = terms(QUERIES[number % len(QUERIES)])
            found, full = filled.matching(words, where, k), oracle.matching(words, where, ALL)
            assert_same_ranking(found, full, k, (words, where))

    def test_every_query_finds_the_same_words_as_the_oracle(self, filled: SemanticIndex, oracle: InMemoryIndex) -> None:
        """And all but the one without a match find something."""
        empty = []
        for query in QUERIES:
            found = filled.matching(terms(query), Where(ALICE), ALL)
            assert_same_ranking(found, oracle.matching(terms(query), Where(ALICE), ALL), ALL, query)
            assert (found.scores > 0).all()
            empty += [] if len(found.ids) else [query]
        assert empty == ["nothing matches zyx"]

    def test_similar_agrees_with_the_oracle(self, filled: SemanticIndex, oracle: InMemoryIndex) -> None:
        """NaN for records without a vector, of somebody else, or unknown."""
        vector = unit(np.arange(DIM) + 1)
        asked = ids(*range(300, 0, -1), 5, 10**12)
        for owner in (ALICE, BOB, STRANGER):
            found = filled.similar(vector, owner, asked)
            assert found.dtype == np.float32
            np.testing.assert_allclose(found, oracle.similar(vector, owner, asked), atol=TOLERANCE)
            assert np.isnan(found).any()
        assert filled.similar(vector, ALICE, ids()).shape == (0,)

    def test_the_query_need_not_be_of_unit_length(self, filled: SemanticIndex, oracle: InMemoryIndex) -> None:
        """Scores are inner products, in the order of the cosine."""
        vector = (3 * unit(np.arange(DIM) - 5)).astype(np.float32)
        found, full = filled.nearest(vector, Where(ALICE), ALL), oracle.nearest(vector, Where(ALICE), ALL)
        assert_same_ranking(found, full, ALL)
        np.testing.assert_allclose(filled.similar(vector, ALICE, full.ids), full.scores, atol=TOLERANCE)

    @pytest.mark.parametrize("radius", [0, 1, 3])
    def test_places_agree_with_the_oracle(self, filled: SemanticIndex, oracle: InMemoryIndex, radius: int) -> None:
        """Neighbours in the segment, each once, and only where the condition allows them."""
        chance = np.random.default_rng(radius)
        for where in every_where():
            asked = ids(*chance.integers(1, 250, size=20).tolist(), 10**12)
            here, there = filled.columns(asked, where, radius), oracle.columns(asked, where, radius)
            assert np.unique(here.ids).shape == here.ids.shape
            for column in fields(RecordColumns):
                mine, expected = getattr(here, column.name), getattr(there, column.name)
                assert mine.dtype == expected.dtype, column.name
                order = here.ids.argsort(kind="stable")
                np.testing.assert_allclose(mine[order], expected, rtol=1e-12, err_msg=f"{column.name} for {where}")

    @pytest.mark.parametrize("k", [1, 7, ALL])
    def test_latest_agrees_with_the_oracle(self, filled: SemanticIndex, oracle: InMemoryIndex, k: int) -> None:
        """For every condition, in the same order."""
        for where in every_where():
            assert filled.latest(where, k).tolist() == oracle.latest(where, k).tolist(), where
        assert filled.latest(Where(STRANGER), k).tolist() == []

    @pytest.mark.parametrize(
        "slip", ["berlim", "marahton", "grandmoter", "deploymnt", "sqlit", "berlin", "cta", "北就"]
    )
    def test_spellings_agree_with_the_oracle(self, filled: SemanticIndex, oracle: InMemoryIndex, slip: str) -> None:
        """Of the owner's terms only, or none at all where the engine keeps no list of them."""
        for term in terms(slip):
            found = filled.spellings(term, ALICE, 3)
            assert found in ([], oracle.spellings(term, ALICE, 3))
            assert filled.spellings(term, STRANGER, 3) == []

    def test_words_of_other_owners_are_never_found(self, filled: SemanticIndex) -> None:
        """Nor are their vectors."""
        vector = unit(np.ones(DIM))
        for owner in (ALICE, BOB):
            found = [*filled.nearest(vector, Where(owner), ALL).ids, *filled.matching(["cat"], Where(owner), ALL).ids]
            assert {record.scope.owner for record in filled.get([int(number) for number in found])} == {owner}

    def test_no_words_match_nothing(self, filled: SemanticIndex) -> None:
        """As for a query of stop words only."""
        assert filled.matching([], Where(ALICE), 5).ids.tolist() == []

    def test_deleting_leaves_what_an_index_without_the_records_would_hold(
        self, filled: SemanticIndex, oracle: InMemoryIndex, corpus: Corpus
    ) -> None:
        """The statistics of words too."""
        gone = list(range(1, 240, 3))
        kept = [entry for entry in corpus.entries if entry.record.id not in gone]
        without = Corpus(kept, {entry.record.id: corpus.keys[entry.record.id] for entry in kept
                                if entry.record.id in corpus.keys}, corpus.vectors)  # fmt: skip
        fresh = InMemoryIndex()
        without.fill(fresh)
        assert filled.delete([*gone, 10**12, gone[0]]) == oracle.delete(gone) == len(gone)
        vector = unit(np.ones(DIM))
        for where in (Where(ALICE), Where(BOB), Where(ALICE, metadata={"value": 1})):
            assert_same_ranking(filled.nearest(vector, where, ALL), fresh.nearest(vector, where, ALL), ALL)
            for query in QUERIES:
                expected = fresh.matching(terms(query), where, ALL)
                assert_same_ranking(filled.matching(terms(query), where, ALL), expected, ALL, query)
            everything = ids(*range(1, 241))
            assert filled.columns(everything, where, 1).ids.tolist() == fresh.columns(everything, where, 1).ids.tolist()
        assert np.isnan(filled.similar(vector, ALICE, ids(*gone))).all()
        assert filled.get(gone) == []
        assert filled.size() == fresh.size()
        assert filled.pending(ALICE, ALL) == fresh.pending(ALICE, ALL)
        assert filled.delete(gone) == 0
