"""The rubric, grades and their means, and how far the judge can be trusted.

The rubric has six dimensions of two or three criteria each.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import statistics
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from hybrid_memory_evaluation.probing.probe import ProbeKind

CaseT = TypeVar("CaseT", bound=tuple[str | int, ...])


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean and the spread of its values.

    Attributes:
        mean: in [0, 5].
        spread: the sample standard deviation of the values; 0 for a single one.
    """

    mean: float
    spread: float


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one method's answers, over all probes and repeats.

    Attributes:
        criteria: by name, over the grades with a score for the criterion.
        dimensions: by name, over the weighted means of the grades that have the dimension.
        overall: its mean is the unweighted mean of the dimensions' means, its spread that of the overall scores of
            single grades; None if no answer was graded.
    """

    criteria: dict[str, Mean]
    dimensions: dict[Dimension, Mean]
    overall: Mean | None


def scored(grades: Sequence[Grade]) -> Scores:
    """The scores from the grades of one method; failed grades are part of no mean."""
    graded = [grade for grade in grades if not grade.failed]
    by_criterion = {
        criterion.name: [grade.scores[criterion.name] for grade in graded if criterion.name in grade.scores]
        for criterion in CRITERIA
    }
    reached = [grade.dimensions for grade in graded]
    by_dimension = {name: [means[name] for means in reached if name in means] for name in Dimension}
    dimensions = {name: _estimate(values) for name, values in by_dimension.items() if values}
    overall = [value for grade in graded if (value := grade.overall) is not None]
    return Scores(
        criteria={name: _estimate(values) for name, values in by_criterion.items() if values},
        dimensions=dimensions,
        overall=Mean(statistics.fmean(one.mean for one in dimensions.values()), _deviation(overall))
        if overall
        else None,
    )


def noise(repeats: Iterable[Sequence[Grade]]) -> float | None:
    """The standard deviation of the overall score between grades of one answer, pooled over all answers.

    Each sequence contains the grades of one answer; None if no answer was graded twice.
    """
    squares, free = [], 0
    for grades in repeats:
        values = [value for grade in grades if (value := grade.overall) is not None]
        if len(values) > 1:
            squares.append(statistics.variance(values) * (len(values) - 1))
            free += len(values) - 1
    return math.sqrt(math.fsum(squares) / free) if free else None


def order(cases: Iterable[CaseT]) -> list[CaseT]:
    """The cases, such as (transcript, probe, method, repeat), in a random order.

    The order of two cases depends only on themselves, so that it does not change when an evaluation continues with more
    cases.
    """
    return sorted(cases, key=lambda case: hashlib.blake2b(json.dumps(case).encode(), digest_size=16).digest())


def agreement(graded: Iterable[tuple[Hashable, float, Grade]]) -> tuple[float | None, int]:
    """How often the judge scored an answer with the gold higher for accuracy than one without it.

    The items are (probe, the share of its keys in the answer, grade). All pairs of answers to the same probe are
    compared of which one contains all keys and the other does not; equal scores count half, so guessing gives 0.5, as
    in the area under a ROC curve. The share comes with the number of pairs; without one it is None.
    """
    by_probe: dict[Hashable, tuple[list[float], list[float]]] = {}
    for probe, found, grade in graded:
        accuracy = grade.dimensions.get(Dimension.ACCURACY)
        if accuracy is not None:
            by_probe.setdefault(probe, ([], []))[found < 1].append(accuracy)
    compared = [pair for right, wrong in by_probe.values() for pair in itertools.product(right, wrong)]
    share = statistics.fmean((a > b) + (a == b) / 2 for a, b in compared) if compared else None
    return share, len(compared)


def _estimate(values: Sequence[float]) -> Mean:
    return Mean(math.fsum(values) / len(values), _deviation(values))


def _deviation(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


@dataclass(frozen=True, slots=True)
class Grade:
    """The scores of one answer.

    Attributes:
        scores: in [0, 5] by the names of criteria; empty if grading failed.
        reasons: the reasons for the scores, by the same names.
        malformed: how often the model failed or gave an unusable answer.
        failed: whether it was not graded, since the last try was malformed too.
    """

    scores: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    malformed: int = 0
    failed: bool = False

    @property
    def dimensions(self) -> dict[Dimension, float]:
        """The weighted mean of each dimension that has a score, in [0, 5]."""
        return dimension_scores(self.scores)

    @property
    def overall(self) -> float | None:
        """The unweighted mean of the dimensions, in [0, 5]; None if it failed."""
        return overall_score(self.scores)


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
