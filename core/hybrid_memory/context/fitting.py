"""Whether what a recall found has to do with what was said, so that it may stand in a prompt.

A recall returns the best that there is, however far from the query. What was measured is in docs/decisions/0037.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hybrid_memory.recall.hit import Hit
from hybrid_memory.text.asking import asking_share
from hybrid_memory.text.small_talk import is_memory
from hybrid_memory.text.tokenize import terms

FLOOR = 0.19
"""What the best must reach."""

LEAST = 0.0
"""What each beside it must exceed: an average turn without a common word."""

WORDS = 0.4
"""What common words count beside nearness of meaning."""

USUAL = 0.13
"""The closeness of the best hit where nothing fits; and where nothing tells it, that of a hit which has
common words or stands next to one that does."""

TYPICAL = 10.0
"""The weight of all terms of a short question."""

PAIR = 2
MANY = 30
"""Texts among which a term is rare or common; of fewer, those that are missing have none."""


def fitting(query: str, hits: Sequence[Hit]) -> list[Hit]:
    """The hits that may stand in a prompt as memories, in their order; none where the best of them does not fit.

    Left out are turns that tell nothing; see `is_memory`. A hit fits by ``closeness + 0.4 * common words``, or because
    it has word for word what the query quotes, or lies in the time that it asks about. One must reach the floor; beside
    it more than nothing is enough, since what is asked for often stands next to the turn that resembles the question.
    """
    shared = common_words(query, [hit.record.text for hit in hits])
    fits = [
        math.inf if _asked_for(hit, query) else _nearness(hit, words, among=len(hits)) + WORDS * words
        for hit, words in zip(hits, shared, strict=True)
    ]
    memories = [(hit, fit) for hit, fit in zip(hits, fits, strict=True) if is_memory(hit.record.text)]
    if not any(fit >= FLOOR for _, fit in memories):
        return []
    return [hit for hit, fit in memories if fit > LEAST]


def common_words(query: str, texts: Sequence[str]) -> list[float]:
    """``w / sqrt(10 * all)`` of each text, for the weights of the query's terms: of those that it has, and of all.

    A term weighs ``log(1 + texts / texts with it)``, for 30 texts or more. The root counts for long queries, of which a
    text that fits has a small share.
    """
    wanted = set(terms(query))
    found = [wanted.intersection(terms(text)) for text in texts]
    many = max(len(texts), MANY)
    weights = {term: math.log(1 + many / (sum(term in those for those in found) or 0.5)) for term in wanted}
    scale = math.sqrt(TYPICAL * sum(weights.values())) or 1.0
    return [sum(weights[term] for term in those) / scale for those in found]


def _asked_for(hit: Hit, query: str) -> bool:
    in_time = hit.weights.temporal > 0 and hit.signals.temporal == 1 and asking_share(query) > 0
    return in_time or hit.signals.exact > 0


def _nearness(hit: Hit, words: float, *, among: int) -> float:
    if hit.closeness is None:
        # Of two turns each stands next to the other.
        return USUAL if words or (hit.signals.neighbours and among > PAIR) else 0.0
    return hit.closeness
