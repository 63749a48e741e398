import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import CompactionConfig
from hybrid_memory.context.compact import drift, keep_rounds
from hybrid_memory.ports import Floats

SHARES = st.floats(0, 1)


def topics(*lengths: int) -> Floats:
    """The likeness of turns about one topic after the other."""
    labels = np.repeat(np.arange(len(lengths)), lengths)
    table = np.where(labels[:, np.newaxis] == labels, 0.86, 0.78)
    table += np.random.default_rng(0).normal(0, 0.02, table.shape)
    table = np.triu(table, 1)
    return (table + table.T + np.eye(len(labels))).astype(np.float32)


@given(st.integers(1, 30), st.integers(0, 30), st.lists(SHARES, max_size=60), st.data())
def test_kept_rounds_grow_with_importance(least: int, more: int, importances: list[float], data: st.DataObject) -> None:
    config = CompactionConfig(keep_rounds=least + more, keep_least=least)
    kept = keep_rounds(config, importances)
    assert least <= kept <= least + more
    raised = [data.draw(st.floats(value, 1)) for value in importances]
    assert keep_rounds(config, raised) >= kept


@given(st.integers(0, 30), st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_any_likeness_gives_a_strength_in_0_to_1_and_a_row_between_two_stretches(n: int, seed: int, least: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32)
    vectors[np.random.default_rng(seed + 1).random(n) < 0.3] = 0
    found = drift(vectors @ vectors.T, least=least)
    present = np.flatnonzero(np.any(vectors, axis=1))
    assert (found is None) == (len(present) < 2 * least)
    if found is not None:
        assert 0 <= found[0] <= 1
        assert found[1] in present
        assert least <= np.flatnonzero(present == found[1])[0] <= len(present) - least


def test_turns_without_a_vector_change_nothing_but_the_number_of_the_row() -> None:
    full = topics(10, 10)
    missing = [0, 3, 4, 12, 21, 24]
    table = np.zeros((26, 26), dtype=np.float32)
    present = np.delete(np.arange(26), missing)
    table[np.ix_(present, present)] = full
    one, other = drift(full), drift(table)
    assert one is not None
    assert other == (one[0], int(present[one[1]]))


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


@given(st.integers(8, 24), st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_the_strength_is_that_of_the_clearest_boundary_compared_pair_by_pair(n: int, seed: int, least: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(n, 6)).astype(np.float32)
    table = vectors @ vectors.T
    gaps = pair_by_pair(table, least)
    found = drift(table, least=least)
    assert found is not None
    assert found[0] / (1 - found[0]) == pytest.approx(max([*gaps, 0.0]), rel=1e-3, abs=1e-3)
    if max(gaps) > 0:
        assert gaps[found[1] - least] == pytest.approx(max(gaps), rel=1e-3, abs=1e-3)
