"""What recall makes of the words of a query: intent, names, times, slips, synonyms, and the weights of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hybrid_memory import Hit, HybridMemory, Intent, ScopedMemory, Weights
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.recall.gather import QUESTION_CHARS
from hybrid_memory.recall.plan import EXACT, TEMPORAL
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


SYNONYMS = [["NYC", "New York"], ["老婆", "妻子"]]


def by_hand(hit: Hit) -> float:
    """The weighted mean of the signals, term by term."""
    weights, signals = asdict(hit.weights), asdict(hit.signals)
    total = shares = 0.0
    for name, weight in weights.items():
        shares += weight * signals[name]
        total += weight
    return shares / total


def plan_of(hit: Hit) -> Any:
    assert hit.plan is not None
    return hit.plan


def test_the_words_tell_the_intent_unless_the_caller_does(face: Face, alice: ScopedMemory) -> None:
    asked: list[tuple[str, Any, str, str]] = [
        ("why does the cat sleep", "auto", "reasoning", "why"), ("之前说的 cat", "auto", "contextual", "之前"),
        ("cat", "auto", "fact", ""), ("why the cat", "fact", "fact", ""), ("cat", "contextual", "contextual", ""),
        ("who is the cat", Intent.REASONING, "reasoning", ""),
    ]  # fmt: skip
    alice.remember("my cat sleeps")
    for query, given, intent, cue in asked:
        (hit,) = face(alice).recall(query, intent=given)
        assert (plan_of(hit).intent, plan_of(hit).cue) == (intent, cue)
        told = {"fact": "for a fact", "reasoning": "for reasons", "contextual": "about earlier talk"}[intent]
        assert f"; read as a question {told}{f' ({cue!r})' if cue else ''}; compared: " in hit.why()


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
    alice.remember(["I ran a marathon in spring", "it rains in the evening"])
    hit = face(alice).recall("the Marahton", k=1)[0]
    assert hit.record.text == "I ran a marathon in spring"
    assert hit.signals.text == 1
    assert plan_of(hit).corrected == {"marahton": "marathon"}
    assert "'marahton' read as 'marathon'" in hit.why()


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


@pytest.mark.parametrize(
    ("query", "turn", "told"),
    [
        ("my flight to NYC", "we land in New York at noon", "'NYC' also as 'New York'"),
        ("the new york trip", "in NYC we saw a play", "'New York' also as 'NYC'"),
        ("我老婆喜欢什么", "妻子爱喝茶", "'老婆' also as '妻子'"),
    ],
)
def test_synonyms_are_looked_for_too(face: Face, opened: Open, query: str, turn: str, told: str) -> None:
    config: dict[str, Any] = {"embedder": "none", "url": "memory://"}
    fillers = ["it rains all day long", "天气很冷"]
    with_them = opened(**config, recall={"synonyms": SYNONYMS}).scoped(user="alice")
    with_them.remember([*fillers, turn])
    first = face(with_them).recall(query)[0]
    assert first.record.text == turn
    assert first.signals.text == 1
    assert told in first.why()
    without = opened(**config).scoped(user="alice")
    without.remember([*fillers, turn])
    assert turn not in texts(face(without).recall(query))


@pytest.mark.parametrize("query", ["what did I cook last week", "上周我 cook 了什么"])
def test_a_time_lifts_the_turn_of_that_week(face: Face, opened: Open, query: str) -> None:
    alice = opened(clock=lambda: NOW).scoped(user="alice")
    for days in (40, 30, 8, 1, 0):
        alice.remember(f"I cook soup number {days}", at=NOW - timedelta(days=days))
    hits = face(alice).recall(query)
    assert hits[0].record.text == "I cook soup number 8"
    assert hits[0].signals.temporal == 1
    signals = {hit.record.text: hit.signals.temporal for hit in hits}
    assert signals["I cook soup number 1"] > signals["I cook soup number 30"] > signals["I cook soup number 40"]
    assert plan_of(hits[0]).temporal == TEMPORAL
    assert "from 2024-05-06 to 2024-05-12 (" in hits[0].why()


def test_the_turns_of_a_time_are_found_without_a_word_in_common(opened: Open) -> None:
    alice = opened(clock=lambda: NOW, recall={"candidates": 3}).scoped(user="alice")
    alice.remember("zebra crossing", at=NOW - timedelta(days=8))
    alice.remember([f"I did my usual things {number}" for number in range(40)], at=NOW - timedelta(days=60))
    found = {hit.record.text: hit.signals.temporal for hit in alice.recall("what did I do last week", k=30)}
    assert found["zebra crossing"] == 1


def test_a_question_that_goes_back_brings_in_what_was_said_last(opened: Open) -> None:
    alice = opened(embedder="none", recall={"candidates": 3}).scoped(user="alice")
    alice.remember([f"the garden plan number {number}" for number in range(40)], at=NOW - timedelta(days=60))
    alice.remember("zebra crossing", at=NOW)
    assert "zebra crossing" in texts(alice.recall("the garden plan, remember", k=50))
    assert "zebra crossing" not in texts(alice.recall("the garden plan", k=50))


@pytest.mark.parametrize(
    "query", ["cat", 'the "cat"', "the cat of last week", 'the "cat" of last week', "why the cat, src/cat.py"],
)  # fmt: skip
@pytest.mark.parametrize("preset", ["default", "plain", "routed", "heat"])
def test_scores_are_the_weighted_mean_of_what_is_shown(face: Face, opened: Open, query: str, preset: str) -> None:
    weights = Weights() if preset == "default" else getattr(Weights, preset)()
    alice = opened(url="memory://", clock=lambda: NOW).scoped(user="alice")
    for days, text in ((9, "my cat sleeps"), (3, "a cat in the src/cat.py file"), (0, "it rains on the dog")):
        alice.remember(text, at=NOW - timedelta(days=days))
    hits = face(alice).recall(query, weights=weights)
    assert hits
    for hit in hits:
        assert hit.score == pytest.approx(by_hand(hit), abs=1e-9)
        assert (hit.weights.exact > 0) == (weights.exact > 0 and ('"' in query or "/" in query))
        assert (hit.weights.temporal > 0) == (weights.temporal > 0 and "week" in query)
    ranked = [hit.score for hit in hits]
    assert ranked == sorted(ranked, reverse=True)


@pytest.mark.parametrize("only", ["exact", "temporal", "current"])
def test_weights_on_what_the_query_does_not_ask_for_are_no_mistake(face: Face, opened: Open, only: str) -> None:
    alice = opened(url="memory://").scoped(user="alice")
    alice.remember(["my cat sleeps", "it rains"])
    nothing = dict.fromkeys(asdict(Weights()), 0.0)
    hits = face(alice).recall("cat", weights=Weights(**{**nothing, only: 1.0}))
    assert {hit.score for hit in hits} <= {0.0, 1.0}
    assert len(hits) == 2


def test_weights_of_the_configuration_count_unless_the_caller_has_others(opened: Open) -> None:
    alice = opened(url="memory://", recall={"weights": {"vector": 0.5, "text": 0.5}}).scoped(user="alice")
    alice.remember("my cat sleeps")
    assert alice.recall("cat")[0].weights.text == 0.5
    assert alice.recall("cat", weights=Weights.plain())[0].weights.text == 0.3


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
