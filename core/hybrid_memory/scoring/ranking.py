"""The score of a candidate, and the order of candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import numpy as np
import numpy.typing as npt

from hybrid_memory.scoring.signals import Array
from hybrid_memory.types import Weights


def weighted_mean(signals: Mapping[str, Array], weights: Weights) -> Array:
    """``sum(weight * signal) / sum(weights)`` over the fields of `Weights`; zeros if no weight is set."""
    by_name = asdict(weights)
    total = sum(by_name.values())
    scores: Array = (
        sum(weight * signals[name] for name, weight in by_name.items() if weight) / total if total else np.zeros(0)
    )
    return scores


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
