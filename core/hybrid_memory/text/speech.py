"""What a turn does: whether it is empty (an acknowledgement, a greeting), and how much of it asks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hybrid_memory.arrays import Array, Floats
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.text.asking import asks_nothing, questioning_share

SHORT_CHARS = 40
"""Longer turns always count as saying something."""

SURE = 0.7
"""The probability assumed if rules decide."""

IDLE_CHARS = 100
"""Longer turns are not acknowledgements or greetings."""

READ_CHARS = 400
"""How much of a turn is read, half at each end."""

_head = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
_EMBEDDER: str = _head["embedder"]
_WEIGHTS: Array = np.array(_head["weights"], dtype=np.float64)
_BIAS = float(_head["bias"])
"""A weight for each number of a vector, and a bias, from benchmarks/ranking/speech_acts.py.

They are read at import, as recall runs in event loops.
"""

_read: LruCache[int, tuple[float, float]] = LruCache(16_384)
"""Cached by the hash of a text, so that no words are kept here."""


@dataclass(frozen=True, slots=True)
class Speech:
    """Properties of turns, as columns of shape (n,).

    Attributes:
        empty: the probability that it says nothing: "Alright.", "Got it, thanks!", 好的，知道了, "Good morning!".
        asks: the share of it that is questions.
    """

    empty: Array
    asks: Array


def speech(texts: Sequence[str], vectors: Floats | None = None, embedder: str = "") -> Speech:
    """The properties of these turns, by rules for English and Chinese, by vectors for short turns of any language.

    Vectors, of shape (n, dim), count only for an embedder with known reference vectors; rows may be zeros, and dim 0
    as long as an owner has no vector.
    """
    read = np.array([_of(text) for text in texts], dtype=np.float64).reshape(-1, 2)
    empty = read[:, 0]
    if vectors is not None and tells(embedder) and vectors.any():
        short = np.array([len(text) <= SHORT_CHARS for text in texts]) & np.any(vectors, axis=1)
        told = emptiness(vectors)
        empty = np.where(short & (told > SURE), np.maximum(empty, told), empty)
    return Speech(empty=empty, asks=read[:, 1])


def says_nothing(text: str) -> bool:
    """Whether the rules consider it an acknowledgement or a greeting."""
    return _of(text)[0] > 0


def tells(embedder: str) -> bool:
    """Whether the vectors of this embedder can be used for this."""
    return embedder == _EMBEDDER


def emptiness(vectors: Floats) -> Array:
    """The probability that the short turns with these vectors, embedded without context, say nothing.

    Of vectors of another width, 0.
    """
    if vectors.shape[1:] != _WEIGHTS.shape:
        return np.zeros(len(vectors))
    return np.asarray(1 / (1 + np.exp(-(vectors.astype(np.float64) @ _WEIGHTS + _BIAS))))


def _of(text: str) -> tuple[float, float]:
    key = hash(text)
    known = _read.get(key)
    if known is None:
        half = READ_CHARS // 2
        part = text if len(text) <= READ_CHARS else f"{text[:half]}\n{text[-half:]}"
        known = (1.0, 0.0) if len(text) <= IDLE_CHARS and asks_nothing(text) else (0.0, questioning_share(part))
        _read.put(key, known)
    return known
