"""Curves that tell whether a question is answered by what was found: learned from questions put to a foreign store.

A logistic regression over the curves of `hybrid_memory.recall.recall.evidence`. In every set questions of its own
and foreign ones weigh the same, so that a share of one half means: as many such questions are answered as not.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import minimize

from benchmarks.ranking.collect import Asked
from benchmarks.ranking.learn import Model, bends_of, hats, knots_of
from hybrid_memory.arrays import Array
from hybrid_memory.recall.recall import answered, evidence
from hybrid_memory.recall.signals import Curve

LEAST = 0.2
"""The confidence that counts as an answer; prompts say where no turn reaches it."""

RIDGE = 1.0
BENDS = 5.0
UNANSWERED = 0.2
"""The weight of questions that only seem to belong here, which no cue of form tells from others."""


@dataclass(slots=True)
class Certainty:
    """What was learned."""

    curves: dict[str, Curve]
    bias: float

    def __call__(self, asked: Asked, scores: Array) -> float:
        """The probability that the question is answered."""
        return answered(evidence(asked.features, scores), self.curves, self.bias)


def learn_certainty(questions: Sequence[Asked], model: Model) -> Certainty:
    """From questions that are answered, and others, by what the ranker finds."""
    told = [evidence(one.features, model.normal(one)) for one in questions]
    names = list(told[0])
    columns = [np.array([one[name] for one in told]) for name in names]
    knots = [knots_of(column) for column in columns]
    design = np.concatenate([np.ones((len(told), 1)), *map(hats, columns, knots)], axis=1)
    yes = np.array([float(one.kind == "own") for one in questions])
    counts = Counter((one.set, one.kind) for one in questions)
    each = np.array([100.0 / counts[one.set, one.kind] * _weight(one.kind) for one in questions])
    penalty = RIDGE * np.eye(design.shape[1]) + BENDS * bends_of([1, *map(len, knots)])
    penalty[0, 0] = 0.0

    def loss(solution: Array) -> tuple[float, Array]:
        chance = 1 / (1 + np.exp(-np.clip(design @ solution, -40, 40)))
        lost = -float(np.sum(each * (yes * np.log(chance + 1e-12) + (1 - yes) * np.log(1 - chance + 1e-12))))
        return lost + 0.5 * float(solution @ penalty @ solution), design.T @ (
            each * (chance - yes)
        ) + penalty @ solution

    solved = minimize(loss, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    ends = np.cumsum([1, *map(len, knots)])
    worth = [solved[start:end] for start, end in pairwise(ends)]
    return Certainty(
        {name: Curve(*pair) for name, pair in zip(names, zip(knots, worth, strict=True), strict=True)}, float(solved[0])
    )


def _weight(kind: str) -> float:
    return UNANSWERED if kind == "none" else 1.0


def auroc(yes: Sequence[float], no: Sequence[float]) -> float:
    """The probability that one of the first has more than one of the others; ties count one half."""
    pairs = np.array(yes)[:, None] - np.array(no)[None, :]
    return float(np.mean((pairs > 0) + 0.5 * (pairs == 0)))
