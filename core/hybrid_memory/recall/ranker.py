"""The default ranker, and the order of hits by age and variety."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array
from hybrid_memory.config.memory import Weights

ALIKE = 0.15
COMPARABLE = 0.6


def weighted_mean(signals: Mapping[str, Array], weights: Weights) -> Array:
    """``sum(weight * signal) / sum(weights)`` over the fields of `Weights`; zeros if no weight is set."""
    by_name = asdict(weights)
    scores = np.zeros(len(signals["vector"]))
    for name, weight in by_name.items():
        if weight:
            scores += weight * signals[name]
    return scores / (sum(by_name.values()) or 1.0)


class WeightedMean:
    """The default `Ranker`: ``0.7 * vector + 0.3 * text`` and the named adjustments."""

    name = ""

    def score(
        self,
        query: str,
        signals: Mapping[str, Array],
        weights: Weights,
        texts: Callable[[Sequence[int]], list[str]],
    ) -> Array:
        """See `weighted_mean`."""
        return weighted_mean(signals, weights)


def newest_first(
    likeness: npt.NDArray[np.floating], scores: Array, age: Array, apart: npt.NDArray[np.bool_], average: float
) -> npt.NDArray[np.int64]:
    """Row numbers of hits, best first, with the newer of two that say much the same put before the older.

    Two say much the same if they are apart, and ``(likeness - average) / (1 - average)`` is `ALIKE` or more; the newer
    one must score `COMPARABLE` of the older. See docs/decisions/0017.

    Args:
        likeness: inner products of unit vectors, of shape (n, n).
        scores: best first, of shape (n,).
        age: of each, in any unit, distinct; of shape (n,).
        apart: whether two were said on different occasions, of shape (n, n).
        average: of the inner products of any two records.
    """
    near = (likeness - average) >= ALIKE * (1 - average)
    newer = age[None, :] < age[:, None]
    before = near & apart & newer & (scores[None, :] >= COMPARABLE * scores[:, None])
    order: list[int] = []
    for row in range(len(scores)):
        # The first place at which something older stands that it replaces.
        place = next((place for place, other in enumerate(order) if before[other, row]), len(order))
        order.insert(place, row)
    return np.array(order, dtype=np.int64)


def diverse(scores: Array, similarity: npt.NDArray[np.floating], k: int, diversity: float) -> npt.NDArray[np.int64]:
    """Row numbers of the k best by maximal marginal relevance (Carbonell and Goldstein 1998).

    Repeatedly the row with the highest ``(1 - diversity) * score - diversity * max(similarity to a chosen row)``.
    """
    chosen: list[int] = []
    nearest = np.zeros(len(scores))
    left = np.ones(len(scores), dtype=bool)
    while len(chosen) < min(k, len(scores)):
        gain = np.where(left, (1 - diversity) * scores - diversity * nearest, -np.inf)
        row = int(gain.argmax())
        chosen.append(row)
        left[row] = False
        nearest = np.maximum(nearest, similarity[row])
    return np.array(chosen, dtype=np.int64)
