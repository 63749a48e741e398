"""Forgetting: the formula against a scalar one, and what makes a memory last."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.store.view import retention

DAY = 86_400.0

ages = st.floats(0, 1e10, allow_subnormal=False)
importances = st.floats(0, 1, allow_subnormal=False)
uses = st.integers(0, 10_000)
half_lives = st.floats(1.0, 1e9)


def one(age: float, importance: float = 0.0, used: int = 0, half_life: float = DAY) -> float:
    return float(retention(np.array([age]), np.array([importance]), np.array([used]), half_life)[0])


def scalar(age: float, importance: float, used: int, half_life: float) -> float:
    """The same by the natural exponential and without arrays."""
    strength = math.exp(importance * math.log(8)) * (1 + used)
    return math.exp(-math.log(2) * max(age, 0.0) / (half_life * strength))


@given(st.lists(st.tuples(st.floats(-1e6, 1e9), importances, uses), max_size=20), half_lives)
def test_records_are_retained_as_the_scalar_formula_says(
    rows: list[tuple[float, float, int]], half_life: float
) -> None:
    age, importance = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    used = np.array([row[2] for row in rows], dtype=np.int64)
    left = retention(age, importance, used, half_life)
    assert left.shape == (len(rows),)
    assert left == pytest.approx([scalar(*row, half_life) for row in rows], rel=1e-9, abs=1e-300)


@given(ages, importances, uses, half_lives)
def test_something_is_left_and_never_more_than_all(age: float, importance: float, used: int, half_life: float) -> None:
    assert 0 < one(age, importance, used, half_life) <= 1
