"""The intent of a query: cue words of both languages, in the order in which they count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.recall.plan import CUES, DEFAULT, intent
from tests.world import rows


@pytest.mark.parametrize(("query", "kind", "cue"), rows("routing/intent.tsv", "cue"))
def test_a_cue_word_tells_the_intent(query: str, kind: str, cue: str) -> None:
    assert intent(query) == (kind, cue)


@pytest.mark.parametrize(("query", "kind"), rows("routing/intent.tsv", "first"))
def test_going_back_counts_before_weighing_and_weighing_before_facts(query: str, kind: str) -> None:
    assert intent(query)[0] == kind


@pytest.mark.parametrize("query", ["Ann's phone number", "somewhat", "whoever", "whyever", "电话号码", "?", ""])
def test_without_a_cue_it_is_the_default_and_no_word_told_it(query: str) -> None:
    assert intent(query) == (DEFAULT, "")


@given(st.text() | st.sampled_from(["what", "remember", "为什么", "是谁", "vs"]).flatmap(lambda w: st.just(f"x {w} y")))
def test_any_text_has_an_intent_and_the_cue_is_one_of_its_words(query: str) -> None:
    kind, cue = intent(query)
    assert kind in CUES
    assert cue in query
    assert bool(cue) or kind is DEFAULT
