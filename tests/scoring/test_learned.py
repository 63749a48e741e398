"""The ranker that was learned: its signals, its sum, and what makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import Message
from hybrid_memory.recall.measure import demand, named, offer
from hybrid_memory.recall.signals import Curve, learned

if TYPE_CHECKING:
    from tests.faces import Open

CHAT = [
    ("Mara", "I started pottery lessons last week, two evenings a month."),
    ("Jonas", "Wow, that sounds amazing!"),
    ("Jonas", "My sister Ines moved to Turin in May."),
    ("Mara", "When did she move?"),
    ("Jonas", "The boat costs 400 euros, and the harbour is in Genoa."),
    ("Mara", "Alright."),
]
numbers = st.floats(-3, 3, allow_nan=False)


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=6, unique=True).map(sorted), st.data())
def test_a_curve_is_level_beyond_its_ends_and_straight_between(knots: list[int], data: Any) -> None:
    worth = data.draw(st.lists(numbers, min_size=len(knots), max_size=len(knots)))
    curve = Curve(np.array(knots, dtype=np.float64), np.array(worth))
    assert curve(np.array([knots[0] - 1, knots[-1] + 1])).tolist() == [worth[0], worth[-1]]
    middle = (knots[0] + knots[1]) / 2
    assert curve(np.array([middle]))[0] == pytest.approx((worth[0] + worth[1]) / 2, abs=1e-6)
    assert Curve.of(curve.points(12))(np.array(knots)) == pytest.approx(worth, abs=1e-9)


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
    assert demand("When did you meet?").kinds == {"time"}
    assert demand("你们见了多少次？").kinds == {"number"}
    assert demand("What did you say?").yours
    assert not demand("What did he say?").yours


@pytest.mark.parametrize(
    ("question", "people"),
    [
        ("What did Mara buy?", {"Mara Lind"}),
        ("what did MARA buy", {"Mara Lind"}),
        ("小红买了什么？", {"小红"}),
        ("What did Maradona buy?", set()),
        ("What does the user want from the assistant?", set()),
    ],
)
def test_a_question_names_speakers(question: str, people: set[str]) -> None:
    assert named(question, ["Mara Lind", "小红", "user", "assistant", ""]) == people
