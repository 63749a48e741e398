from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import CompactionConfig
from hybrid_memory.context.triggers import Drift, drift, fired, keep_rounds
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.ports import Floats

EVERY = CompactionConfig(rounds=10, density=0.6, drift=0.5, keep_rounds=8, keep_least=3)
SHARES = st.floats(0, 1)

GARDEN = [
    "The tomato plants in my garden have yellow leaves again.",
    "Yellow leaves on tomato plants often mean too much water in the garden soil.",
    "I water the tomato plants in the garden every morning.",
    "Water the garden every second morning, the soil of tomato plants may dry.",
    "And the soil, should I add compost around the tomato plants?",
    "Compost helps the garden soil, the leaves of the plants get green.",
]
FLIGHT = [
    "My flight to Lisbon was cancelled, can I get the ticket refunded?",
    "The airline must refund a cancelled flight, or book another ticket.",
    "The airline offers another flight to Lisbon on Sunday.",
    "Then take the Sunday flight, or ask the airline to refund the ticket.",
    "I prefer the refund, how long does the airline take for a cancelled ticket?",
    "A refund of a cancelled flight ticket takes the airline seven days.",
]
COOKING = [
    "今晚我想做红烧肉，五花肉要先焯水吗？", "做红烧肉前五花肉最好焯水，去掉血沫。", "红烧肉的糖色怎么炒才不会苦？",
    "炒糖色用小火，红烧肉颜色就好看。", "五花肉要炖多久，红烧肉才软？", "五花肉小火炖一个小时，红烧肉就软了。",
]  # fmt: skip
EXAM = [
    "下周有英语考试，我的单词还没背完。", "英语考试前每天背五十个单词，早晚复习。",
    "英语听力也很差，考试怎么复习听力？", "每天听半小时英语新闻，复习听力考试的真题。",
    "单词背了又忘，英语考试会不会不及格？", "按计划复习单词和听力，英语考试没问题。",
]  # fmt: skip


def likeness(turns: list[str]) -> Floats:
    vectors = HashingEmbedder(1024).embed_documents(turns)
    return vectors @ vectors.T


def topics(*lengths: int, near: float = 0.86, far: float = 0.78, noise: float = 0.02, seed: int = 0) -> Floats:
    """The likeness of turns about one topic after the other; turns without a topic where near equals far."""
    labels = np.repeat(np.arange(len(lengths)), lengths)
    table = np.where(labels[:, np.newaxis] == labels, near, far)
    table += np.random.default_rng(seed).normal(0, noise, table.shape)
    table = np.triu(table, 1)
    return (table + table.T + np.eye(len(labels))).astype(np.float32)


@pytest.mark.parametrize("rounds", [None, 10])
@pytest.mark.parametrize("density", [None, 0.6])
@pytest.mark.parametrize("change", [None, 0.5])
def test_a_quiet_queue_fires_no_trigger(rounds: int | None, density: float | None, change: float | None) -> None:
    config = CompactionConfig(rounds=rounds, density=density, drift=change, keep_rounds=8, keep_least=3)
    assert fired(config, rounds=9, tokens=2000, max_tokens=2000) == ""
    expected = [
        reason
        for setting, reason in [
            (rounds, "rounds: 16 of 10"),
            (density, "density: 0.70 of 0.60"),
            (change, "drift: 0.80 of 0.50"),
        ]
        if setting is not None
    ]
    change_here = Drift(0.8, 12)
    reason = fired(config, rounds=16, tokens=0, max_tokens=2000, importance=0.7, change=change_here, before=6)
    assert reason == (expected[0] if expected else "")


def test_tokens_come_first_and_count_the_share_that_flush_gives() -> None:
    assert fired(EVERY, rounds=99, tokens=2113, max_tokens=2000, importance=1) == "tokens: 2113 of 2000"
    half = CompactionConfig(rounds=None, flush=0.7)
    assert fired(half, rounds=99, tokens=2100, max_tokens=3000) == ""
    assert fired(half, rounds=99, tokens=2101, max_tokens=3000) == "tokens: 2101 of 2100"


def test_density_waits_for_as_many_rounds_again_as_would_stay() -> None:
    config = EVERY.model_copy(update={"rounds": None})
    assert fired(config, rounds=15, tokens=0, max_tokens=2000, importance=0.9) == ""
    assert fired(config, rounds=16, tokens=0, max_tokens=2000, importance=0.59) == ""
    assert fired(config, rounds=16, tokens=0, max_tokens=2000, importance=0.6) == "density: 0.60 of 0.60"


@pytest.mark.parametrize(
    ("rounds", "before", "fires"), [(6, 3, True), (5, 3, False), (5, 2, False), (9, 2, False), (9, 7, False)]
)
def test_drift_needs_the_least_rounds_on_both_sides(rounds: int, before: int, fires: bool) -> None:
    reason = fired(EVERY, rounds=rounds, tokens=0, max_tokens=2000, change=Drift(0.5, 2 * before), before=before)
    assert reason == ("drift: 0.50 of 0.50" if fires else "")


@pytest.mark.parametrize(("talk", "kept"), [(0, 20), (10, 20), (15, 12), (18, 7), (20, 4)])
def test_all_rounds_stay_unless_most_of_them_are_small_talk(talk: int, kept: int) -> None:
    importances = [0.1] * talk + [0.25] * (20 - talk)
    assert keep_rounds(CompactionConfig(keep_rounds=20, keep_least=4), [1.0] * 10 + importances) == kept


def test_only_the_newest_rounds_decide_how_many_stay() -> None:
    config = CompactionConfig(keep_rounds=5, keep_least=1)
    assert keep_rounds(config, [1.0] * 40 + [0.0] * 5) == 1
    assert keep_rounds(config, [0.0] * 40 + [1.0] * 5) == 5
    assert keep_rounds(config, []) == 1


@given(st.integers(1, 30), st.integers(0, 30), st.lists(SHARES, max_size=60), st.data())
def test_kept_rounds_grow_with_importance(least: int, more: int, importances: list[float], data: st.DataObject) -> None:
    config = CompactionConfig(keep_rounds=least + more, keep_least=least)
    kept = keep_rounds(config, importances)
    assert least <= kept <= least + more
    raised = [data.draw(st.floats(value, 1)) for value in importances]
    assert keep_rounds(config, raised) >= kept


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations([GARDEN, FLIGHT, COOKING, EXAM], 2)))
def test_a_new_topic_is_found_at_its_first_turn(one: list[str], other: list[str]) -> None:
    found = drift(likeness(one + other))
    assert found is not None
    assert found.row == len(one)
    alone = drift(likeness(one + one[::-1]))
    assert alone is not None
    assert alone.strength < found.strength


def test_a_change_is_clearer_than_any_that_chance_makes_in_one_topic() -> None:
    change = [drift(topics(12, 12, seed=seed)) for seed in range(20)]
    chance = [drift(topics(24, seed=seed)) for seed in range(20)]
    assert all(found is not None and found.row == 12 for found in change)
    assert min(found.strength for found in change if found) > max(found.strength for found in chance if found)


@pytest.mark.parametrize("least", [2, 4, 6])
def test_there_is_no_change_without_enough_turns_on_both_sides(least: int) -> None:
    assert drift(topics(least, least - 1), least=least) is None
    found = drift(topics(least, least), least=least)
    assert found is not None
    assert found.row == least


@given(st.integers(0, 30), st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_any_likeness_gives_a_strength_in_0_to_1_and_a_row_between_two_stretches(n: int, seed: int, least: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32)
    vectors[np.random.default_rng(seed + 1).random(n) < 0.3] = 0
    found = drift(vectors @ vectors.T, least=least)
    present = np.flatnonzero(np.any(vectors, axis=1))
    assert (found is None) == (len(present) < 2 * least)
    if found is not None:
        assert 0 <= found.strength <= 1
        assert found.row in present
        assert least <= np.flatnonzero(present == found.row)[0] <= len(present) - least


def test_turns_without_a_vector_change_nothing_but_the_number_of_the_row() -> None:
    full = topics(10, 10)
    missing = [0, 3, 4, 12, 21, 24]
    table = np.zeros((26, 26), dtype=np.float32)
    present = np.delete(np.arange(26), missing)
    table[np.ix_(present, present)] = full
    one, other = drift(full), drift(table)
    assert one is not None
    assert other == Drift(one.strength, int(present[one.row]))


@pytest.mark.parametrize("n", [8, 30])
def test_turns_that_are_all_the_same_do_not_drift(n: int) -> None:
    assert drift(np.ones((n, n), dtype=np.float32)) == Drift(0.0, n - 4)
    rounded = topics(n // 2, n // 2, near=1.0, far=1.0, noise=1e-6)
    found = drift(rounded)
    assert found is not None
    assert found.strength < 0.01


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
    assert found.strength / (1 - found.strength) == pytest.approx(max([*gaps, 0.0]), rel=1e-3, abs=1e-3)
    if max(gaps) > 0:
        assert gaps[found.row - least] == pytest.approx(max(gaps), rel=1e-3, abs=1e-3)
