"""This library, whole, or by one of its two searches."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from benchmarks.peers.systems import Embedder, Turn
from hybrid_memory import MemoryConfig, Message, Weights, open_memory

ALONE = {
    "vector": replace(Weights.plain(), vector=1.0, text=0.0),
    "text": replace(Weights.plain(), vector=0.0, text=1.0),
}


class Own:
    """A store in a file or on a server, with the defaults but for two.

    Nothing works in the background beside what is timed, and no answer is kept, which would be given the second time.

    Args:
        only: weigh nothing else.
        url: of a server: its log and index, or of Milvus, the index alone.
    """

    owner = "u"

    def __init__(
        self, embedder: Embedder, folder: Path, only: Literal["vector", "text"] | None = None, url: str | None = None
    ) -> None:
        self.only = only
        self._embedder = embedder
        self._config = MemoryConfig.of(
            {
                **_stores(folder, url),
                "recall": {"cache_ttl": 0},
                "orchestration": {"background": False},
                "learning": {"background": False},
            }
        )
        self._memory = open_memory(self._config, embedder=embedder)

    def add(self, turns: Sequence[Turn]) -> None:
        """Remember them, and index them at once."""
        self.remember(turns)
        self.index()

    def remember(self, turns: Sequence[Turn]) -> None:
        """Remember them, a session at a time."""
        for (owner, session), said in groupby(turns, key=lambda turn: (turn.owner, turn.session)):
            self._memory.scoped(user=owner, session=session).remember([_message(turn) for turn in said])

    def index(self) -> None:
        """Index what was remembered, and read the facts out of it."""
        self._memory.flush(progress=False)

    def search(self, query: str, k: int) -> list[str]:
        """By `recall`."""
        weights = None if self.only is None else ALONE[self.only]
        hits = self._memory.scoped(user=self.owner).recall(query, k=k, weights=weights)
        return [hit.record.sources[0] for hit in hits]

    def reopen(self) -> None:
        """As another process would find it."""
        self.close()
        self._memory = open_memory(self._config, embedder=self._embedder)

    def close(self) -> None:
        """Close the store."""
        self._memory.close()


def _stores(folder: Path, url: str | None) -> dict[str, Any]:
    """Where the log and the index are."""
    file = f"sqlite:///{folder / 'memory.db'}"
    if url is None:
        return {"url": file}
    return {"url": file, "index": {"url": url}} if url.startswith("milvus:") else {"url": url}


def _message(turn: Turn) -> Message:
    name = None if turn.speaker == turn.role else turn.speaker
    return Message(role=turn.role, name=name, content=turn.said, id=turn.id, at=turn.at)  # type: ignore[arg-type]
