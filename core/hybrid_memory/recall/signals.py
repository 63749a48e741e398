"""Raw search scores and facts about records, each brought to a signal in [0, 1].

Pure functions over the candidates of one query, arrays of shape (n,). What was measured is in docs/decisions/0003.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybrid_memory.arrays import Array, Numbers

CENTRING = 0.6
CENTRING_PRIOR = 100.0
BRIEF_CHARS = 250.0
SECOND_NEIGHBOUR = 0.5
BEST_OF_SEGMENT = 2
DAY = 86_400.0
FEW = 4
STANDS_OUT = 0.13
"""With fewer records than these an average tells only of one that stands out; what is near it may be as near itself."""
ROUNDING = 1e-6
"""Similarities that differ less are equal: they come as 32-bit floats."""


def centred(query: Array, centroid: Array, count: int) -> Array:
    """The query vector without a share of what all records of the owner have in common; shape (dim,), not unit.

    ``q - 0.6 * n / (n + 100) * centroid``, where the centroid is the plain mean of the owner's n unit vectors. Records
    that resemble everything ("Wow, that's great!") stop being near every question. The prior fades it out in small
    stores, where the mean is the topic itself.
    """
    return query - CENTRING * count / (count + CENTRING_PRIOR) * centroid


def vector_signal(similarity: Array, average: Array | float) -> Array:
    """``0.5 + 0.5 * (s - average) / (max - average)``, clipped: the best is 1, an average record of the owner 0.5.

    Unlike min-max over the candidates, the scale does not move with their number. NaN (no vector yet) gives 0.
    """
    known = np.isfinite(similarity)
    if not known.any():
        return np.zeros(len(similarity))
    spread = float(similarity[known].max()) - np.broadcast_to(average, similarity.shape)
    scaled = np.where(spread > ROUNDING, 0.5 + 0.5 * (similarity - average) / np.maximum(spread, ROUNDING), 0.5)
    return np.where(known, np.clip(np.nan_to_num(scaled), 0.0, 1.0), 0.0)


def closeness(similarity: Array, average: Array, same: Array, count: Numbers) -> Array:
    """``(s - average) / (same - average) * n / (n - 1)``: 0 for an average record, 1 for one that says just the query.

    Unlike the vector signal it does not depend on the best that was found. The last factor takes a record out of the
    average that it is compared with. NaN without a vector or other records, and of few records for one that does
    not stand out.

    Args:
        similarity: of each record to the query, as inner product.
        average: of the similarities of all n records of the same owner.
        same: the similarity of the query to itself.
        count: n.
    """
    known = (count > 1) & (same - average > ROUNDING)
    scale = np.where(known, (same - average) * (1 - 1 / np.maximum(count, 2)), np.nan)
    near = np.asarray((similarity - average) / scale)
    return np.where((count < FEW) & (near < STANDS_OUT), np.nan, near)


def text_signal(bm25: Array) -> Array:
    """``bm25 / max``: the best match is 1, no common word 0."""
    best = float(bm25.max(initial=0.0))
    return bm25 / best if best > 0 else np.zeros(len(bm25))


def brevity(lengths: Numbers) -> float:
    """``min(1, 250 / mean characters) ** 2``: how far the candidates are short turns of a chat, in (0, 1].

    Short turns need their surroundings to be understood; essays stand alone, and a share of their neighbours would
    only lift what is not asked for. Scales the weights of neighbours, segment and importance.
    """
    mean = float(lengths.mean()) if len(lengths) else 0.0
    return min(1.0, BRIEF_CHARS / mean) ** 2 if mean > 0 else 1.0


def neighbour_signal(relevance: Array, segments: Numbers, ordinals: Numbers, average: float) -> Array:
    """``(near + 0.5 * far) / 1.5``: mean relevance one place before and after, and two places, in the same segment.

    A place without a candidate counts as ``average``.
    """
    if not len(relevance):
        return np.zeros(0)
    keys = segments * (int(ordinals.max()) + 5) + ordinals + 2
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]

    def at(step: int) -> Array:
        place = np.minimum(np.searchsorted(ordered, keys + step), len(keys) - 1)
        return np.where(ordered[place] == keys + step, relevance[order[place]], average)

    near, far = (at(-1) + at(1)) / 2, (at(-2) + at(2)) / 2
    return np.asarray((near + SECOND_NEIGHBOUR * far) / (1 + SECOND_NEIGHBOUR))


def segment_signal(relevance: Array, segments: Numbers) -> Array:
    """Mean of the two highest relevances in the record's segment, of one in a segment of one."""
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
    """``0.5 ** (age / half_life)``, both in seconds; what lies ahead counts as now."""
    return np.asarray(0.5 ** (np.maximum(age, 0.0) / half_life))


def use_signal(uses: Numbers, since_last: Array, half_life: float) -> Array:
    """``(1 - 1 / (1 + uses)) * 0.5 ** (since_last / half_life)``: the first uses count most, and fade unless repeated.

    Times in seconds.
    """
    return np.asarray((1.0 - 1.0 / (1.0 + uses)) * recency_signal(since_last, half_life))


def temporal_signal(at: Array, spans: Sequence[tuple[float, float]]) -> Array:
    """``0.5 ** (distance / max(length, 1 day))`` of the nearest span: 1 within it, 0.5 as far away as it is long.

    What was done "last week" is often told a little later. All in seconds since 1970; spans are half-open.
    """
    signal = np.zeros(len(at))
    for since, until in spans:
        distance = np.maximum(np.maximum(since - at, at - until), 0.0)
        signal = np.maximum(signal, np.exp2(-distance / max(until - since, DAY)))
    return signal
