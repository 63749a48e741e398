"""What a judge says: the grade of one answer, the verdict on two."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from hybrid_memory.apps.evaluation.judging.rubric import Dimension, dimension_scores, overall_score

Winner = Literal["one", "other", "tie"]


@dataclass(frozen=True, slots=True)
class Grade:
    """The scores of one answer.

    Attributes:
        scores: in [0, 5] by the names of criteria; none if it failed.
        reasons: that were given for them, by the same names.
        malformed: how often the model failed or answered what could not be used.
        failed: it was not graded, since the last try was malformed too.
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


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which of two answers is better, asked for in both orders.

    Attributes:
        winner: a tie, too, where the two orders disagree or it failed.
        consistent: both orders name the same winner.
        malformed: how often the model failed or answered what could not be used.
        failed: one of the orders was not judged, since its last try was malformed too.
    """

    winner: Winner
    consistent: bool
    malformed: int = 0
    failed: bool = False

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """The verdict that `as_dict` wrote."""
        return cls(**values)
