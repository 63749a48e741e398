"""LangChain's `PGVectorStore` over pgvector."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.documents import Document

from benchmarks.peers.langchain_stores import AsLangChain
from benchmarks.peers.systems import Embedder, Turn

TABLE = "memory"
SOME = 1_000
"""Rows of a statement."""
K = 10
"""What each of the two searches finds; its default is 4."""


class Pgvector:
    """A table with the owner in a column of its own, and an HNSW index on the vectors.

    Args:
        words: search by text too: its `HybridSearchConfig` with a column of its own, an index, and reciprocal ranks.
    """

    owner = ""

    def __init__(self, embedder: Embedder, _folder: Path, *, url: str, words: bool = False) -> None:
        stores: Any = importlib.import_module("langchain_postgres")
        self._indexes: Any = importlib.import_module("langchain_postgres.v2.indexes")
        self._words = _by_words() if words else None
        columns = importlib.import_module("langchain_postgres.v2.engine").Column
        self._engine = stores.PGEngine.from_connection_string(url.replace("postgresql:", "postgresql+psycopg:"))
        self._engine.init_vectorstore_table(
            TABLE, embedder.dim, metadata_columns=[columns("turn", "TEXT"), columns("owner", "TEXT")],
            store_metadata=False, hybrid_search_config=self._words,
        )  # fmt: skip
        self._store: Any = stores.PGVectorStore.create_sync(
            self._engine, AsLangChain(embedder), TABLE, metadata_columns=["turn", "owner"],
            hybrid_search_config=self._words, metadata_json_column=None,
        )  # fmt: skip

    def add(self, turns: Sequence[Turn]) -> None:
        """Add documents, a thousand at a time."""
        for first in range(0, len(turns), SOME):
            some = turns[first : first + SOME]
            self._store.add_documents(
                [Document(page_content=turn.text, metadata={"turn": turn.id, "owner": turn.owner}) for turn in some]
            )

    def finish(self) -> None:
        """Make the indexes, as its guide does it, when all is stored."""
        self._store.apply_vector_index(self._indexes.HNSWIndex())
        if self._words is not None:
            self._store.apply_hybrid_search_index()

    def search(self, query: str, k: int) -> list[str]:
        """By `similarity_search`."""
        found = self._store.similarity_search(query, k=k, filter={"owner": self.owner} if self.owner else None)
        return [document.metadata["turn"] for document in found[:k]]

    def close(self) -> None:
        """Close its connections."""
        self._engine._run_as_sync(self._engine.close())  # noqa: SLF001 - its close is for coroutines alone


def _by_words() -> Any:
    hybrid: Any = importlib.import_module("langchain_postgres.v2.hybrid_search_config")
    return hybrid.HybridSearchConfig(
        tsv_column="content_tsv", fusion_function=hybrid.reciprocal_rank_fusion, primary_top_k=K, secondary_top_k=K
    )
