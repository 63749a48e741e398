"""The part of the semantic index contract about recall: batched searches must equal the same searches one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
import pytest

from hybrid_memory.engines.in_memory import InMemoryIndex
from hybrid_memory.index.port import Explored, RecordColumns, Search
from hybrid_memory.index.record import Where
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.testing.corpus import (
    ALICE,
    BOB,
    DIM,
    STRANGER,
    TOLERANCE,
    assert_same_ranking,
    every_where,
    ids,
    unit,
)
from hybrid_memory.text.tokenize import terms

VECTOR = unit(np.arange(DIM) + 1.0)


class IndexRecallContract:
    """The tests of `SemanticIndexContract` about the calls a recall makes; subclass that class instead."""

    @pytest.mark.parametrize("by_meaning", [False, True], ids=["words", "meaning"])
    def test_exploring_agrees_with_the_oracle(
        self, filled: SemanticIndex, oracle: InMemoryIndex, by_meaning: bool
    ) -> None:
        vector = VECTOR if by_meaning else None
        wanted = terms("the cat of zyx sleeps in Berlin")
        for where in every_where():
            searches = [Search(terms("Berlin marathon"), where, 5), Search(None, where, 2)]
            searches += [] if vector is None else [Search(vector, replace(where, kinds=frozenset()), 7)]
            found = filled.explore(searches, where, radius=2, vector=vector, wanted=wanted)
            expected = oracle.explore(searches, where, radius=2, vector=vector, wanted=wanted)
            for mine, theirs, search in zip(found.matches, expected.matches, searches, strict=True):
                assert_same_ranking(mine, theirs, search.k, where)
            _assert_same_places(found, expected)
            assert found.counts.keys() <= set(wanted)
            assert found.counts == filled.terms(where.scope.owner, wanted)

    def test_exploring_finds_nothing_where_nothing_is_asked_or_there(self, filled: SemanticIndex) -> None:
        several: Sequence[tuple[Sequence[Search], Where]] = [
            ([], Where(ALICE)),
            ([Search([], Where(ALICE), 3), Search(["zyx"], Where(ALICE), 3)], Where(ALICE)),
            ([Search(VECTOR, Where(STRANGER), 3), Search(None, Where(STRANGER), 3)], Where(STRANGER)),
        ]
        for searches, where in several:
            found = filled.explore(searches, where, radius=2, vector=VECTOR)
            assert [matches.ids.tolist() for matches in found.matches] == [[]] * len(searches)
            assert found.places.ids.shape == found.similarity.shape == (0,)
            assert found.counts == {}

    def test_fetching_agrees_with_the_oracle(self, filled: SemanticIndex, oracle: InMemoryIndex) -> None:
        """Only records of the owner, in the given order; and a row for each id, even if there is no such record."""
        asked = ids(*range(300, 0, -7), 5, 10**12)
        for owner in (ALICE, BOB, STRANGER):
            found, expected = filled.fetch(asked, owner), oracle.fetch(asked, owner)
            assert list(found.records) == list(expected.records)
            assert all(record.scope.owner == owner for record in found.records)
            assert found.present.tolist() == expected.present.tolist()
            assert len(found.vectors) == len(asked)
            if found.present.any():
                np.testing.assert_allclose(found.vectors, expected.vectors, atol=TOLERANCE)
        nothing = filled.fetch(ids(), ALICE)
        assert (list(nothing.records), len(nothing.vectors), len(nothing.present)) == ([], 0, 0)

    def test_corrections_agree_with_the_oracle(self, filled: SemanticIndex, oracle: InMemoryIndex) -> None:
        """Only from the owner's terms; none at all if the engine keeps no list of them."""
        words = ["berlim", "marahton", "grandmoter", "deploymnt", "sqlit", "berlin", "cta", *terms("北就")]
        found = filled.corrections(words, ALICE)
        assert found in ({}, oracle.corrections(words, ALICE))
        assert not {"berlin", "cta"} & found.keys()
        assert filled.corrections(words, STRANGER) == filled.corrections([], ALICE) == {}


def _assert_same_places(found: Explored, expected: Explored) -> None:
    for column in fields(RecordColumns):
        mine, theirs = getattr(found.places, column.name), getattr(expected.places, column.name)
        assert mine.dtype == theirs.dtype, column.name
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, err_msg=column.name)
    assert found.similarity.dtype == np.float32
    np.testing.assert_allclose(found.similarity, expected.similarity, atol=TOLERANCE)
