from __future__ import annotations

import math
from typing import Any

import pytest

from hybrid_memory_evaluation.judging.scores import (
    Dimension,
    Grade,
    Mean,
    criteria,
    dimension_scores,
    overall_score,
    scored,
)
from hybrid_memory_evaluation.probing.probe import ProbeKind

about: Any = pytest.approx


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
