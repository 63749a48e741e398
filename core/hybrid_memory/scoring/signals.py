"""Raw search scores and facts about records, each brought to a signal in [0, 1]; arrays of shape (n,)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def vector_signal(cosines: Array) -> Array:
    """Min-max over the candidates."""
    known = np.isfinite(cosines)
    if not known.any():
        return np.zeros(len(cosines))
    low, high = cosines[known].min(), cosines[known].max()
    spread = high - low
    scaled = np.ones(len(cosines)) if spread <= 0 else (cosines - low) / spread
    return np.where(known, scaled, 0.0)


def text_signal(bm25: Array) -> Array:
    """Share of the best candidate's score."""
    high = bm25.max(initial=0.0)
    return bm25 / high if high > 0 else np.zeros(len(bm25))


def recency_signal(age: Array, half_life: float) -> Array:
    """``0.5 ** (age / half_life)``, both in seconds; what lies ahead counts as now."""
    return np.asarray(0.5 ** (np.maximum(age, 0.0) / half_life))


def use_signal(uses: npt.NDArray[np.int64]) -> Array:
    """``1 - 1 / (1 + uses)``: the first uses count most."""
    return 1.0 - 1.0 / (1.0 + uses.astype(np.float64))


def neighbour_signal(relevance: Array, segments: npt.NDArray[np.int64], ordinals: npt.NDArray[np.int64]) -> Array:
    """Mean relevance of the turns just before and after in the same segment, among the candidates; 0 where none is."""
    order = np.lexsort((ordinals, segments))
    total, count = np.zeros(len(relevance)), np.zeros(len(relevance))
    here, there = order[1:], order[:-1]
    adjacent = (segments[here] == segments[there]) & (ordinals[here] - ordinals[there] == 1)
    here, there = here[adjacent], there[adjacent]
    np.add.at(total, here, relevance[there])
    np.add.at(count, here, 1)
    np.add.at(total, there, relevance[here])
    np.add.at(count, there, 1)
    return total / np.maximum(count, 1)


def segment_signal(relevance: Array, segments: npt.NDArray[np.int64], best: int = 3) -> Array:
    """Mean of the best relevances in the same segment."""
    out = np.zeros(len(relevance))
    for segment in np.unique(segments):
        members = segments == segment
        top = np.sort(relevance[members])[::-1][:best]
        out[members] = top.sum() / best
    return out
