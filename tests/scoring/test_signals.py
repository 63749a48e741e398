"""The signals: bounds, order and symmetry on arbitrary candidates, and the formulas worked out by hand."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hybrid_memory.arrays import Array, Numbers
from hybrid_memory.recall import signals
from hybrid_memory.store.view import retention

SIZES = st.integers(1, 30)
cosines = SIZES.flatmap(lambda n: hnp.arrays(np.float64, n, elements=st.floats(-1, 1, width=32)))
bm25 = SIZES.flatmap(lambda n: hnp.arrays(np.float64, n, elements=st.floats(0, 50, width=32)))


@st.composite
def placed(draw: st.DrawFn) -> tuple[Array, Numbers, Numbers]:
    """Relevances at distinct places of a few segments."""
    places = draw(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 9)), min_size=1, max_size=25, unique=True))
    relevance = draw(hnp.arrays(np.float64, len(places), elements=st.floats(0, 1, width=32)))
    return relevance, np.array([p[0] for p in places]), np.array([p[1] for p in places])


@given(cosines, st.floats(-1, 1), bm25)
def test_the_signals_of_meaning_and_words_are_bounded_and_keep_the_order(
    similarity: Array, average: float, scores: Array
) -> None:
    near, text = signals.vector_signal(similarity, average), signals.text_signal(scores)
    for given_order, signal in ((similarity, near), (scores, text)):
        assert ((signal >= 0) & (signal <= 1)).all()
        assert (np.diff(signal[np.argsort(given_order, kind="stable")]) >= 0).all()
    assert text.max() == (1.0 if scores.max() > 0 else 0.0)


@given(placed(), st.floats(0, 0.5))
def test_the_neighbour_signal_is_its_formula(candidates: tuple[Array, Numbers, Numbers], average: float) -> None:
    relevance, segments, ordinals = candidates
    at = {(int(s), int(o)): float(r) for r, s, o in zip(relevance, segments, ordinals, strict=True)}
    expected, beside = [], signals.beside(segments, ordinals, -1, 1, -2, 2)
    for segment, ordinal in zip(segments.tolist(), ordinals.tolist(), strict=True):
        near, far = (
            (at.get((segment, ordinal - step), average) + at.get((segment, ordinal + step), average)) / 2
            for step in (1, 2)
        )
        expected.append((near + 0.5 * far) / 1.5)
    assert signals.neighbour_signal(relevance, beside, average) == pytest.approx(expected)


def test_centring_takes_a_share_of_the_centroid_that_grows_with_the_store() -> None:
    query, centroid = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    assert signals.centred(query, centroid, 0) == pytest.approx(query)
    assert signals.centred(query, centroid, 100) == pytest.approx(query - 0.3 * centroid)
    assert signals.centred(query, centroid, 10**9) == pytest.approx(query - 0.6 * centroid)


def test_similarity_is_0_for_an_average_record_and_1_for_the_query_whatever_else_was_found() -> None:
    similarity, average, same = np.array([0.8, 0.9, 1.0, np.nan]), np.full(4, 0.8), np.full(4, 1.0)
    near = signals.absolute_similarity(similarity, average, same, np.full(4, 10**9))
    assert near == pytest.approx([0.0, 0.5, 1.0, np.nan], nan_ok=True)
    near = signals.absolute_similarity(similarity[:2], average[:2], same[:2], np.array([4, 4]))
    assert near == pytest.approx([0.0, 2 / 3])
    # Of few records only one that stands out tells something.
    few = signals.absolute_similarity(similarity, average, same, np.array([3, 2, 1, 0]))
    assert np.isnan(few[[0, 2, 3]]).all()
    assert few[1] == pytest.approx(1.0)
    assert np.isnan(signals.absolute_similarity(similarity, same, same, np.full(4, 9))).all()


@pytest.mark.parametrize(
    ("formula", "given", "expected"),
    [
        # The best is 1 and the average a half; what has no vector yet counts as average beside what has one.
        (signals.vector_signal, ([0.9, 0.8, 0.7, 0.6], 0.8), [1, 0.5, 0, 0]),
        (signals.vector_signal, ([0.9, 0.6, math.nan], 0.8), [1, 0, 0.5]),
        (signals.vector_signal, ([math.nan, math.nan], 0.8), [0, 0]),
        # The mean of a segment's two best.
        (signals.segment_signal, ([0.2, 0.8, 0.6, 0.4], [7, 7, 7, 9]), [0.7, 0.7, 0.7, 0.4]),
        # Chat is as brief as can be; long turns are not.
        (signals.brevity, ([10, 200],), 1),
        (signals.brevity, ([1000, 1000],), 0.0625),
        (signals.brevity, ([],), 1),
        # Halves with every half-life; the future is now.
        (signals.recency_signal, ([-5.0, 0.0, 10.0, 20.0], 10.0), [1, 1, 0.5, 0.25]),
        # The first uses count most, and fade by half in a half-life.
        (signals.use_signal, ([0, 1, 3], [0.0, 0.0, 0.0], 10.0), [0, 0.5, 0.75]),
        (signals.use_signal, ([1, 1, 1], [0.0, 10.0, 20.0], 10.0), [0.5, 0.25, 0.125]),
    ],
)
def test_a_signal_is_what_its_formula_comes_to(formula: Any, given: tuple[Any, ...], expected: Any) -> None:
    arrays = [np.array(one) if isinstance(one, list) else one for one in given]
    assert formula(*arrays) == pytest.approx(expected)


def test_the_temporal_signal_falls_with_the_distance_from_the_nearest_span() -> None:
    day, week = 86_400.0, 7 * 86_400.0
    at = np.array([0.0, week - 1, 2 * week, 3 * week, -week])
    assert signals.temporal_signal(at, [(0.0, week)]) == pytest.approx([1, 1, 0.5, 0.25, 0.5])
    assert signals.temporal_signal(at, [(0.0, 60.0)])[3] == pytest.approx(2 ** -((3 * week - 60) / day)), (
        "a day at least"
    )
    assert signals.temporal_signal(at, [(0.0, week), (3 * week, 4 * week)])[3] == 1
    assert signals.temporal_signal(at, []).tolist() == [0] * 5


RECORDS = st.tuples(st.floats(-1e6, 1e10), st.floats(0, 1, allow_subnormal=False), st.integers(0, 10_000))


def scalar(age: float, importance: float, used: int, half_life: float) -> float:
    """The same by the natural exponential and without arrays."""
    strength = math.exp(importance * math.log(8)) * (1 + used)
    return math.exp(-math.log(2) * max(age, 0.0) / (half_life * strength))


@given(st.lists(RECORDS, max_size=20), st.floats(1.0, 1e9))
def test_records_are_retained_as_the_scalar_formula_says(
    rows: list[tuple[float, float, int]], half_life: float
) -> None:
    age, importance = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    used = np.array([row[2] for row in rows], dtype=np.int64)
    left = retention(age, importance, used, half_life)
    assert ((left > 0) & (left <= 1)).all(), "something is left, and never more than all"
    assert left == pytest.approx([scalar(*row, half_life) for row in rows], rel=1e-9, abs=1e-300)
