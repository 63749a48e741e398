"""BM25: how well a text matches a query, by the terms they share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from hybrid_memory.arrays import Array
from hybrid_memory.index.port import Matches

BM25_K1 = 1.2
BM25_B = 0.75


def idf(total: int, frequency: int) -> float:
    """The inverse document frequency of a term with this share of all texts; near zero if more than half have it."""
    return max(math.log((total - frequency + 0.5) / (frequency + 0.5)), 1e-6)


def bm25(pairs: Iterable[tuple[float, int]], relative_length: float) -> float:
    """``sum(idf * f * (k1 + 1) / (f + k1 * (1 - b + b * length / average)))``, with ``idf`` as in SQLite's FTS5.

    See https://sqlite.org/fts5.html#the_bm25_function.

    Args:
        pairs: for each term that query and text share, its idf and its count in the text.
        relative_length: the length of the text, relative to the average.
    """
    norm = BM25_K1 * (1 - BM25_B + BM25_B * relative_length)
    return sum(weight * count * (BM25_K1 + 1) / (count + norm) for weight, count in pairs)


def matches(query: Sequence[str], texts: Sequence[Sequence[str]]) -> Array:
    """The BM25 of each text, given as terms, with statistics over these texts; shape (n,), 0 without a common term."""
    counts = [Counter(text) for text in texts]
    average = max(sum(map(len, texts)) / max(len(texts), 1), 1e-9)
    weights = {term: idf(len(texts), sum(term in count for count in counts)) for term in dict.fromkeys(query)}
    shared = [[(weight, count[term]) for term, weight in weights.items() if count[term]] for count in counts]
    scores = [bm25(pairs, len(text) / average) for pairs, text in zip(shared, texts, strict=True)]
    return np.array(scores, dtype=np.float64)


def ranked(
    texts: Iterable[tuple[int, Mapping[str, int]]], frequencies: Mapping[str, int], records: int, length: int, k: int
) -> Matches:
    """The k records with the highest BM25, for engines that do not compute it themselves.

    The length of a text is the number of its terms plus one.

    Args:
        texts: id and term counts of each candidate.
        frequencies: for each query term, how many of the owner's records have it.
        records: how many records the owner has.
        length: the sum of their lengths.
        k: how many to return.
    """
    total = max(records, *frequencies.values(), 0)  # other processes may write between two answers of a server
    average = max(length / max(total, 1), 1e-9)
    weights = {term: idf(total, frequency) for term, frequency in frequencies.items()}
    scores = {}
    for number, counts in texts:
        found = [(weight, counts[term]) for term, weight in weights.items() if counts.get(term)]
        if found:
            scores[number] = bm25(found, (sum(counts.values()) + 1) / average)
    return Matches.best(scores, k)
