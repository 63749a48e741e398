"""What the time in a question does to what is found: clear ranges first, vague ones a signal, first and last by age."""

from dataclasses import asdict, replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from benchmarks.diaries import LAYOUTS, NOW, ORDERED, QUESTIONS, measured
from hybrid_memory import Hit, MemoryConfig, ScopedMemory, Weights
from hybrid_memory.arrays import Array
from hybrid_memory.recall.plan import Timing, plan
from hybrid_memory.recall.signals import DAY as SECONDS
from hybrid_memory.recall.signals import time_signal, time_weight, weighted_mean
from tests.doubles import texts
from tests.faces import Face, Open
from tests.world import rows

DAY = timedelta(days=1)


def timing_of(hits: list[Hit]) -> Timing:
    assert hits[0].plan is not None
    return hits[0].plan.timing


def test_what_was_done_at_a_time_is_found_in_a_diary_of_75_days() -> None:
    config = MemoryConfig(url="memory://", embedder="hashing")
    for language, layout in zip(QUESTIONS, LAYOUTS, strict=True):
        counts = measured(language, layout, config)
        assert counts.first == counts.asked == 28, counts.missed
        # The hashing embedder knows words alone: to have "met" somebody is nearer to it than that they "came by".
        assert counts.ordered >= len(ORDERED[language]) - 2, counts.missed


@pytest.fixture
def diarist(opened: Open) -> ScopedMemory:
    """A diary whose entries of three weeks ago fit every question about soup better than any other."""
    diarist = opened(clock=lambda: NOW).scoped(user="alice", session="diary")
    for days in range(40, 1, -1):
        soup = "I made a soup for dinner" if days > 20 else f"quiet day number {days}"
        diarist.remember(soup, at=NOW - days * DAY)
    diarist.remember("zebra crossing", at=NOW - DAY)
    return diarist


@pytest.mark.parametrize("query", ["What soup did I make for dinner yesterday?", "昨天我 made what soup for dinner?"])
def test_a_clear_time_comes_first_and_nothing_is_lost(face: Face, diarist: ScopedMemory, query: str) -> None:
    hits = face(diarist).recall(query, k=20)
    assert hits[0].record.text == "zebra crossing"
    assert timing_of(hits) is Timing.CLEAR
    assert "('yesterday'), these first" in hits[0].why() or "('昨天'), these first" in hits[0].why()
    assert len(hits) == 20
    assert "I made a soup for dinner" in texts(hits)
    ranked = [hit.score for hit in hits]
    assert ranked == sorted(ranked, reverse=True)


def test_what_was_said_soon_after_stands_before_what_was_said_long_before(opened: Open) -> None:
    alice = opened(clock=lambda: NOW).scoped(user="alice", session="diary")
    for days, text in ((9, "we painted"), (2, "painted it green"), (30, "painted it blue"), (5, "painted it red")):
        alice.remember(text, at=NOW - days * DAY)
    hits = alice.recall("What did we paint last week?")
    assert set(texts(hits[:2])) == {"we painted", "painted it red"}
    assert [hit.record.text for hit in hits[2:]] == ["painted it green", "painted it blue"]


@pytest.mark.parametrize(("timing", "query"), rows("routing/timing.tsv"))
def test_the_words_tell_how_far_a_question_goes_by_time(timing: str, query: str) -> None:
    assert plan(query, now=NOW, candidates=48).timing is Timing[timing.upper().replace(" ", "_")]


@pytest.mark.parametrize(
    ("remark", "question"), [("I slept badly last night. ", "Who is my dentist?"), ("昨晚没睡好。", "我的牙医是谁？")]
)
def test_the_time_of_a_remark_puts_nothing_before_the_answer_to_a_question(
    remark: str, question: str, opened: Open
) -> None:
    alice = opened(clock=lambda: NOW).scoped(user="alice", session="diary")
    alice.remember("My dentist is Dr Moss. 我的牙医是莫医生。", at=NOW - 40 * DAY)
    for hours, text in ((26, "The tea was cold."), (25, "The radio was loud."), (24, "晚上吃了面。")):
        alice.remember(text, at=NOW - timedelta(hours=hours))
    assert texts(alice.recall(f"{remark}{question}"))[0].startswith("My dentist")


def test_the_last_talk_is_the_session_before_this_one(face: Face, opened: Open) -> None:
    memory = opened(clock=lambda: NOW)
    for days, session in ((9, "garden"), (3, "kitchen"), (0, "today")):
        for number in range(3):
            said = f"about the {session}, part {number}"
            memory.scoped(user="alice", session=session).remember(
                said, at=NOW - days * DAY + timedelta(minutes=number - 60)
            )
    for session, before in (("today", "kitchen"), ("kitchen", "today"), ("a new one", "today")):
        hits = face(memory.scoped(user="alice", session=session)).recall("What did we talk about last?")
        assert texts(hits[:3]) == [f"about the {before}, part {number}" for number in (2, 1, 0)]
        assert timing_of(hits) is Timing.LAST_TALK
        assert len(hits) > 3
    nobody = face(memory.scoped(user="bob")).recall("What did we talk about last?")
    assert nobody == []


@pytest.mark.parametrize(
    ("query", "days"), [("When did I first go swimming?", 30), ("the last time I went swimming", 5)]
)
def test_the_first_and_the_last_time_are_of_what_fits(face: Face, opened: Open, query: str, days: int) -> None:
    alice = opened(clock=lambda: NOW).scoped(user="alice", session="diary")
    for ago in range(40, 0, -1):
        alice.remember("I went swimming" if ago % 5 == 0 and ago <= 30 else f"rain, part {ago}", at=NOW - ago * DAY)
    hits = face(alice).recall(query)
    assert hits[0].record.at == NOW - days * DAY
    assert hits[0].record.text == "I went swimming"
    assert hits[0].signals.temporal == 1


COLUMNS = st.integers(2, 20).flatmap(
    lambda n: st.tuples(*(hnp.arrays(np.float64, n, elements=st.floats(0, 1, width=32)) for _ in range(4)))
)


@example((np.zeros(2), np.zeros(2), np.zeros(2), np.array([0.75, 0.5])), 1.0)  # the first moment that is today
@given(COLUMNS, st.floats(0.01, 2))
def test_a_clear_time_stands_before_all_else_whatever_else_counts(columns: tuple[Array, ...], wanted: float) -> None:
    vector, text, neighbours, place = columns
    (span,) = plan("What did I do yesterday?", now=NOW, candidates=48).times
    at = span.since.timestamp() + (place - 0.5) * 4 * SECONDS
    others = replace(Weights(), importance=0, segment=0, exact=0, temporal=0)
    weights = replace(others, temporal=time_weight(Timing.CLEAR, wanted, sum(asdict(others).values())))
    temporal = time_signal(Timing.CLEAR, at, vector, [span])
    signals = dict.fromkeys(asdict(weights), np.zeros(len(at)))
    signals |= {"vector": vector, "text": text, "neighbours": neighbours, "temporal": temporal}
    scores = weighted_mean(signals, weights)
    inside = (at >= span.since.timestamp()) & (at < span.until.timestamp())
    assert ((temporal >= 0) & (temporal <= 1)).all()
    assert (temporal == 1).tolist() == inside.tolist()
    if inside.any() and not inside.all():
        assert scores[inside].min() >= scores[~inside].max() - 1e-9
