"""Chroma on disk, its HNSW index by cosine."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.systems import Embedder, System, Turn

BATCH = 5_000


class Chroma(System):
    """A collection of a `PersistentClient`."""

    owner = ""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        chromadb: Any = importlib.import_module("chromadb")
        settings = importlib.import_module("chromadb.config").Settings(anonymized_telemetry=False)
        self._embedder = embedder
        self._client = chromadb.PersistentClient(path=str(folder), settings=settings)
        self._collection = self._client.create_collection(
            "memory", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )

    def add(self, turns: Sequence[Turn]) -> None:
        """In batches of 5,000, near the largest that it takes."""
        for first in range(0, len(turns), BATCH):
            batch = turns[first : first + BATCH]
            texts = [turn.text for turn in batch]
            rows = self._embedder.embed_documents(texts)
            owners = [{"owner": turn.owner} for turn in batch]
            self._collection.add(ids=[turn.id for turn in batch], embeddings=rows, documents=texts, metadatas=owners)

    def search(self, query: str, k: int) -> list[str]:
        """By its index."""
        rows = self._embedder.embed_query(query)[None]
        where = {"owner": self.owner} if self.owner else None
        found = self._collection.query(query_embeddings=rows, n_results=k, where=where, include=["distances"])
        ids: list[str] = found["ids"][0]
        return ids
