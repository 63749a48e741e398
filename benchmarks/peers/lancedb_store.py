"""LanceDB on disk: full text and exact vectors, fused by reciprocal ranks."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.systems import Embedder, System, Turn


class Lance(System):
    """A table with a native text index, its defaults, and the RRF reranker."""

    owner = ""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._embedder = embedder
        self._folder = folder
        self._match: Any = importlib.import_module("lancedb.query").MatchQuery
        self._fuse: Any = importlib.import_module("lancedb.rerankers").RRFReranker()
        self._table: Any = None

    def add(self, turns: Sequence[Turn]) -> None:
        """Add rows; what comes later is indexed by `optimize`."""
        texts = [turn.text for turn in turns]
        rows = self._embedder.embed_documents(texts)
        data = [
            {"id": turn.id, "owner": turn.owner, "text": text, "vector": row}
            for turn, text, row in zip(turns, texts, rows, strict=True)
        ]
        if self._table is None:
            self._table = importlib.import_module("lancedb").connect(str(self._folder)).create_table("memory", data)
            self._table.create_fts_index("text")
        else:
            self._table.add(data)
            self._table.optimize()

    def search(self, query: str, k: int) -> list[str]:
        """By both indexes."""
        asking = self._table.search(query_type="hybrid").vector(self._embedder.embed_query(query))
        if self.owner:
            asking = asking.where(f"owner = '{self.owner}'", prefilter=True)
        found = asking.text(self._match(query, "text")).rerank(self._fuse).limit(k).select(["id"]).to_list()
        return [row["id"] for row in found]
