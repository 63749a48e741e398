"""Curves and weights that put evidence first, learned from questions with their candidates.

The score of a candidate is ``0.7 * vector + 0.3 * text`` times one weight, and a curve of every other feature:
straight lines between at most `KNOTS` quantiles of it. What is minimised is the cross-entropy of each piece of evidence
against all candidates that are none (Cao et al. 2007, "Learning to rank: from pairwise approach to listwise approach"),
with a ridge, and a penalty on bends. All of it is convex but for questions with several pieces of evidence, and takes
seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import minimize

from benchmarks.ranking.collect import Asked
from hybrid_memory.arrays import Array, Floats
from hybrid_memory.recall.signals import ROUNDING, Curve

SIGNALS: Mapping[str, tuple[str, ...]] = {
    "coverage": ("covered", "phrase"), "neighbours": ("around", "words after", "answers"), "segment": ("segment",),
    "statement": ("empty", "asks", "repeats"), "speaker": ("named", "assistant", "assistant of yours"),
    "kind": ("times", "numbers", "time for a time", "number for a number"), "importance": ("importance",),
    "temporal": ("in time",),
}  # fmt: skip
"""The features that each learned signal is made of."""

FADING = frozenset({"neighbours", "segment", "importance"})
"""Signals that count less where turns are long."""

KNOTS = 6
DIGITS = 5
"""Of what is stored: knots must not fall together when they are written."""

RIDGE = 2.0
BENDS = 10.0

FEATURES = tuple((signal, feature) for signal, features in SIGNALS.items() for feature in features)


@dataclass(slots=True)
class Model:
    """What was learned: the weight of relevance, and the worth of each feature at its knots."""

    relevance: float
    knots: list[Array]
    worth: list[Array]

    def scores(self, asked: Asked) -> Array:
        """The score of each candidate, not brought to [0, 1]."""
        total = self.relevance * relevance(asked)
        for (signal, feature), knots, worth in zip(FEATURES, self.knots, self.worth, strict=True):
            fade = asked.features["brevity"] if signal in FADING else 1.0
            total = total + fade * np.interp(asked.features[feature], knots, worth)
        return np.asarray(total)

    def normal(self, asked: Asked) -> Array:
        """The scores in [0, 1], as recall has them where nothing is quoted, outdated or decided by time."""
        signals, weights = self.curves()
        total, most = relevance(asked), np.ones(len(asked.labels))
        for signal, weight in weights.items():
            if signal == "temporal" and not np.any(asked.features["in time"]):
                continue
            fade = asked.features["brevity"] if signal in FADING else np.ones(len(asked.labels))
            worth = np.sum([np.interp(asked.features[name], *curve) for name, curve in signals[signal].items()], axis=0)
            if np.ptp(worth) > ROUNDING:
                total, most = total + weight * fade * np.clip(worth, 0, 1), most + weight * fade
        return np.asarray(total / most)

    def curves(self) -> tuple[dict[str, dict[str, Curve]], dict[str, float]]:
        """Curves whose sum is 0 to 1 in each signal, and the signals' weights beside 0.7 and 0.3."""
        curves: dict[str, dict[str, Curve]] = {}
        weights: dict[str, float] = {}
        for signal in SIGNALS:
            mine = [row for row, (name, _) in enumerate(FEATURES) if name == signal]
            spread = sum(float(np.ptp(self.worth[row])) for row in mine)
            weights[signal] = spread / self.relevance
            curves[signal] = {
                FEATURES[row][1]: Curve(self.knots[row], (self.worth[row] - self.worth[row].min()) / (spread or 1.0))
                for row in mine
            }
        return curves, weights


def relevance(asked: Asked) -> Array:
    """``0.7 * vector + 0.3 * text``."""
    return np.asarray(0.7 * asked.features["vector"] + 0.3 * asked.features["text"])


def learn(questions: Sequence[Asked]) -> Model:
    """The model of these questions; those without evidence among their candidates teach nothing."""
    known = [one for one in questions if one.labels.any() and not one.labels.all()]
    columns = [np.concatenate([one.features[feature] for one in known]) for _, feature in FEATURES]
    knots = [knots_of(column) for column in columns]
    fading = np.concatenate([one.features["brevity"] for one in known])
    blocks = [np.concatenate([relevance(one) for one in known])[:, None]]
    for (signal, _), column, places in zip(FEATURES, columns, knots, strict=True):
        block = hats(column, places)
        blocks.append(block * fading[:, None] if signal in FADING else block)
    design = np.concatenate(blocks, axis=1).astype(np.float32)
    penalty = RIDGE * np.eye(design.shape[1]) + BENDS * bends_of([1, *map(len, knots)])
    penalty[0, 0] = 0.0
    solved = _solved(design, known, penalty)
    ends = np.cumsum([1, *map(len, knots)])
    worth = [solved[start:end] for start, end in pairwise(ends)]
    return Model(float(solved[0]), knots, worth)


def knots_of(column: Array) -> Array:
    """At most `KNOTS` values of a feature, between which its curve is straight."""
    values = np.unique(np.round(column, DIGITS))
    return (
        values if len(values) <= KNOTS else np.unique(np.round(np.quantile(column, np.linspace(0, 1, KNOTS)), DIGITS))
    )


def hats(column: Array, knots: Array) -> Array:
    """How much of each knot's worth a value has, of shape (n, knots)."""
    if len(knots) == 1:
        return np.ones((len(column), 1))
    return np.stack([np.interp(column, knots, unit) for unit in np.eye(len(knots))], axis=1)


def bends_of(sizes: Sequence[int]) -> Array:
    """The sum of squares of second differences along each curve, as a matrix."""
    rows, start = [], 0
    for size in sizes:
        for place in range(start, start + size - 2):
            row = np.zeros(sum(sizes))
            row[place : place + 3] = 1.0, -2.0, 1.0
            rows.append(row)
        start += size
    bends = np.array(rows)
    return np.asarray(bends.T @ bends)


def _solved(design: Floats, questions: Sequence[Asked], penalty: Array) -> Array:
    sizes = [len(one.labels) for one in questions]
    starts = np.cumsum([0, *sizes[:-1]])
    row_of = np.repeat(np.arange(len(questions)), sizes)
    wanted = np.concatenate([one.labels for one in questions]) > 0
    share = np.where(wanted, (1 / np.add.reduceat(wanted.astype(float), starts))[row_of], 0.0)

    def loss(solution: Array) -> tuple[float, Array]:
        scores = (design @ solution.astype(np.float32)).astype(np.float64)
        exponents = np.exp(np.maximum(scores - np.maximum.reduceat(scores, starts)[row_of], -60.0))
        others = np.add.reduceat(np.where(wanted, 0.0, exponents), starts)[row_of]
        chance = exponents / (exponents + others)
        slope = share * (chance - 1) + np.where(
            wanted, 0.0, exponents * np.add.reduceat(share / (exponents + others), starts)[row_of]
        )
        lost = -float(np.sum(share[wanted] * np.log(chance[wanted] + 1e-12)))
        gradient = (design.T @ slope.astype(np.float32)).astype(np.float64)
        return lost + 0.5 * float(solution @ penalty @ solution), gradient + penalty @ solution

    start = np.zeros(design.shape[1])
    start[0] = 1.0
    bounds = [(1e-3, None)] + [(None, None)] * (len(start) - 1)
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 300}).x)
