"""This library, whole, or by one of its two searches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from typing import Literal

from benchmarks.peers.systems import Embedder, Turn
from hybrid_memory import MemoryConfig, Message, RecallConfig, Weights, open_memory

ALONE = {
    "vector": replace(Weights.plain(), vector=1.0, text=0.0),
    "text": replace(Weights.plain(), vector=0.0, text=1.0),
}


class Own:
    """A store in a file, with the defaults but for the cache of answers, which would answer the second time."""

    def __init__(self, embedder: Embedder, folder: Path, only: Literal["vector", "text"] | None = None) -> None:
        self.only = only
        config = MemoryConfig(url=f"sqlite:///{folder / 'memory.db'}", recall=RecallConfig(cache_ttl=timedelta(0)))
        self._memory = open_memory(config, embedder=embedder)
        self._user = self._memory.scoped(user="u")

    def add(self, turns: Sequence[Turn]) -> None:
        """Remember them, and index them at once."""
        for session, said in groupby(turns, key=lambda turn: turn.session):
            self._memory.scoped(user="u", session=session).remember([_message(turn) for turn in said])
        self._user.flush(progress=False)

    def search(self, query: str, k: int) -> list[str]:
        """By `recall`."""
        weights = None if self.only is None else ALONE[self.only]
        return [hit.record.sources[0] for hit in self._user.recall(query, k=k, weights=weights)]

    def close(self) -> None:
        """Close the store."""
        self._memory.close()


def _message(turn: Turn) -> Message:
    name = None if turn.speaker == turn.role else turn.speaker
    return Message(role=turn.role, name=name, content=turn.said, id=turn.id, at=turn.at)  # type: ignore[arg-type]
