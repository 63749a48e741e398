"""Learned curves that map a feature to its worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from hybrid_memory.arrays import Array


@dataclass(frozen=True, slots=True)
class Curve:
    """A piecewise linear curve, constant beyond the first and the last knot.

    Attributes:
        knots: ascending values of a feature; worth: the worth at each of them.
    """

    knots: Array
    worth: Array

    @classmethod
    def of(cls, points: Sequence[Sequence[float]]) -> Self:
        """The curve through these knots, with these values."""
        knots, worth = points
        return cls(np.array(knots, dtype=np.float64), np.array(worth, dtype=np.float64))

    def __call__(self, feature: Array) -> Array:
        """The worth of each value, of shape (n,)."""
        return np.asarray(np.interp(feature, self.knots, self.worth))

    def points(self, digits: int = 5) -> list[list[float]]:
        """Knots and values as plain numbers."""
        return [[round(float(value), digits) for value in part] for part in (self.knots, self.worth)]
