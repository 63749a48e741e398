"""The probability that a result answers the query; unlike scores, it is not relative to the best result.

Pure functions over the candidates of one query, arrays of shape (n,).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array
from hybrid_memory.recall.measure import Measured, repeats
from hybrid_memory.recall.plan import Plan
from hybrid_memory.recall.signals import Curve, at_the_time, learned
from hybrid_memory.text.asking import asking_share
from hybrid_memory.text.tokenize import terms

SEVERAL = 3
"""Number of candidates whose mean similarity counts in addition to the best."""

MARGIN = 4
"""The best score is compared with the one this many ranks below."""

FEW = 12
"""With fewer vectors than this, or none, the learned model does not apply; see `by_rule`."""

LEARNED_FROM = 240
"""The number of vectors of the stores that the model was learned from."""

SMALLER = 0.3
"""What the log-odds gain for each e-fold that a store is smaller than these."""

FIT = 0.19
"""The sum of similarity and words at which the confidence is `AT_FIT`, the default threshold of prompts."""

AT_FIT = 0.2
STEEPNESS = 10.25
"""How fast confidence changes with them: an average record without a common word has a sixth of that."""

WORDS = 0.4
"""The weight of common words relative to similarity."""

USUAL = 0.13
"""The best similarity if nothing answers the query; also assumed, if unknown, for records with common words and their
neighbours.
"""

TYPICAL = 10.0
"""The weight of all terms of a short question."""

MANY = 30
"""The number of records among which a term is rare or common; missing records count as not having it."""

PAIR = 2
"""Records of which each stands next to the other, whatever is asked."""

EVEN = 0.5
"""The least confidence of a record that has quoted text literally, or is from the requested time."""


def confidences(query: str, plan: Plan, measured: Measured, scores: Array, near: Array) -> Array:
    """The probability that each candidate answers the query; ``near`` is their absolute similarity, NaN if unknown."""
    of_the_time = at_the_time(plan.timing, measured.columns["temporal"]) & (asking_share(query) > 0)
    asked_for = (measured.columns["exact"] > 0) | of_the_time
    # The question itself, which an agent remembers before it asks, is no answer to it.
    others = np.flatnonzero([not repeats(query, record) for record in measured.records])
    count = int(measured.candidates.count.max())
    if count < FEW:
        order = np.argsort(-scores, kind="stable")
        words = np.empty(len(scores))
        having = [frozenset(terms(measured.records[row].text)) for row in order.tolist()]
        words[order] = common_words(set(terms(query)), having)
        beside = (measured.features["around"] > 0) & (len(others) > PAIR)
        each = by_rule(near, words, beside)
        return np.asarray(np.where(asked_for, np.maximum(each, EVEN), each))
    if not len(others):
        return np.zeros(len(scores))
    features = measured.features | {"similarity": np.nan_to_num(near)}
    signs = evidence({name: column[others] for name, column in features.items()}, scores[others])
    return confidence(answered(signs, learned().certainty, learned().bias, count), scores, asked_for)


def evidence(features: Mapping[str, Array], scores: Array) -> dict[str, float]:
    """Evidence for whether the query is answered at all, from the candidates' features and scores."""
    order = np.argsort(-scores, kind="stable")
    best, several = order[0], order[:SEVERAL]
    behind = order[min(MARGIN, len(order) - 1)]
    return {
        "closest": float(features["similarity"].max()),
        "closest few": float(np.sort(features["similarity"])[-SEVERAL:].mean()),
        "covered by the best": float(features["covered"][best]),
        "covered by the few": float(features["covered"][several].max()),
        "phrase": float(features["phrase"].max()),
        "never said": float(features["never said"][0]),
        "told after": float(features["told after"].max()),
        "by whom is named": float(features["named"][best]),
        "score": float(scores[best]),
        "margin": float(scores[best] - scores[behind]),
    }


def answered(signs: Mapping[str, float], curves: Mapping[str, Curve], bias: float, count: int = LEARNED_FROM) -> float:
    """The probability that one of the candidates answers the query, ``1 / (1 + exp(-(bias + curves + few)))``.

    The curves expect what the best of many records reach by chance. Among fewer, the same evidence tells more:
    ``few = 0.3 * log(240 / count)``, at least 0. See `benchmarks/ranking/young.py`.

    Args:
        signs: see `evidence`.
        curves: the log-odds for each.
        bias: of the model.
        count: the number of vectors in the store.
    """
    few = SMALLER * math.log(max(LEARNED_FROM / max(count, 1), 1.0))
    total = bias + few + sum(float(curve(np.array([signs[name]]))[0]) for name, curve in curves.items())
    return float(1.0 / (1.0 + np.exp(-np.clip(total, -50.0, 50.0))))


def confidence(share: float, scores: Array, asked_for: npt.NDArray[np.bool_]) -> Array:
    """The probability that the query is answered, for the best candidate; for others scaled by their score."""
    best, worst = float(scores.max()), float(scores.min())
    each = share * ((scores - worst) / (best - worst) if best > worst else np.ones(len(scores)))
    return np.asarray(np.where(asked_for, np.maximum(each, EVEN), each))


def by_rule(similarity: Array, words: Array, beside: npt.NDArray[np.bool_]) -> Array:
    """The probability that each record answers the query, for small stores or without vectors.

    ``1 / (1 + 4 * exp(-10.25 * (similarity + 0.4 * words - 0.19)))``

    Args:
        similarity: see `ranking.absolute_similarity`; NaN if unknown.
        words: see `common_words`.
        beside: the same evidence for the records next to one that fits.
    """
    unknown = np.where((words > 0) | beside, USUAL, 0.0)
    fit = np.where(np.isfinite(similarity), similarity, unknown) + WORDS * words
    return np.asarray(1.0 / (1.0 + (1 / AT_FIT - 1) * np.exp(np.clip(STEEPNESS * (FIT - fit), -50.0, 50.0))))


def common_words(words: Iterable[str], having: Sequence[frozenset[str]]) -> Array:
    """``w / sqrt(10 * all)`` for each record: the weight of the query terms it has, and of all query terms.

    A term weighs ``log(1 + 30 / records with it)``; the first 30 count. The square root helps long queries, of which
    even a fitting text has a small share.
    """
    among = having[:MANY]
    weights = {term: math.log(1 + MANY / (sum(term in each for each in among) or 0.5)) for term in words}
    scale = math.sqrt(TYPICAL * sum(weights.values())) or 1.0
    return np.array([sum(weights[term] for term in each.intersection(weights)) / scale for each in having])
