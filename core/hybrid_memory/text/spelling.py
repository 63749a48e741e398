"""Terms that a misspelt one may stand for."""

from __future__ import annotations

from collections.abc import Iterable

from rapidfuzz import process
from rapidfuzz.distance import OSA

LEAST_CHARS = 4
LONG_CHARS = 8


def allowed_edits(term: str) -> int:
    """How many edits a misspelling may have: none in fewer than 4 letters, 1 up to 7, 2 beyond; none in other scripts.

    In a shorter word one edit makes another word, and a Chinese term of one or two characters is all meaning.
    """
    if len(term) < LEAST_CHARS or not term.isascii() or not term.isalpha():
        return 0
    return 1 if len(term) < LONG_CHARS else 2


def close_terms(term: str, vocabulary: Iterable[str], k: int) -> list[str]:
    """At most k terms of the vocabulary that are within `allowed_edits` of this one; none if it is a term itself.

    By optimal string alignment distance: an edit is a letter too many, too few or wrong, or two that changed places.
    The first letter is taken for right. Nearest first, then in alphabetical order.
    """
    most = allowed_edits(term)
    if not most:
        return []
    near = [other for other in vocabulary if other[0] == term[0] and abs(len(other) - len(term)) <= most]
    found = process.extract(term, near, scorer=OSA.distance, score_cutoff=most, limit=None)
    ranked = sorted((distance, other) for other, distance, _ in found)
    return [] if ranked and ranked[0][0] == 0 else [other for _, other in ranked[:k]]
