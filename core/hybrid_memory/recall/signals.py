"""The signals of a query's candidates and their weighted mean, on arrays of shape (n,), and the learned ranker.

See docs/decisions/0003 and 0045 for measurements.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from hybrid_memory.arrays import Array, Numbers
from hybrid_memory.config import Weights
from hybrid_memory.index.bm25 import matches
from hybrid_memory.recall.plan import DECIDING, Timing, vague
from hybrid_memory.text.dates.calendar import TimeSpan
from hybrid_memory.text.tokenize import terms

LEARNED = "learned-1"
"""The default ranker: a name and a version."""

CENTRING = 0.6
CENTRING_PRIOR = 100.0
BRIEF_CHARS = 250.0
SECOND_NEIGHBOUR = 0.5
BEST_OF_SEGMENT = 2
DAY = 86_400.0
FEW, STANDS_OUT = 4, 0.13
"""With fewer records than this, an average is only informative about a record that stands out by so much."""
ROUNDING = 1e-6  # similarities that differ less are equal, as they are 32-bit floats


BESIDE = 0.5  # the signal just outside a clear time: low enough for `DECISIVE` to rank everything inside first
DECISIVE = 2.0  # a multiple of all other weights together
FITS = 0.8  # the share of the best relevance that a candidate for the first or last needs


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
    spread = float(similarity[known].max()) - average
    scaled = 0.5 + 0.5 * (similarity - average) / np.maximum(spread, ROUNDING)
    return np.where(known & (spread > ROUNDING), np.clip(scaled, 0.0, 1.0), 0.5)


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


def by_words(query: str, texts: Sequence[str]) -> Array:
    """The text signal of each of these texts alone, of shape (n,)."""
    return text_signal(matches(terms(query), [terms(text) for text in texts]))


def brevity(lengths: Numbers) -> float:
    """``min(1, 250 / mean characters) ** 2``: how much the candidates resemble short chat turns, in (0, 1].

    Short turns need their context to be understood; essays do not, and their neighbours would only raise irrelevant
    records. Scales the weights of neighbours, segment and importance.
    """
    mean = float(lengths.mean()) if len(lengths) else 0.0
    return min(1.0, BRIEF_CHARS / mean) ** 2 if mean > 0 else 1.0


def beside(segments: Numbers, ordinals: Numbers, *steps: int) -> Numbers:
    """The row of the record so many places on, at most 2, in the same segment, or n; of shape (steps, n)."""
    count = len(ordinals)
    keys = segments * (int(ordinals.max(initial=0)) + 5) + ordinals + 2
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    near = ordered + np.array(steps)[:, None]
    place = np.searchsorted(ordered, near)
    rows = np.empty(near.shape, dtype=np.int64)
    rows[:, order] = np.where(np.append(ordered, -1)[place] == near, np.append(order, count)[place], count)
    return rows


def neighbour_signal(relevance: Array, near: Numbers, average: float) -> Array:
    """``(near + 0.5 * far) / 1.5``: mean relevance of the turns one and two places before and after, in the segment.

    ``near`` has their rows: before, after, further before and further after; see `beside`. Places without a candidate
    count as ``average``.
    """
    before, after, further_before, further_after = np.append(relevance, average)[near]
    close, far = (before + after) / 2, (further_before + further_after) / 2
    return np.asarray((close + SECOND_NEIGHBOUR * far) / (1 + SECOND_NEIGHBOUR))


def segment_signal(relevance: Array, segments: Numbers) -> Array:
    """The mean of the two highest relevances in the record's segment; of a segment of one, its own."""
    if not len(relevance):
        return np.zeros(0)
    order = np.lexsort((-relevance, segments))
    ordered, best_first = segments[order], relevance[order]
    begins = np.append(True, ordered[1:] != ordered[:-1])
    group = np.cumsum(begins) - 1
    kept = np.arange(len(group)) - np.flatnonzero(begins)[group] < BEST_OF_SEGMENT
    total = np.bincount(group[kept], weights=best_first[kept])
    signal = np.empty(len(group))
    signal[order] = (total / np.bincount(group[kept]))[group]
    return signal


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


def time_signal(timing: Timing, at: Array, relevance: Array, times: Sequence[TimeSpan]) -> Array:
    """The temporal signal of each candidate under a deciding time, in [0, 1]; instants in seconds since 1970."""
    if timing is Timing.CLEAR:
        return deciding(at, times)
    if timing is Timing.LAST_TALK:
        return _ordered(at, np.isfinite(at) & (deciding(at, times) == 1), oldest=False)
    return _ordered(at, relevance >= FITS * relevance.max(initial=0.0), oldest=timing is Timing.OLDEST)


def time_weight(timing: Timing, weight: float, others: float) -> float:
    """The weight of the temporal signal, if enabled, given the sum of the other weights, ``others``."""
    if not weight or timing is Timing.NONE:
        return 0.0
    return max(weight, DECISIVE * others) if timing in DECIDING else weight


def deciding(at: Array, times: Iterable[TimeSpan]) -> Array:
    """1 within a time that is not vague, outside half of its signal: ``0.5 * 0.5 ** (distance / max(length, 1 day))``.

    Instants are in seconds since 1970.
    """
    spans = [(span.since.timestamp(), span.until.timestamp()) for span in times if not vague(span)]
    inside = np.zeros(len(at), dtype=np.bool_)
    for since, until in spans:
        inside |= (at >= since) & (at < until)
    return np.where(inside, 1.0, BESIDE * temporal_signal(at, spans))


def _ordered(at: Array, members: Array, *, oldest: bool) -> Array:
    """1 for the first of the members in time, then halving towards `BESIDE` for each further one; 0 for all others."""
    signal = np.zeros(len(at))
    rows = np.flatnonzero(members)
    order = rows[np.argsort(at[rows] if oldest else -at[rows], kind="stable")]
    signal[order] = BESIDE + (1 - BESIDE) * np.exp2(-np.arange(len(order), dtype=np.float64))
    return signal


NAMES = tuple(Weights.__dataclass_fields__)  # the names of the signals

values = attrgetter(*NAMES)
"""The weights or signals of an object with these fields, in their order."""


def weighted_mean(signals: Mapping[str, Array], weights: Weights) -> Array:
    """``sum(weight * signal) / sum(weights)`` over the fields of `Weights`; zeros if no weight is set."""
    each = values(weights)
    scores = np.zeros(len(signals["vector"]))
    for name, weight in zip(NAMES, each, strict=True):
        if weight:
            scores += weight * signals[name]
    return scores / (sum(each) or 1.0)


class Curve(NamedTuple):
    """A piecewise linear curve, for `numpy.interp`: the worth at ascending values."""

    knots: Array
    worth: Array


@dataclass(frozen=True, slots=True)
class Learned:
    """The default ranker: learned, and still a sum. Each signal is made of curves; the score is their weighted mean.

    A signal is the sum of its features' curves, scaled from 0 at their lowest to 1 at their highest. Further curves and
    a bias give the confidence; see `hybrid_memory.recall.recall`. Curves and weights are numbers in a file of this
    package; `benchmarks/ranking` fits them.
    """

    curves: Mapping[str, Mapping[str, Curve]]
    weights: Weights
    certainty: Mapping[str, Curve]
    bias: float

    def signals(self, features: Mapping[str, Array]) -> dict[str, Array]:
        """The learned signals of n candidates, each in [0, 1] and of shape (n,), from features of the same shape.

        Signals with a missing feature are left out.
        """
        signals = {}
        for signal, curves in self.curves.items():
            if curves.keys() <= features.keys():
                total: Array = np.zeros(1)
                for name, curve in curves.items():
                    total = total + np.interp(features[name], *curve)
                signals[signal] = np.minimum(np.maximum(total, 0.0), 1.0)
        return signals


@cache
def learned() -> Learned:
    """The default ranker, as read from its file."""
    stored = json.loads(files(__package__).joinpath(f"{LEARNED}.json").read_text("utf-8"))

    def curves(given: Mapping[str, Sequence[Sequence[float]]]) -> dict[str, Curve]:
        return {name: Curve(*np.array(points, dtype=np.float64)) for name, points in given.items()}

    signals = {signal: curves(features) for signal, features in stored["curves"].items()}
    return Learned(signals, Weights(**stored["weights"]), curves(stored["certainty"]), stored["bias"])


learned()  # when imported, as recall runs in event loops
