import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import CompactionConfig
from hybrid_memory.context.compact import drift, keep_rounds
from hybrid_memory.ports import Floats


@given(st.integers(1, 30), st.integers(0, 30), st.lists(st.floats(0, 1), max_size=60), st.data())
def test_kept_rounds_grow_with_importance(least: int, more: int, importances: list[float], data: st.DataObject) -> None:
    config = CompactionConfig(keep_rounds=least + more, keep_least=least)
    kept = keep_rounds(config, importances)
    assert least <= kept <= least + more
    raised = [data.draw(st.floats(value, 1)) for value in importances]
    assert keep_rounds(config, raised) >= kept


def pair_by_pair(table: Floats, least: int) -> list[float]:
    """The gap at every boundary, from its definition."""
    n = len(table)
    pairs = list(itertools.combinations(range(n), 2))
    mean = np.mean([table[pair] for pair in pairs])
    usual = [sum(table[row, other] - mean for other in range(n) if other != row) / (n - 2) for row in range(n)]
    left = {(i, j): table[i, j] - mean - usual[i] - usual[j] for i, j in pairs}
    spread = np.sqrt(np.mean([value**2 for value in left.values()]))

    def average(one: range, other: range) -> float:
        values = [left[i, j] for i in one for j in other if i < j]
        return float(sum(values) / spread / (len(values) + 2))

    gaps = []
    for at in range(least, n - least + 1):
        before, after = range(max(at - 6, 0), at), range(at, min(at + 6, n))
        gaps.append((average(before, before) + average(after, after)) / 2 - average(before, after))
    return gaps


@given(st.integers(0, 30), st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_the_strength_is_that_of_the_clearest_boundary_compared_pair_by_pair(n: int, seed: int, least: int) -> None:
    """Turns without a vector change nothing but the number of the row."""
    vectors = np.random.default_rng(seed).normal(size=(n, 6)).astype(np.float32)
    vectors[np.random.default_rng(seed + 1).random(n) < 0.3] = 0
    present = np.flatnonzero(np.any(vectors, axis=1))
    found = drift(vectors @ vectors.T, least=least)
    assert (found is None) == (len(present) < 2 * least)
    if found is not None:
        gaps = pair_by_pair(vectors[present] @ vectors[present].T, least)
        assert found[0] / (1 - found[0]) == pytest.approx(max([*gaps, 0.0]), rel=1e-3, abs=1e-3)
        at = np.flatnonzero(present == found[1])[0]
        assert least <= at <= len(present) - least
        if max(gaps) > 0:
            assert gaps[at - least] == pytest.approx(max(gaps), rel=1e-3, abs=1e-3)
