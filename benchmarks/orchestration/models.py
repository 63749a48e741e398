"""What the parts of this benchmark share: embedders that are counted, and texts of real conversations."""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_memory.errors import MissingDependencyError
from hybrid_memory.models.embedders import LocalEmbedder, WrappedEmbedder
from hybrid_memory.ports import Embedder, Floats

SET = "realmem"
CONVERSATIONS = 10
"""Whose turns and questions are taken."""
WORDS = 8
"""Of a turn or a question."""


class Sleeping:
    """Takes 20 ms a call and 1 ms a text, and no core: a model behind a network."""

    name = "benchmark-sleeping"
    dim = 384

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Unit rows of shape (n, 384)."""
        time.sleep(0.02 + 0.001 * len(texts))
        return standing_in(texts, self.dim)

    def embed_query(self, text: str) -> Floats:
        """A unit vector of shape (384,)."""
        row: Floats = self.embed_documents([text])[0]
        return row


class Burning(Sleeping):
    """Takes 5 ms of a core a text, and holds the interpreter meanwhile."""

    name = "benchmark-burning"

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Unit rows of shape (n, 384)."""
        until = time.thread_time() + 0.005 * len(texts)
        while time.thread_time() < until:
            pass
        return standing_in(texts, self.dim)


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


def chosen(name: str) -> Embedder:
    """The embedder of this name."""
    if name == "sleeping":
        return Sleeping()
    if name == "burning":
        return Burning()
    try:
        return LocalEmbedder()
    except MissingDependencyError:
        if name == "local":
            raise
        return Sleeping()


def conversations(path: Path, limit: int) -> Iterator[dict[str, Any]]:
    """The first conversations of a set."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for _, line in zip(range(limit), file, strict=False):
            yield json.loads(line)


def first_words(text: str, count: int = WORDS) -> str:
    """So many words of a text."""
    return " ".join(text.split()[:count])


def spoken(data: Path, count: int) -> list[str]:
    """So many different turns, repeated under numbers when the sets have no more."""
    turns: dict[str, None] = {}
    for conversation in conversations(data / f"{SET}.jsonl.gz", CONVERSATIONS):
        turns |= dict.fromkeys(first_words(turn["text"]) for turn in conversation["turns"] if turn["text"].strip())
    texts = list(turns)
    return [texts[n % len(texts)] + (f" ({n})" if n >= len(texts) else "") for n in range(count)]


def asked(data: Path) -> list[str]:
    """Different questions about conversations."""
    texts: dict[str, None] = {}
    for conversation in conversations(data / f"{SET}.jsonl.gz", CONVERSATIONS):
        texts |= dict.fromkeys(first_words(question["question"]) for question in conversation["questions"])
    return list(texts)


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Quantiles in milliseconds."""
    return {f"p{percent}": float(np.percentile(seconds, percent)) * 1e3 for percent in (50, 95, 99)}
