"""What the parts share: the conversation sets, a store and an embedder to run them with, and how texts are compared."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_memory import Message
from hybrid_memory.models.embedders import LocalEmbedder
from hybrid_memory.models.tokenizers import token_counter
from hybrid_memory.ports import Floats

MAX_TOKENS = 2000
IDENTITY = "You are a helpful assistant."

count_tokens = token_counter("cl100k_base")


@dataclass(slots=True)
class Table:
    """A table to print; cells are texts or figures, shares as floats in [0, 1]."""

    title: str
    columns: Sequence[str]
    rows: list[dict[str, Any]] = field(default_factory=list)
    note: str = ""

    def show(self) -> None:
        """Print it."""
        width = max([28, *(len(str(row[self.columns[0]])) + 2 for row in self.rows)])
        print(f"\n{self.title}" + (f"\n{self.note}" if self.note else ""))
        print(f"{self.columns[0]:<{width}}" + "".join(f"{name:>{max(8, len(name) + 2)}}" for name in self.columns[1:]))
        for row in self.rows:
            cells = (f"{_cell(row.get(name)):>{max(8, len(name) + 2)}}" for name in self.columns[1:])
            print(f"{row[self.columns[0]]:<{width}}" + "".join(cells), flush=True)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def load(data: Path, name: str, limit: int | None = None) -> Iterator[dict[str, Any]]:
    """The first conversations of a set."""
    with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            if limit is not None and number >= limit:
                return
            yield json.loads(line)


def dialogue(turns: Sequence[dict[str, Any]], *, prefix: str = "") -> list[Message]:
    """The turns as alternating messages of user and assistant, with a prefix to their ids."""
    return [
        Message(role="assistant" if row % 2 else "user", content=turn["text"], id=f"{prefix}{row}")  # type: ignore[arg-type]
        for row, turn in enumerate(turns)
    ]


class CachedEmbedder:
    """The local embedder, with its vectors kept in a file, so that a second run need not embed again."""

    def __init__(self, folder: Path) -> None:
        self._model = LocalEmbedder()
        self._file = folder / "vectors.npz"
        self._vectors: dict[str, Floats] = {}
        self._saved = 0
        self.name = self._model.name
        if self._file.exists():
            with np.load(self._file) as kept:
                self._vectors = dict(zip(kept["keys"].tolist(), kept["vectors"], strict=True))
            self._saved = len(self._vectors)

    def embed_documents(self, texts: list[str]) -> Floats:
        """Unit rows."""
        missing = [text for text in dict.fromkeys(texts) if _key("passage", text) not in self._vectors]
        for text, vector in zip(missing, self._model.embed_documents(missing), strict=True):
            self._vectors[_key("passage", text)] = vector
        return np.stack([self._vectors[_key("passage", text)] for text in texts])

    def embed_query(self, text: str) -> Floats:
        """A unit vector."""
        key = _key("query", text)
        if key not in self._vectors:
            self._vectors[key] = self._model.embed_query(text)
        return self._vectors[key]

    def save(self) -> None:
        """Write what is new."""
        if len(self._vectors) > self._saved:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            new = self._file.with_suffix(".new.npz")
            np.savez(new, keys=np.array(list(self._vectors)), vectors=np.stack(list(self._vectors.values())))
            new.replace(self._file)
            self._saved = len(self._vectors)


def _key(kind: str, text: str) -> str:
    return hashlib.blake2b(f"{kind}:{text}".encode(), digest_size=16).hexdigest()
