from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.apps.evaluation.judging.rubric import CRITERIA, Dimension, criteria, dimension_scores, overall_score
from hybrid_memory.apps.evaluation.probing.probe import ProbeKind

NAMES = [criterion.name for criterion in CRITERIA]
SCORES = st.dictionaries(st.sampled_from(NAMES), st.floats(0, 5), min_size=1)


def test_weights_add_up_to_one_within_each_dimension() -> None:
    for dimension in Dimension:
        weights = [criterion.weight for criterion in CRITERIA if criterion.dimension is dimension]
        assert sum(weights) == pytest.approx(1)
        assert min(weights) > 0


def test_every_criterion_asks_something_and_says_what_0_3_and_5_are() -> None:
    for criterion in CRITERIA:
        guidance = {criterion.none, criterion.some, criterion.full}
        assert criterion.question.endswith("?")
        assert len(guidance) == 3
        assert all(text.endswith(".") for text in guidance)


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


def test_a_score_for_something_that_is_no_criterion_is_an_error() -> None:
    with pytest.raises(KeyError):
        dimension_scores({"charm": 5.0})


@given(SCORES)
def test_means_lie_between_the_lowest_and_the_highest_score(scores: dict[str, float]) -> None:
    low, high = min(scores.values()), max(scores.values())
    overall = overall_score(scores)
    assert overall is not None
    for mean in [*dimension_scores(scores).values(), overall]:
        assert 0 <= mean <= 5
        assert low - 1e-9 <= mean <= high + 1e-9
