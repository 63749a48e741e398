"""The signals of texts that no index holds; those of recall, with statistics over these texts alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array
from hybrid_memory.index.bm25 import matches
from hybrid_memory.recall import signals
from hybrid_memory.text.tokenize import terms

Rows = npt.NDArray[np.float32]


def by_words(query: str, texts: Sequence[str]) -> Array:
    """The text signal of each text, of shape (n,)."""
    return signals.text_signal(matches(terms(query), [terms(text) for text in texts]))


def by_meaning(query: Rows, vectors: Rows) -> Array:
    """The vector signal of each text, of shape (n,); 0 for a row with NaN.

    Args:
        query: a unit vector of shape (dim,).
        vectors: unit rows of shape (n, dim); NaN where a text has no vector.
    """
    known = np.isfinite(vectors).all(axis=1)
    if not known.any():
        return np.zeros(len(vectors))
    rows = vectors[known].astype(np.float64)
    middle = rows.mean(axis=0)
    asked = signals.centred(query.astype(np.float64), middle, len(rows))
    similarity = np.full(len(vectors), np.nan)
    similarity[known] = rows @ asked
    return signals.vector_signal(similarity, float(asked @ middle))
