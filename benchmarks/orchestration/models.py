"""What the parts of this benchmark share: embedders that are counted, and texts of real conversations."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.compression.sets import load
from hybrid_memory.models.embedders import WrappedEmbedder
from hybrid_memory.ports import Embedder, Floats

SET = "realmem"
CONVERSATIONS = 10
"""Whose turns and questions are taken."""
WORDS = 8
"""Of a turn or a question."""


def standing_in(texts: Sequence[str], dim: int) -> Floats:
    """A random unit row for each text, always the same."""
    seeds = [int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") for text in texts]
    rows = np.stack([np.random.default_rng(seed).standard_normal(dim).astype(np.float32) for seed in seeds])
    unit: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


class Counted(WrappedEmbedder):
    """Another embedder, whose calls are counted.

    Attributes:
        calls: of the embedder; documents, queries: texts in them.
        filling: documents get stand-ins at once, and nothing is counted.
    """

    def __init__(self, model: Embedder) -> None:
        super().__init__(model, name=model.name)
        self.__dict__.pop("embed_queries", None)  # the one that counts
        self._model = model
        self._lock = threading.Lock()
        self.calls = self.documents = self.queries = 0
        self.filling = False

    @property
    def dim(self) -> int:
        """Of the embedder."""
        return self._model.dim

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Unit rows of shape (n, dim)."""
        if self.filling:
            return standing_in(texts, self.dim)
        self._count(documents=len(texts))
        return self._model.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> Floats:
        """Unit rows of shape (n, dim)."""
        self._count(queries=len(texts))
        embed: Callable[[Sequence[str]], Floats] = getattr(self._model, "embed_queries", self._model.embed_documents)
        return embed(texts)

    def embed_query(self, text: str) -> Floats:
        """A unit vector of shape (dim,)."""
        self._count(queries=1)
        return self._model.embed_query(text)

    def _count(self, documents: int = 0, queries: int = 0) -> None:
        with self._lock:
            self.calls += 1
            self.documents += documents
            self.queries += queries


def first_words(text: str, count: int = WORDS) -> str:
    """So many words of a text."""
    return " ".join(text.split()[:count])


def spoken(data: Path, count: int) -> list[str]:
    """So many different turns, repeated under numbers when the sets have no more."""
    turns: dict[str, None] = {}
    for conversation in load(data, SET, CONVERSATIONS):
        turns |= dict.fromkeys(first_words(turn["text"]) for turn in conversation["turns"] if turn["text"].strip())
    texts = list(turns)
    return [texts[n % len(texts)] + (f" ({n})" if n >= len(texts) else "") for n in range(count)]


def asked(data: Path) -> list[str]:
    """Different questions about conversations."""
    texts: dict[str, None] = {}
    for conversation in load(data, SET, CONVERSATIONS):
        texts |= dict.fromkeys(first_words(question["question"]) for question in conversation["questions"])
    return list(texts)


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Quantiles in milliseconds."""
    return {f"p{percent}": float(np.percentile(seconds, percent)) * 1e3 for percent in (50, 95, 99)}
