"""A learned ranker that is still a sum: each signal is made of curves, and the score is their weighted mean.

Curves and weights are numbers in a file of this package; `benchmarks/ranking` fits them.
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
    """Learned signals and their weights; the score is `weighted_mean`, as with any weights.

    A signal is the sum of its features' curves, scaled from 0 at their lowest to 1 at their highest. Further curves and
    a bias give the confidence; see `hybrid_memory.recall.confidence`.
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
        """The ranker with this name."""
        stored = json.loads(files(__package__).joinpath(f"{version}.json").read_text("utf-8"))
        curves = {
            signal: {feature: Curve.of(points) for feature, points in features.items()}
            for signal, features in stored["curves"].items()
        }
        certainty = {name: Curve.of(points) for name, points in stored["certainty"].items()}
        return cls(version, curves, Weights(**stored["weights"]), certainty, stored["bias"])

    def signals(self, features: Mapping[str, Array]) -> dict[str, Array]:
        """The learned signals of n candidates, each in [0, 1] and of shape (n,), from features of the same shape.

        Signals with a missing feature are left out.
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
