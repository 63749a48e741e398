"""Grades, their means, and how far the judge can be trusted."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import statistics
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Self, TypeVar

from hybrid_memory_evaluation.judging.rubric import CRITERIA, Dimension, dimension_scores, overall_score

CaseT = TypeVar("CaseT", bound=tuple[str | int, ...])


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean and the spread of its values.

    Attributes:
        mean: in [0, 5].
        spread: the sample standard deviation of the values; 0 for a single one.
        n: the number of values.
    """

    mean: float
    spread: float
    n: int


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one method's answers, over all probes and repeats.

    Attributes:
        criteria: by name, over the grades with a score for the criterion.
        dimensions: by name, over the weighted means of the grades that have the dimension.
        overall: its mean is the unweighted mean of the dimensions' means, its spread that of the overall scores of
            single grades; None if no answer was graded.
        n: the number of grades with scores.
        failed: the number of grades without.
        malformed: the number of unusable answers of the judge.
    """

    criteria: dict[str, Mean]
    dimensions: dict[Dimension, Mean]
    overall: Mean | None
    n: int
    failed: int
    malformed: int


class Agreement(NamedTuple):
    """How often the judge agreed with known results: the share, in [0, 1], and the number of pairs."""

    share: float
    pairs: int


def scored(grades: Sequence[Grade]) -> Scores:
    """The scores from the grades of one method; failed grades are counted, but not part of any mean."""
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
        overall=Mean(statistics.fmean(one.mean for one in dimensions.values()), _deviation(overall), len(overall))
        if overall
        else None,
        n=len(graded),
        failed=len(grades) - len(graded),
        malformed=sum(grade.malformed for grade in grades),
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


def order(cases: Iterable[CaseT], seed: int) -> list[CaseT]:
    """The cases, such as (transcript, probe, method, repeat), in a random order determined by the seed.

    The order of two cases depends only on themselves and the seed, so that it does not change when an evaluation
    continues with more cases. Duplicates stay.
    """
    return sorted(cases, key=lambda case: _drawn(seed, *case))


def agreement(graded: Iterable[tuple[Hashable, float, Grade]]) -> Agreement | None:
    """How often the judge scored an answer with the gold higher for accuracy than one without it.

    The items are (probe, the share of its keys in the answer, grade). All pairs of answers to the same probe are
    compared of which one contains all keys and the other does not; equal scores count half, so guessing gives 0.5, as
    in the area under a ROC curve. None without such a pair.
    """
    by_probe: dict[Hashable, tuple[list[float], list[float]]] = {}
    for probe, found, grade in graded:
        accuracy = grade.dimensions.get(Dimension.ACCURACY)
        if accuracy is not None:
            by_probe.setdefault(probe, ([], []))[found < 1].append(accuracy)
    compared = [pair for right, wrong in by_probe.values() for pair in itertools.product(right, wrong)]
    if not compared:
        return None
    return Agreement(statistics.fmean((a > b) + (a == b) / 2 for a, b in compared), len(compared))


def _estimate(values: Sequence[float]) -> Mean:
    return Mean(math.fsum(values) / len(values), _deviation(values), len(values))


def _deviation(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def _drawn(seed: int, *names: str | int) -> bytes:
    return hashlib.blake2b(json.dumps([seed, *names]).encode(), digest_size=16).digest()


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

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """The grade that `as_dict` wrote."""
        return cls(**values)
