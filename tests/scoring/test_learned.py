"""The weights that were learned, its signals and what makes them; every share of a score."""

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hybrid_memory import Hit, MemoryConfig, Message, RecallConfig, Weights, open_memory
from hybrid_memory.arrays import Array
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.recall.choose import diverse
from hybrid_memory.recall.measure import demand, named, offer
from hybrid_memory.recall.signals import learned, weighted_mean
from tests.doubles import Deriving
from tests.faces import Open
from tests.world import rows

CHAT = rows("scoring/learned.tsv", "chat")
numbers = st.floats(-3, 3, allow_nan=False)


def test_the_knots_that_are_shipped_ascend() -> None:
    ranker = learned()
    for curve in (*(one for curves in ranker.curves.values() for one in curves.values()), *ranker.certainty.values()):
        assert np.all(np.diff(curve.knots) > 0)


@given(st.data())
def test_learned_signals_lie_between_0_and_1(data: Any) -> None:
    ranker = learned()
    names = sorted({name for curves in ranker.curves.values() for name in curves})
    features = {name: np.array(data.draw(st.lists(numbers, min_size=3, max_size=3))) for name in names}
    signals = ranker.signals(features)
    assert signals.keys() == ranker.curves.keys()
    for name, column in signals.items():
        assert column.shape == (3,)
        assert np.all((column >= 0) & (column <= 1)), name
    assert ranker.signals({}) == {}


def chat(opened: Open, **options: Any) -> Any:
    memory = opened(url="memory://", embedder="hashing", **options).scoped(user="ada")
    memory.remember([Message(name=name, content=text) for name, text in CHAT])
    return memory


def test_what_tells_stands_before_what_acknowledges_or_asks(opened: Open) -> None:
    memory = chat(opened)
    assert memory.recall("When did Jonas' sister Ines move?", k=1)[0].record.text == CHAT[2][1]
    assert memory.recall("How much does the boat cost?", k=1)[0].record.text == CHAT[4][1]
    signals = {hit.record.text: hit.signals for hit in memory.recall("What does the boat cost?", k=6)}
    assert signals["Alright."].statement < signals[CHAT[4][1]].statement
    assert signals["Alright."].text == 0


def test_a_turn_offers_times_and_numbers_and_a_question_asks_for_them() -> None:
    told = offer("We met on Friday, and again two weeks ago; it took 3 hours. 我们上周见了三次。")
    assert told.times == 1.0
    assert told.numbers > 0
    assert offer("Great!").times == offer("Great!").numbers == 0
    assert demand("When did you meet?").time
    assert not demand("When did you meet?").number
    assert demand("你们见了多少次？").number
    assert not demand("你们见了多少次？").time
    assert demand("What did you say?").yours
    assert not demand("What did he say?").yours


@pytest.mark.parametrize(("question", "name"), rows("scoring/learned.tsv", "speaker"))
def test_a_question_names_speakers(question: str, name: str) -> None:
    assert named(question, ["Mara Lind", "小红", "user", "assistant", ""]) == {name} - {""}


def said(opened: Open, turns: Sequence[tuple[str, ...]]) -> Any:
    alice = opened(url="memory://", embedder="hashing").scoped(user="alice", session="spring")
    for role, text in turns:
        alice.remember(text, role=role)
    return alice


SHORT = rows("scoring/learned.tsv", "short")
LONG = [*SHORT, *rows("scoring/learned.tsv", "more")]


@pytest.mark.parametrize(
    ("turns", "query", "wanted"),
    [
        (SHORT, "salinity", "Which boats measure the salinity there?"),
        (SHORT, "salinity boats", "Which boats measure the salinity there?"),
        (LONG, "Nordwind studio", "Do you still rent the studio from Nordwind?"),
        (LONG, "salinity boats", "Which boats measure the salinity there?"),
    ],
)
def test_a_question_of_the_assistant_is_found_by_its_words(
    opened: Open, turns: Sequence[tuple[str, ...]], query: str, wanted: str
) -> None:
    assert said(opened, turns).recall(query, k=3)[0].record.text == wanted


def test_in_a_short_conversation_what_was_asked_before_comes_with_its_answer(opened: Open) -> None:
    hits = said(opened, SHORT).recall("Which boats measure the salinity?", k=3)
    assert hits[0].record.text == "The Sigrun and the Tora."
    assert hits[0].asked is not None
    assert hits[0].asked.text == "Which boats measure the salinity there?"


START = datetime(2026, 3, 2, 9, tzinfo=UTC)
NAMES = [field.name for field in fields(Weights)]
weights = st.lists(st.floats(0, 2, width=16), min_size=len(NAMES), max_size=len(NAMES)).filter(any)
columns = st.integers(1, 12).flatmap(
    lambda n: hnp.arrays(np.float64, (len(NAMES), n), elements=st.floats(0, 1, width=32))
)


@given(columns, weights)
def test_a_score_lies_between_0_and_1_and_grows_with_every_signal(table: Array, given_weights: list[float]) -> None:
    chosen = Weights(**dict(zip(NAMES, given_weights, strict=True)))
    signals = dict(zip(NAMES, table, strict=True))
    scores = weighted_mean(signals, chosen)
    assert ((scores >= 0) & (scores <= 1 + 1e-9)).all()
    for name in NAMES:
        higher = weighted_mean({**signals, name: np.minimum(signals[name] + 0.1, 1)}, chosen)
        assert (higher >= scores - 1e-12).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_weight_that_makes_no_sense_is_refused(name: str) -> None:
    for value in (-0.1, float("nan"), float("inf")):
        with pytest.raises(InvalidInputError, match="weights"):
            replace(Weights(), **{name: value})
    with pytest.raises(InvalidInputError, match="all 0"):
        Weights(**dict.fromkeys(NAMES, 0.0))


def test_mmr_takes_the_best_first_and_then_what_repeats_it_least() -> None:
    scores = np.array([0.9, 0.89, 0.5])
    likeness = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=np.float32)
    assert diverse(scores, likeness, 0.0).tolist() == [0, 1, 2]
    assert diverse(scores, likeness, 0.5).tolist() == [0, 2, 1]


@pytest.mark.parametrize("k", [2, 10])
@pytest.mark.parametrize("diversity", [0.0, 0.5])
def test_plain_weights_give_exactly_the_formula_for_every_hit(k: int, diversity: float) -> None:
    """No fact, no newer turn and no variety raises a score; without variety they descend."""
    facts = Deriving(("cat", "user", "pet", "cat"), ("Miso", "cat", "name", "Miso"), ("Oslo", "user", "home", "Oslo"))
    config = MemoryConfig(url="memory://", embedder="hashing", recall=RecallConfig(diversity=diversity))
    alice = open_memory(config, extractor=facts).scoped(user="alice", session="s")
    said = ["I adopted a grey cat", "Her name is Miso", "The cat sleeps on my keyboard", "I fly to Oslo"]
    alice.remember(said, at=datetime(2026, 1, 1, tzinfo=UTC))
    alice.flush()
    for query in ("cat", "What is the name of my pet now?", "home Oslo"):
        hits = alice.recall(query, k=k, weights=Weights.plain())
        assert len({hit.record.turn for hit in hits}) == len(hits) == min(k, 4)
        for hit in hits:
            assert hit.score == pytest.approx(0.7 * hit.signals.vector + 0.3 * hit.signals.text, abs=1e-12)
            assert all(part in hit.why() for part in (f"{hit.score:.3f} = ", f"; confidence {hit.confidence:.2f}"))
        if not diversity:
            assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def found(statements: Sequence[tuple[int, str]], question: str, *, weights: Weights | None = None) -> list[Hit]:
    """The hits among statements with the minute at which each was remembered."""
    memory = open_memory(MemoryConfig(url="memory://", embedder="hashing"), clock=lambda: START + timedelta(days=99))
    for minute, text in statements:
        at = START + timedelta(minutes=minute)
        memory.scoped(user="a", session="s").remember({"role": "user", "content": text, "at": at})
    return memory.scoped(user="a", session="now").recall(question, weights=weights)


def texts(statements: Sequence[tuple[int, str]], question: str, *, weights: Weights | None = None) -> list[str]:
    """What is recalled."""
    return [hit.record.text for hit in found(statements, question, weights=weights)]


DAY = 24 * 60


@pytest.mark.parametrize(("earlier", "later", "now", "before"), rows("scoring/learned.tsv", "newer"))
def test_the_newest_about_a_thing_stands_first_and_for_a_question_about_before_the_oldest(
    earlier: str, later: str, now: str, before: str
) -> None:
    statements = [(0, earlier), (20 * DAY, later), (40 * DAY, "The cat sleeps.")]
    assert texts(statements, now)[:2] == [later, earlier]
    assert texts(statements, before)[:2] == [earlier, later]


@pytest.mark.parametrize(
    ("minute", "later"),
    [
        (1, "The deadline of the Orion project is a Sunday."),  # said together
        (DAY, "Does the Orion project have a deadline?"),
        (DAY, "The deadline of the Halcyon report is 17 May."),
        (DAY, "Our cat likes the Orion project."),
    ],
)
def test_what_asks_or_is_about_another_thing_or_was_said_together_is_not_raised(minute: int, later: str) -> None:
    statements = [(0, "The deadline of the Orion project is 3 May."), (minute, later)]
    question = "What is the deadline of the Orion project?"
    assert all(hit.own is None for hit in found(statements, question))


@given(
    st.lists(
        st.tuples(st.integers(0, 9 * DAY), st.sampled_from(["Orion is due", "Orion is due soon", "the cat"])),
        max_size=6,
    )
)
def test_every_hit_is_kept_once(statements: list[tuple[int, str]]) -> None:
    unordered = texts(statements, "When is Orion due?", weights=Weights.plain())
    assert sorted(texts(statements, "When is Orion due?")) == sorted(unordered)
