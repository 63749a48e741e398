"""Converts search scores to signals in [0, 1], the default ranker, and the order of hits by age and variety.

Pure functions over the candidates of one query, arrays of shape (n,). See docs/decisions/0003 for measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array, Numbers
from hybrid_memory.config.memory import Weights

CENTRING = 0.6
CENTRING_PRIOR = 100.0
BRIEF_CHARS = 250.0
SECOND_NEIGHBOUR = 0.5
BEST_OF_SEGMENT = 2
DAY = 86_400.0
FEW = 4
STANDS_OUT = 0.13
"""With fewer records than this, an average is only informative about a record that stands out."""
ROUNDING = 1e-6
"""Similarities that differ less are equal, as they are 32-bit floats."""


def centred(query: Array, centroid: Array, count: int) -> Array:
    """The query vector minus a share of what all records of the owner have in common; shape (dim,), not unit.

    ``q - 0.6 * n / (n + 100) * centroid``, where the centroid is the plain mean of the owner's n unit vectors. Records
    that resemble everything ("Wow, that's great!") are then no longer near every question. The prior reduces the effect
    in small stores, where the mean is the topic itself.
    """
    return query - CENTRING * count / (count + CENTRING_PRIOR) * centroid


def vector_signal(similarity: Array, average: Array | float) -> Array:
    """``0.5 + 0.5 * (s - average) / (max - average)``, clipped: 1 for the best, 0.5 for an average record of the owner.

    Unlike min-max, the scale does not depend on the number of candidates. NaN (no vector yet) counts as average, so
    that new records are found by their words; if none has a vector, all are 0.
    """
    known = np.isfinite(similarity)
    if not known.any():
        return np.zeros(len(similarity))
    spread = float(similarity[known].max()) - np.broadcast_to(average, similarity.shape)
    scaled = np.where(spread > ROUNDING, 0.5 + 0.5 * (similarity - average) / np.maximum(spread, ROUNDING), 0.5)
    return np.where(known, np.clip(np.nan_to_num(scaled), 0.0, 1.0), 0.5)


def absolute_similarity(similarity: Array, average: Array, same: Array, count: Numbers) -> Array:
    """``(s - average) / (same - average) * n / (n - 1)``: 0 for an average record, 1 for the query's own words.

    Unlike the vector signal, it does not depend on the best result. The last factor excludes a record from the average
    it is compared with. NaN without a vector or other records, and with few records for one that does not stand out.

    Args:
        similarity: of each record to the query, as inner product.
        average: the mean similarity of all n records of the same owner.
        same: the similarity of the query to itself.
        count: n.
    """
    known = (count > 1) & (same - average > ROUNDING)
    scale = np.where(known, (same - average) * (1 - 1 / np.maximum(count, 2)), np.nan)
    near = np.asarray((similarity - average) / scale)
    return np.where((count < FEW) & (near < STANDS_OUT), np.nan, near)


def text_signal(bm25: Array) -> Array:
    """``bm25 / max``: 1 for the best match, 0 without a common word."""
    best = float(bm25.max(initial=0.0))
    return bm25 / best if best > 0 else np.zeros(len(bm25))


def brevity(lengths: Numbers) -> float:
    """``min(1, 250 / mean characters) ** 2``: how much the candidates resemble short chat turns, in (0, 1].

    Short turns need their context to be understood; essays do not, and their neighbours would only raise irrelevant
    records. Scales the weights of neighbours, segment and importance.
    """
    mean = float(lengths.mean()) if len(lengths) else 0.0
    return min(1.0, BRIEF_CHARS / mean) ** 2 if mean > 0 else 1.0


def neighbour_signal(relevance: Array, segments: Numbers, ordinals: Numbers, average: float) -> Array:
    """``(near + 0.5 * far) / 1.5``: mean relevance of the turns one and two places before and after, in the segment.

    Places without a candidate count as ``average``.
    """
    around = (beside(relevance, segments, ordinals, step, absent=average) for step in (-1, 1, -2, 2))
    before, after, further_before, further_after = around
    near, far = (before + after) / 2, (further_before + further_after) / 2
    return np.asarray((near + SECOND_NEIGHBOUR * far) / (1 + SECOND_NEIGHBOUR))


def beside(signal: Array, segments: Numbers, ordinals: Numbers, step: int, *, absent: float = 0.0) -> Array:
    """The signal of the record this many places on, at most 2, in the same segment; ``absent`` if there is none."""
    if not len(signal):
        return np.zeros(0)
    keys = segments * (int(ordinals.max()) + 5) + ordinals + 2
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    place = np.minimum(np.searchsorted(ordered, keys + step), len(keys) - 1)
    return np.where(ordered[place] == keys + step, signal[order[place]], absent)


def segment_signal(relevance: Array, segments: Numbers) -> Array:
    """The mean of the two highest relevances in the record's segment; of a segment of one, its own."""
    if not len(relevance):
        return np.zeros(0)
    _, inverse = np.unique(segments, return_inverse=True)
    order = np.lexsort((-relevance, inverse))
    group = inverse[order]
    starts = np.searchsorted(group, np.arange(group[-1] + 1))
    kept = np.arange(len(group)) - starts[group] < BEST_OF_SEGMENT
    total = np.bincount(group[kept], weights=relevance[order][kept])
    return np.asarray((total / np.bincount(group[kept]))[inverse])


def recency_signal(age: Array, half_life: float) -> Array:
    """``0.5 ** (age / half_life)``, both in seconds; future times count as now."""
    return np.asarray(0.5 ** (np.maximum(age, 0.0) / half_life))


def use_signal(uses: Numbers, since_last: Array, half_life: float) -> Array:
    """``(1 - 1 / (1 + uses)) * 0.5 ** (since_last / half_life)``: the first uses count most, and fade unless repeated.

    Times in seconds.
    """
    return np.asarray((1.0 - 1.0 / (1.0 + uses)) * recency_signal(since_last, half_life))


def temporal_signal(at: Array, spans: Sequence[tuple[float, float]]) -> Array:
    """``0.5 ** (distance / max(length, 1 day))`` of the nearest span: 1 inside it, 0.5 one length away.

    Events of "last week" are often mentioned a little later. All times in seconds since 1970; spans are half-open.
    """
    signal = np.zeros(len(at))
    for since, until in spans:
        distance = np.maximum(np.maximum(since - at, at - until), 0.0)
        signal = np.maximum(signal, np.exp2(-distance / max(until - since, DAY)))
    return signal


def told_after(at: Array, spans: Sequence[tuple[float, float]], margin: float) -> Array:
    """1 inside one of the spans, falling to 0 at ``margin`` after it, and 0 before; all in seconds."""
    signal = np.zeros(len(at))
    for since, until in spans:
        after = np.clip(1.0 - np.maximum(at - until, 0.0) / margin, 0.0, 1.0)
        signal = np.maximum(signal, np.where(at < since, 0.0, after))
    return signal


ALIKE = 0.15
COMPARABLE = 0.8


def weighted_mean(signals: Mapping[str, Array], weights: Weights) -> Array:
    """``sum(weight * signal) / sum(weights)`` over the fields of `Weights`; zeros if no weight is set."""
    by_name = asdict(weights)
    scores = np.zeros(len(signals["vector"]))
    for name, weight in by_name.items():
        if weight:
            scores += weight * signals[name]
    return scores / (sum(by_name.values()) or 1.0)


class WeightedMean:
    """The `Ranker` of version 0.9: ``0.7 * vector + 0.3 * text``, adjusted by the other signals."""

    name = ""
    weights = Weights.fixed()

    def score(
        self, query: str, signals: Mapping[str, Array], weights: Weights, texts: Callable[[Sequence[int]], list[str]]
    ) -> Array:
        """See `weighted_mean`."""
        return weighted_mean(signals, weights)


def newest_first(
    likeness: npt.NDArray[np.floating], relevance: Array, age: Array, apart: npt.NDArray[np.bool_], average: float
) -> npt.NDArray[np.int64]:
    """Row numbers of hits, best first, with the newer of two similar hits before the older.

    Two hits are similar if they are apart, and ``(likeness - average) / (1 - average)`` is at least `ALIKE`; the newer
    one must be at least `COMPARABLE` times as relevant as the older. See docs/decisions/0017.

    Likeness holds inner products of unit vectors, apart whether two are from different occasions, both of shape (n, n);
    relevance (best first) and distinct ages are of shape (n,); average is the mean product of any two records.
    """
    near = (likeness - average) >= ALIKE * (1 - average)
    newer = age[None, :] < age[:, None]
    before = near & apart & newer & (relevance[None, :] >= COMPARABLE * relevance[:, None])
    order: list[int] = []
    for row in range(len(relevance)):
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
