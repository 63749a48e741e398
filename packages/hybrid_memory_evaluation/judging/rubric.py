"""The rubric: six dimensions of two or three criteria each, and how their scores are combined."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from hybrid_memory_evaluation.probing.probe import ProbeKind

BEST = 5
"""The highest score; scores are in [0, 5]."""

_ALL = frozenset(ProbeKind)
_ARTIFACT = frozenset({ProbeKind.ARTIFACT})
_CONTINUATION = frozenset({ProbeKind.CONTINUATION})
_DECISION = frozenset({ProbeKind.DECISION})


class Dimension(StrEnum):
    """A dimension of an answer's quality."""

    ACCURACY = "accuracy"
    CONTEXT = "context awareness"
    ARTIFACTS = "artifact trail"
    COMPLETENESS = "completeness"
    CONTINUITY = "continuity"
    INSTRUCTION = "instruction following"


@dataclass(frozen=True, slots=True)
class Criterion:
    """A question to the judge.

    Attributes:
        weight: its weight within its dimension; the weights add up to 1.
        kinds: the kinds of probes it applies to.
        none: what deserves a 0; ``some`` a 3; ``full`` a 5.
    """

    name: str
    dimension: Dimension
    weight: float
    kinds: frozenset[ProbeKind]
    question: str
    none: str
    some: str
    full: str


CRITERIA: tuple[Criterion, ...] = (
    Criterion(
        "accuracy_factual", Dimension.ACCURACY, 0.6, _ALL,
        "Does what the answer states agree with the gold answer?",
        none="It contradicts the gold answer, or states nothing of it.",
        some="Its main point agrees; a lesser one is wrong or made up.",
        full="All that it states agrees with the gold answer.",
    ),
    Criterion(
        "accuracy_technical", Dimension.ACCURACY, 0.4, _ALL,
        "Are names, numbers, dates, paths and terms exact?",
        none="They are wrong or missing.",
        some="Most are exact; one is vague or misspelt.",
        full="Each one is as in the gold answer.",
    ),
    Criterion(
        "context_conversation_state", Dimension.CONTEXT, 0.5, _ALL - _ARTIFACT,
        "Does the answer tell how things stand at the end of the conversation?",
        none="It knows nothing of the conversation, or tells what was replaced later as if it held.",
        some="It mixes earlier and later states.",
        full="It tells the state at the end; it need not speak of the conversation itself.",
    ),
    Criterion(
        "context_artifact_state", Dimension.CONTEXT, 0.5, _ARTIFACT | _CONTINUATION,
        "Does the answer know in what state files and other results of the work are?",
        none="It knows nothing of them, or takes them to be in another state.",
        some="It knows the main one; the state of another is wrong or missing.",
        full="Each one that matters is in its right state, or nothing was made and it claims nothing.",
    ),
    Criterion(
        "artifact_files_created", Dimension.ARTIFACTS, 0.3, _ARTIFACT,
        "Does the answer name what was newly made?",
        none="It names nothing that was made, or only what was not.",
        some="It names about half, or adds one that was not made.",
        full="It names all that was made and no more, or nothing was made and it claims nothing.",
    ),
    Criterion(
        "artifact_files_modified", Dimension.ARTIFACTS, 0.3, _ARTIFACT,
        "Does the answer name what was changed, moved or deleted?",
        none="It names nothing that was changed, or only what was not.",
        some="It names about half, or adds one that was not changed.",
        full="It names all that was changed and no more, or nothing was changed and it claims nothing.",
    ),
    Criterion(
        "artifact_key_details", Dimension.ARTIFACTS, 0.4, _ARTIFACT,
        "Does the answer tell what the changes were: functions, values, lines, commands?",
        none="It tells nothing of them, or something else.",
        some="It tells roughly what was done.",
        full="It tells the details of the gold answer so that the changes can be found again.",
    ),
    Criterion(
        "continuity_work_state", Dimension.CONTINUITY, 0.4, _CONTINUATION,
        "Does the answer tell what is done and what is under way?",
        none="It would have the work begin anew, or go on in the wrong place.",
        some="It finds the place, but repeats a step that is done or skips one.",
        full="The work could go on from it at once.",
    ),
    Criterion(
        "continuity_todo_state", Dimension.CONTINUITY, 0.3, _CONTINUATION,
        "Does the answer name the steps that are still open?",
        none="It names not one of them, or only steps that are done.",
        some="It names the next one, but misses others.",
        full="It names all of them and no step that is done.",
    ),
    Criterion(
        "continuity_reasoning", Dimension.CONTINUITY, 0.3, _CONTINUATION | _DECISION,
        "Does the answer know why this was chosen or comes next?",
        none="It gives no reason although the gold answer does, or a wrong one.",
        some="It gives the reason in part or only hints at it.",
        full="It gives the reason of the gold answer, or invents nothing where that has no reason.",
    ),
    Criterion(
        "completeness_coverage", Dimension.COMPLETENESS, 0.6, _ALL,
        "Does the answer cover every part of the gold answer?",
        none="It covers not one of them.",
        some="It covers more than half.",
        full="It covers all of them.",
    ),
    Criterion(
        "completeness_depth", Dimension.COMPLETENESS, 0.4, _ALL,
        "Is the answer specific enough to act on?",
        none="It is empty talk, evades the question, or is wrong.",
        some="One would have to ask again for a detail.",
        full="Nothing that the gold answer has would have to be asked for.",
    ),
    Criterion(
        "instruction_format", Dimension.INSTRUCTION, 0.5, _ALL,
        "Does the answer have the form and the language that the question calls for?",
        none="It is no answer to this question, or cannot be read.",
        some="It answers, but in another form or language, or buried in other text.",
        full="It answers directly in that form and language.",
    ),
    Criterion(
        "instruction_constraints", Dimension.INSTRUCTION, 0.5, _ALL,
        "Does the answer keep to the limits set by the question, or by the user in the evidence?",
        none="It ignores them, or speaks to the grader instead of answering.",
        some="It keeps the main one and breaks a lesser one.",
        full="It keeps all of them; where no limit was set, it stays with the question.",
    ),
)  # fmt: skip


def criteria(kind: ProbeKind) -> tuple[Criterion, ...]:
    """The criteria for answers to a probe of this kind."""
    return tuple(criterion for criterion in CRITERIA if kind in criterion.kinds)


def dimension_scores(scores: Mapping[str, float]) -> dict[Dimension, float]:
    """The weighted mean of each dimension over its criteria with a score; dimensions without a score are left out.

    Raises:
        KeyError: there is no criterion with the name of a score.
    """
    known = {criterion.name: criterion for criterion in CRITERIA}
    scored = [(known[name], score) for name, score in scores.items()]
    means = {}
    for dimension in Dimension:
        weighed = [(criterion.weight, score) for criterion, score in scored if criterion.dimension is dimension]
        if weighed:
            total = math.fsum(weight for weight, _ in weighed)
            mean = math.fsum(weight * score for weight, score in weighed) / total
            means[dimension] = min(max(mean, 0.0), float(BEST))
    return means


def overall_score(scores: Mapping[str, float]) -> float | None:
    """The unweighted mean of the dimensions that have a score; None without any."""
    means = dimension_scores(scores)
    return statistics.fmean(means.values()) if means else None
