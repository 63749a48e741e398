"""LangGraph's InMemoryStore with its vector index."""

from collections.abc import Sequence
from pathlib import Path

from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from benchmarks.peers.langchain_stores import AsLangChain
from benchmarks.peers.systems import Embedder, System, Turn

NAMESPACE = ("u",)


class Store(System):
    """Values in one namespace; the text alone is embedded."""

    def __init__(self, embedder: Embedder, _folder: Path) -> None:
        self._store = InMemoryStore(index={"dims": embedder.dim, "embed": AsLangChain(embedder), "fields": ["text"]})

    def add(self, turns: Sequence[Turn]) -> None:
        """In as few batches as have no text twice, which the store refuses."""
        waiting = list(turns)
        while waiting:
            batch: dict[str, Turn] = {}
            later = [turn for turn in waiting if batch.setdefault(turn.text, turn) is not turn]
            self._store.batch([PutOp(NAMESPACE, turn.id, {"text": text}) for text, turn in batch.items()])
            waiting = later

    def search(self, query: str, k: int) -> list[str]:
        """By its index."""
        return [item.key for item in self._store.search(NAMESPACE, query=query, limit=k)]
