"""mem0 with its own local Qdrant, or on Postgres; nothing inferred."""

import importlib
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.peers.langchain_stores import AsLangChain
from benchmarks.peers.systems import Embedder, Turn


class Mem0:
    """`Memory` with ``infer=False``: no model reads what is added.

    Args:
        words: give it the BM25 encoder that it would fetch; without one it searches vectors alone, and says so once.
    """

    owner = "u"

    def __init__(self, embedder: Embedder, folder: Path, *, words: bool = False) -> None:
        self._memory = in_files(embedder, embedder.dim, folder)
        self._memory.vector_store._bm25_encoder = _encoder(folder) if words else False  # noqa: SLF001 - no other way
        self._ids: dict[str, str] = {}

    def add(self, turns: Sequence[Turn]) -> None:
        """One `add` for an owner; mem0 writes the messages one by one."""
        for owner, some in groupby(turns, key=lambda turn: turn.owner):
            batch = list(some)
            said = [{"role": "user", "content": turn.text} for turn in batch]
            added = self._memory.add(said, user_id=owner, infer=False)["results"]
            self._ids |= {result["id"]: turn.id for result, turn in zip(added, batch, strict=True)}

    def search(self, query: str, k: int) -> list[str]:
        """By `search`, without its threshold, which drops what is far from random vectors."""
        found = self._memory.search(query, filters={"user_id": self.owner}, top_k=k, threshold=0.0)["results"]
        return [self._ids[result["id"]] for result in found]

    def close(self) -> None:
        """Close its store."""
        self._memory.vector_store.client.close()
        self._memory.db.close()


class OnPgvector(Mem0):
    """The same on pgvector with its HNSW index."""

    def __init__(self, embedder: Embedder, folder: Path, *, url: str) -> None:
        where = {"connection_string": url, "embedding_model_dims": embedder.dim, "hnsw": True, "diskann": False}
        self._memory = opened(embedder, folder, "pgvector", where)
        self._ids = {}

    def close(self) -> None:
        """Close its connections."""
        self._memory.vector_store.connection_pool.close()
        self._memory.db.close()


def in_files(embedder: Any, dim: int, folder: Path) -> Any:
    """An empty `Memory` over its local Qdrant, with rows of that many numbers."""
    return opened(
        embedder, folder, "qdrant", {"path": str(folder / "qdrant"), "embedding_model_dims": dim, "on_disk": True}
    )


def opened(embedder: Any, folder: Path, store: str, where: dict[str, Any]) -> Any:
    """An empty `Memory` over this store of vectors that embeds with this embedder, and has no model."""
    fake = importlib.import_module("langchain_core.language_models").FakeListChatModel(responses=["never asked"])
    memory: Any = importlib.import_module("mem0").Memory.from_config(
        {
            "embedder": {"provider": "langchain", "config": {"model": AsLangChain(embedder)}},
            "llm": {"provider": "langchain", "config": {"model": fake}},
            "vector_store": {"provider": store, "config": where},
            "history_db_path": str(folder / "history.db"),
        }
    )
    # Its wrapper embeds texts as if they were queries, which this embedder keeps apart.
    memory.embedding_model.embed = lambda text, action=None: (
        embedder.embed_query(text) if action == "search" else embedder.embed_documents([text])[0]
    ).tolist()
    return memory


def _encoder(folder: Path) -> Any:
    # The files that it asks for hold stop words only; these are given.
    model = folder / "bm25"
    model.mkdir()
    (model / "config.json").write_text("{}", encoding="utf-8")
    stop = importlib.import_module("bm25s.stopwords").STOPWORDS_EN
    bm25 = importlib.import_module("fastembed.sparse.bm25").Bm25
    return bm25("Qdrant/bm25", specific_model_path=str(model), stopwords=set(stop))
