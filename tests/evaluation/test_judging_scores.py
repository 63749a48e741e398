from __future__ import annotations

import math
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory_evaluation.judging.rubric import CRITERIA, Dimension, criteria, dimension_scores, overall_score
from hybrid_memory_evaluation.judging.scores import Agreement, Grade, Mean, agreement, noise, order, scored
from hybrid_memory_evaluation.probing.probe import ProbeKind

NAMES = [criterion.name for criterion in CRITERIA]
GRADES = st.lists(
    st.builds(Grade, st.dictionaries(st.sampled_from(NAMES), st.floats(0, 5), min_size=1), malformed=st.integers(0, 3))
    | st.just(Grade(malformed=3, failed=True)),
    max_size=12,
)


about: Any = pytest.approx


def accurate(score: float) -> Grade:
    return Grade({"accuracy_factual": score, "accuracy_technical": score})


def test_means_spreads_and_counts_are_those_worked_out_by_hand() -> None:
    grades = [
        Grade(
            {"accuracy_factual": 5, "accuracy_technical": 0, "completeness_depth": 1}, malformed=1
        ),  # 3.0, 1.0 -> 2.0
        Grade({"accuracy_factual": 2, "accuracy_technical": 2, "completeness_depth": 4}),  # 2.0, 4.0 -> 3.0
        Grade({"accuracy_factual": 1, "artifact_files_created": 5}),  # 1.0, 5.0 -> 3.0
        Grade(malformed=3, failed=True),
    ]
    scores = scored(grades)
    assert scores.criteria == {
        "accuracy_factual": Mean(8 / 3, about(math.sqrt(13 / 3)), 3),
        "accuracy_technical": Mean(1, about(math.sqrt(2)), 2),
        "artifact_files_created": Mean(5, 0, 1),
        "completeness_depth": Mean(2.5, about(math.sqrt(4.5)), 2),
    }
    assert scores.dimensions == {
        Dimension.ACCURACY: Mean(2, about(1), 3),
        Dimension.ARTIFACTS: Mean(5, 0, 1),
        Dimension.COMPLETENESS: Mean(2.5, about(math.sqrt(4.5)), 2),
    }
    assert scores.overall == Mean(about(9.5 / 3), about(math.sqrt(1 / 3)), 3)
    assert (scores.n, scores.failed, scores.malformed) == (3, 1, 4)


def test_where_nothing_was_graded_there_is_no_mean() -> None:
    scores = scored([Grade(malformed=3, failed=True)])
    assert (scores.criteria, scores.dimensions, scores.overall) == ({}, {}, None)
    assert (scores.n, scores.failed, scores.malformed) == (0, 1, 3)
    assert scored([]).n == 0


@given(GRADES)
def test_all_means_lie_in_0_to_5_and_the_overall_one_is_that_of_the_dimensions(grades: list[Grade]) -> None:
    scores = scored(grades)
    every = [*scores.criteria.values(), *scores.dimensions.values(), *([scores.overall] if scores.overall else [])]
    assert all(0 <= one.mean <= 5 and 0 <= one.spread <= 5 for one in every)
    assert scores.n + scores.failed == len(grades)
    if scores.overall:
        means = [one.mean for one in scores.dimensions.values()]
        assert scores.overall.mean == pytest.approx(statistics.fmean(means))


def test_noise_is_the_spread_between_grades_of_one_answer_not_between_answers() -> None:
    # Variances 0.5 with 1 degree of freedom, 1.0 with 2: pooled 2.5 / 3.
    repeats = [[accurate(0), accurate(1)], [accurate(3), accurate(4), accurate(5)], [accurate(5)]]
    assert noise(repeats) == pytest.approx(math.sqrt(2.5 / 3))
    assert noise([[accurate(0), accurate(0)], [accurate(5), accurate(5)]]) == 0
    assert noise([[accurate(0)], [accurate(5), Grade(failed=True)], []]) is None


CASES = [(f"p{probe}", method, repeat) for probe in range(20) for method in ("a", "b", "c") for repeat in range(3)]


def test_every_case_comes_once_in_an_order_that_the_seed_decides() -> None:
    drawn = order(CASES, 7)
    assert sorted(drawn) == sorted(CASES)
    assert drawn == order(list(reversed(CASES)), 7)
    assert drawn != order(CASES, 8) != CASES


def test_the_order_stays_when_more_cases_are_added() -> None:
    some = [case for case in CASES if case[1] != "b"]
    assert [case for case in order(CASES, 7) if case[1] != "b"] == order(some, 7)


def test_neither_method_nor_repeat_nor_probe_follows_time() -> None:
    places: dict[tuple[str, int], list[float]] = {}
    for seed in range(40):
        for place, (probe, method, repeat) in enumerate(order(CASES, seed)):
            for key in ((method, -1), ("", repeat), (probe, -1)):
                places.setdefault(key, []).append(place / (len(CASES) - 1))
    for key, found in places.items():
        error = math.sqrt(1 / 12 / len(found))
        assert abs(statistics.fmean(found) - 0.5) < 4.5 * error, key


def test_agreement_compares_answers_to_one_probe_of_which_one_holds_the_gold() -> None:
    graded = [
        ("p1", 1.0, accurate(4)),
        ("p1", 0.0, accurate(1)),  # lower: agrees
        ("p1", 0.5, accurate(4)),  # equal: half
        ("p2", 1.0, accurate(2)),
        ("p2", 0.0, accurate(3)),  # higher: disagrees
        ("p2", 0.0, Grade(failed=True)),
        ("p3", 1.0, accurate(0)),  # nothing to compare it with
        ("p4", 0.0, accurate(5)),
    ]
    assert agreement(graded) == Agreement(0.5, 3)
    assert agreement(graded[:2]) == Agreement(1.0, 1)
    assert agreement(graded[6:]) is None
    assert agreement([]) is None


ANSWERS = st.lists(st.tuples(st.sampled_from(["p", "q"]), st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 5)))


@given(ANSWERS)
def test_a_judge_who_knows_the_gold_agrees_fully_and_others_by_half(answers: list[tuple[str, float, int]]) -> None:
    knowing = agreement((probe, found, accurate(5 * found)) for probe, found, _ in answers)
    same = agreement((probe, found, accurate(3)) for probe, found, _ in answers)
    if knowing and same:
        assert (knowing.share, same.share) == (1, 0.5)


SCORES = st.dictionaries(st.sampled_from(NAMES), st.floats(0, 5), min_size=1)


def test_weights_add_up_to_one_within_each_dimension() -> None:
    for dimension in Dimension:
        weights = [criterion.weight for criterion in CRITERIA if criterion.dimension is dimension]
        assert sum(weights) == pytest.approx(1)
        assert min(weights) > 0


def test_every_dimension_is_reached_by_a_kind_of_probe_and_every_kind_reaches_at_least_four() -> None:
    reached = {kind: {criterion.dimension for criterion in criteria(kind)} for kind in ProbeKind}
    assert set().union(*reached.values()) == set(Dimension)
    everywhere = {Dimension.ACCURACY, Dimension.CONTEXT, Dimension.COMPLETENESS, Dimension.INSTRUCTION}
    assert reached == {
        ProbeKind.RECALL: everywhere,
        ProbeKind.ARTIFACT: everywhere | {Dimension.ARTIFACTS},
        ProbeKind.CONTINUATION: everywhere | {Dimension.CONTINUITY},
        ProbeKind.DECISION: everywhere | {Dimension.CONTINUITY},
    }


def test_dimensions_are_weighted_means_and_the_overall_score_is_not_weighted() -> None:
    scores = {
        "accuracy_factual": 5.0,  # 0.6
        "accuracy_technical": 2.5,  # 0.4
        "context_conversation_state": 3.0,  # 0.5
        "context_artifact_state": 4.0,  # 0.5
        "artifact_files_created": 1.0,  # 0.3
        "artifact_files_modified": 2.0,  # 0.3
        "artifact_key_details": 5.0,  # 0.4
        "completeness_coverage": 0.0,  # 0.6
        "completeness_depth": 5.0,  # 0.4
        "continuity_work_state": 5.0,  # 0.4
        "continuity_todo_state": 4.0,  # 0.3
        "continuity_reasoning": 2.0,  # 0.3
        "instruction_format": 5.0,  # 0.5
        "instruction_constraints": 4.0,  # 0.5
    }
    assert dimension_scores(scores) == pytest.approx(
        {
            Dimension.ACCURACY: 4.0,
            Dimension.CONTEXT: 3.5,
            Dimension.ARTIFACTS: 2.9,
            Dimension.COMPLETENESS: 2.0,
            Dimension.CONTINUITY: 3.8,
            Dimension.INSTRUCTION: 4.5,
        }
    )
    assert overall_score(scores) == pytest.approx(20.7 / 6)


def test_weights_are_taken_anew_over_the_criteria_that_have_a_score() -> None:
    scores = {"accuracy_factual": 4.0, "artifact_files_created": 1.0, "artifact_key_details": 5.0}
    assert dimension_scores(scores) == pytest.approx(
        {Dimension.ACCURACY: 4.0, Dimension.ARTIFACTS: (0.3 * 1 + 0.4 * 5) / 0.7}
    )
    assert overall_score(scores) == pytest.approx((4 + 2.3 / 0.7) / 2)


def test_nothing_scored_has_no_mean() -> None:
    assert dimension_scores({}) == {}
    assert overall_score({}) is None


@given(SCORES)
def test_means_lie_between_the_lowest_and_the_highest_score(scores: dict[str, float]) -> None:
    low, high = min(scores.values()), max(scores.values())
    overall = overall_score(scores)
    assert overall is not None
    for mean in [*dimension_scores(scores).values(), overall]:
        assert 0 <= mean <= 5
        assert low - 1e-9 <= mean <= high + 1e-9
