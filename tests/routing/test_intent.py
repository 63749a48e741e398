"""The intent of a query: cue words of both languages, in the order in which they count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import Intent
from hybrid_memory.recall.plan import CUES, DEFAULT, intent


@pytest.mark.parametrize(
    ("query", "kind", "cue"),
    [
        ("Who is Ann?", Intent.FACT, "Who"), ("WHERE is my key", Intent.FACT, "WHERE"),
        ("How many cats are there", Intent.FACT, "How many"), ("他是谁", Intent.FACT, "是谁"),
        ("会议几点开始", Intent.FACT, "几点"), ("Why is the sky blue?", Intent.REASONING, "Why"),
        ("Which is better, compare tea and coffee", Intent.REASONING, "compare"),
        ("How do I get there", Intent.REASONING, "How do"), ("为什么迟到", Intent.REASONING, "为什么"),
        ("这两个有什么区别", Intent.REASONING, "区别"), ("Do you remember Ann?", Intent.CONTEXTUAL, "remember"),
        ("the other day", Intent.CONTEXTUAL, "the other day"), ("上次去的餐厅", Intent.CONTEXTUAL, "上次"),
    ],
)  # fmt: skip
def test_a_cue_word_tells_the_intent(query: str, kind: Intent, cue: str) -> None:
    assert intent(query) == (kind, cue)


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("What did we say before about the cat?", Intent.CONTEXTUAL),
        ("你记得我之前说了什么吗", Intent.CONTEXTUAL),
        ("What if it rains?", Intent.REASONING),
        ("什么时候该去，为什么", Intent.REASONING),
    ],
)
def test_going_back_counts_before_weighing_and_weighing_before_facts(query: str, kind: Intent) -> None:
    assert intent(query)[0] is kind


@pytest.mark.parametrize("query", ["Ann's phone number", "somewhat", "whoever", "whyever", "电话号码", "?", ""])
def test_without_a_cue_it_is_the_default_and_no_word_told_it(query: str) -> None:
    assert intent(query) == (DEFAULT, "")


@given(st.text() | st.sampled_from(["what", "remember", "为什么", "是谁", "vs"]).flatmap(lambda w: st.just(f"x {w} y")))
def test_any_text_has_an_intent_and_the_cue_is_one_of_its_words(query: str) -> None:
    kind, cue = intent(query)
    assert kind in CUES
    assert cue in query
    assert bool(cue) or kind is DEFAULT
