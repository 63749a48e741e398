"""What recall makes of the words of a query: intent, names, times, slips, synonyms, and the weights of each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hybrid_memory import Hit, HybridMemory, ScopedMemory, Weights
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.recall.gather import QUESTION_CHARS
from hybrid_memory.recall.plan import EXACT, plan
from tests.doubles import texts
from tests.faces import Face, Open

NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)
"""A Wednesday."""


class Embedder(HashingEmbedder):
    """Remembers the questions that it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed_queries(self, texts: Sequence[str]) -> Any:
        self.asked += texts
        return super().embed_queries(texts)


def plan_of(hit: Hit) -> Any:
    assert hit.plan is not None
    return hit.plan


@pytest.mark.parametrize(
    ("query", "turn", "other"),
    [
        ('what about the "red door"', "a RED  DOOR near the old house", "an old door near the red house"),
        ("谁提到“红色的门”", "昨天看到红色的门", "昨天看到的门红色"),
        ("what is in `Ｍain.py`", "main.py has the entry point", "the entry point py has main"),
        ("the path src/app/x.py please", "open src/app/x.py to see", "src to see, open app, x.py"),
    ],
)
def test_quotes_lift_their_turn(face: Face, memory: HybridMemory, query: str, turn: str, other: str) -> None:
    for name, order in (("ann", [turn, other]), ("bob", [other, turn])):
        mine = memory.scoped(user=name)
        for place, text in enumerate(order):
            mine.remember(text, at=NOW + timedelta(days=place))
        first, second = face(mine).recall(query)
        assert first.record.text == turn
        assert (first.signals.exact, second.signals.exact) == (1, 0)
        assert first.weights.exact == Weights().exact
        assert plan_of(first).exact == EXACT
        assert "word for word" in first.why()


def test_what_is_named_is_found_behind_hundreds_that_share_its_words(opened: Open) -> None:
    """More turns match the query than the paths by words and by meaning bring in."""
    alice = opened(recall={"candidates": 5}).scoped(user="alice")
    alice.remember("build 8f3a2b failed")
    alice.remember([f"the report of yesterday about the long build number {number}" for number in range(60)])
    query = "the long report of yesterday about the number of the build 8f3a2b"
    assert any(hit.signals.exact for hit in alice.recall(query, k=5))


def test_a_slip_of_the_fingers_is_found_and_told(face: Face, alice: ScopedMemory) -> None:
    alice.remember(["I ran a marathon in spring", "it rains in the evening", "so on " * 30_000])
    hit = face(alice).recall("the Marahton", k=1)[0]
    assert hit.record.text == "I ran a marathon in spring"
    assert hit.signals.text == 1
    assert plan_of(hit).corrected == {"marahton": "marathon"}
    assert "'marahton' read as 'marathon'" in hit.why()
    assert "e-" not in hit.why(), "beside a long text, signals of the surroundings weigh next to nothing"


def test_slips_are_read_by_the_words_of_whose_memory_it_is(face: Face, memory: HybridMemory) -> None:
    memory.scoped(user="bob").remember("the zanzibarquux project is secret")
    memory.scoped(user="alice", agent="coach").remember("zanzibarquux again")
    alice = memory.scoped(user="alice")
    alice.remember(["I moved to Berlin", "it rains"])
    for hit in face(alice).recall("zanzibarquox Berlin"):
        assert plan_of(hit).corrected == {}
        assert "zanzibarquux" not in hit.why()
    team = alice.space("team").create()
    team.remember(["Berlyn is our dentist", "Berlin is far away"])
    hits = {hit.record.text: hit.signals.text for hit in face(alice).recall("Berlyn", spaces=["team"])}
    assert min(hits["I moved to Berlin"], hits["Berlyn is our dentist"]) > 0
    assert hits.get("Berlin is far away", 0) == 0


def test_words_of_what_was_forgotten_are_read_no_more(face: Face, alice: ScopedMemory) -> None:
    alice.remember("my cat sleeps")
    told = alice.remember("the marathon")
    assert plan_of(face(alice).recall("marahton cat")[0]).corrected
    alice.forget(ids=told.ids[0])
    (hit,) = face(alice).recall("marahton cat")
    assert plan_of(hit).corrected == {}


def test_a_question_that_goes_back_brings_in_what_was_said_last(opened: Open) -> None:
    alice = opened(embedder="none", recall={"candidates": 3}).scoped(user="alice")
    alice.remember([f"the garden plan number {number}" for number in range(40)], at=NOW - timedelta(days=60))
    alice.remember("zebra crossing", at=NOW)
    assert "zebra crossing" in texts(alice.recall("the garden plan, remember", k=50))
    assert "zebra crossing" not in texts(alice.recall("the garden plan", k=50))


@pytest.mark.parametrize("filler", ["The fence was painted green in April. ", "四月里篱笆漆成了绿色。"])
def test_a_pasted_document_does_not_hide_the_question_before_or_after_it(face: Face, opened: Open, filler: str) -> None:
    embedder = Embedder()
    alice = opened(embedder=embedder).scoped(user="alice")
    face(alice).remember([{"role": "user", "content": words} for words in ("I keep bees.", "I paint the fence.")])
    pasted = filler * 600  # also longer than all that is read of a question
    for question in (f"Where are the bees?\n{pasted}", f"{pasted}\nWhere are the bees?"):
        face(alice).recall(question)
        assert "bees" in embedder.asked[-1]
        assert len(embedder.asked[-1]) <= QUESTION_CHARS + 1
    face(alice).recall("Where are the bees?")
    assert embedder.asked[-1] == "Where are the bees?"


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("I had a long day. What is the deadline?", "What is the deadline?"),
        ("昨天忙了一天。截止日期是哪天？", "截止日期是哪天？"),
        ("red bike", "red bike"),
        ("We painted the hall.", "We painted the hall."),
    ],
)
def test_a_plan_has_the_sentences_that_ask(query: str, asked: str) -> None:
    assert plan(query, now=NOW, candidates=48).asked == asked
