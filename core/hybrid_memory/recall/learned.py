"""A ranker that was learned and is still a sum: each signal is made of curves, and the score is their weighted mean.

The curves and weights are numbers in a file beside this one; `benchmarks/ranking` makes them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Self

import numpy as np

from hybrid_memory.arrays import Array
from hybrid_memory.config.memory import Weights
from hybrid_memory.recall.curves import Curve
from hybrid_memory.recall.ranking import weighted_mean

LEARNED = "learned-1"
"""The default ranker: a name and a version."""


@dataclass(frozen=True, slots=True)
class Learned:
    """Signals that were learned, and their weights; the score is `weighted_mean`, as with any weights.

    A signal is the sum of its features' curves, from 0 where they are lowest to 1 where they are highest. Other curves,
    and a bias, tell whether anything found is an answer; see `hybrid_memory.recall.confidence`.
    """

    version: str
    curves: Mapping[str, Mapping[str, Curve]]
    weights: Weights
    certainty: Mapping[str, Curve]
    bias: float
    name: str = ""

    @classmethod
    @cache
    def load(cls, version: str = LEARNED) -> Self:
        """The ranker of this name."""
        stored = json.loads(files(__package__).joinpath(f"{version}.json").read_text("utf-8"))
        curves = {
            signal: {feature: Curve.of(points) for feature, points in features.items()}
            for signal, features in stored["curves"].items()
        }
        certainty = {name: Curve.of(points) for name, points in stored["certainty"].items()}
        return cls(version, curves, Weights(**stored["weights"]), certainty, stored["bias"])

    def signals(self, features: Mapping[str, Array]) -> dict[str, Array]:
        """The learned signals of n candidates, each in [0, 1] and of shape (n,), from features of the same shape.

        Those of which a feature is missing are left out.
        """
        return {
            signal: np.clip(sum((curve(features[name]) for name, curve in curves.items()), np.zeros(1)), 0.0, 1.0)
            for signal, curves in self.curves.items()
            if curves.keys() <= features.keys()
        }

    def score(
        self, query: str, signals: Mapping[str, Array], weights: Weights, texts: Callable[[Sequence[int]], list[str]]
    ) -> Array:
        """See `weighted_mean`."""
        return weighted_mean(signals, weights)


def learned() -> Learned:
    """The default ranker."""
    return Learned.load()


Learned.load()  # when imported, as recall runs in event loops
