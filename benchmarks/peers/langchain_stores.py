"""LangChain's retrievers over its own vector stores, and its ensemble with BM25."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from benchmarks.peers.systems import Embedder, System, Turn


class AsLangChain(Embeddings):
    """Our embedder as LangChain's."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Rows as lists."""
        rows: list[list[float]] = self._embedder.embed_documents(texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """One row."""
        row: list[float] = self._embedder.embed_query(text).tolist()
        return row


class _Retrieving(System):
    """A vector store, asked through its retriever."""

    def __init__(self, embedder: Embedder, _folder: Path) -> None:
        self._embeddings = AsLangChain(embedder)
        self._store: Any = None

    def search(self, query: str, k: int) -> list[str]:
        """By the retriever; the ids stand in the metadata, which is not embedded."""
        found = self._store.as_retriever(search_kwargs={"k": k}).invoke(query)
        return [document.metadata["id"] for document in found]


class InMemory(_Retrieving):
    """`InMemoryVectorStore`."""

    def add(self, turns: Sequence[Turn]) -> None:
        """Add documents."""
        self._store = self._store or InMemoryVectorStore(self._embeddings)
        self._store.add_documents(documents(turns))


class Faiss(_Retrieving):
    """`FAISS` of langchain-community: exact, by distance, which on unit vectors ranks as the cosine does."""

    def add(self, turns: Sequence[Turn]) -> None:
        """Add documents; the first ones make the index."""
        if self._store is None:
            stores = importlib.import_module("langchain_community.vectorstores")
            self._store = stores.FAISS.from_documents(documents(turns), self._embeddings)
        else:
            self._store.add_documents(documents(turns))


class Ensemble(Faiss):
    """`EnsembleRetriever` over `BM25Retriever` and FAISS, each with its defaults, equal weights."""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        super().__init__(embedder, folder)
        self._documents: list[Document] = []
        self._words: Any = None

    def add(self, turns: Sequence[Turn]) -> None:
        """Add documents; BM25 can only be made anew."""
        super().add(turns)
        self._documents += documents(turns)
        retrievers = importlib.import_module("langchain_community.retrievers")
        self._words = retrievers.BM25Retriever.from_documents(self._documents)

    def search(self, query: str, k: int) -> list[str]:
        """Each finds k; of the fusion the first k."""
        ensembles = importlib.import_module("langchain_classic.retrievers")
        self._words.k = k
        vectors = self._store.as_retriever(search_kwargs={"k": k})
        fused = ensembles.EnsembleRetriever(retrievers=[self._words, vectors], weights=[0.5, 0.5]).invoke(query)
        return [document.metadata["id"] for document in fused[:k]]


def documents(turns: Sequence[Turn]) -> list[Document]:
    """The turns as documents."""
    return [Document(page_content=turn.text, metadata={"id": turn.id}) for turn in turns]
