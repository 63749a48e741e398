"""The local embedder, with its vectors kept in files."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.models.embedders import LocalEmbedder


@dataclass(slots=True)
class KeptVectors:
    """The local embedder, which embeds a text once; in the files of a folder, if there is one, also for later runs."""

    folder: Path | None = None
    name: str = LocalEmbedder.name
    dim: int = LocalEmbedder.dim
    kept: dict[str, Floats] = field(default_factory=dict)
    new: dict[str, Floats] = field(default_factory=dict)
    local: LocalEmbedder | None = None

    def __post_init__(self) -> None:
        for file in sorted(self.folder.rglob("kept-*.npz")) if self.folder else ():
            with np.load(file) as stored:
                self.kept.update(zip(stored["keys"].tolist(), stored["rows"], strict=True))

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Unit rows."""
        missing = list(dict.fromkeys(text for text in texts if _key("p", text) not in self.kept))
        if missing:
            self._keep(zip((_key("p", text) for text in missing), self._model().embed_documents(missing), strict=True))
        return np.stack([self.kept[_key("p", text)] for text in texts])

    def embed_query(self, text: str) -> Floats:
        """A unit vector."""
        if _key("q", text) not in self.kept:
            self._keep([(_key("q", text), self._model().embed_query(text))])
        return self.kept[_key("q", text)]

    def save(self) -> None:
        """Write what is new into a file of its own."""
        if self.new and self.folder:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = self.folder / f"kept-{len(self.kept)}.npz"
            np.savez(file, keys=np.array(list(self.new)), rows=np.stack(list(self.new.values())))
            self.new = {}

    def _model(self) -> LocalEmbedder:
        self.local = self.local or LocalEmbedder()
        return self.local

    def _keep(self, pairs: Any) -> None:
        pairs = dict(pairs)
        self.new.update(pairs)
        self.kept.update(pairs)


def _key(what: str, text: str) -> str:
    return hashlib.blake2b((what + text).encode(), digest_size=16).hexdigest()
