"""A ranker of one's own: what it is given, what its scores do, and what happens where it fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from hybrid_memory import HybridMemory, MemoryConfig, Weights, open_memory
from hybrid_memory.arrays import Array
from hybrid_memory.errors import ModelError


class ByLength:
    """The shorter a text, the higher its score."""

    name = "by-length"

    def __init__(self, answer: Array | Exception | None = None) -> None:
        self.answer = answer
        self.asked: list[tuple[str, frozenset[str]]] = []

    def score(
        self, query: str, signals: Mapping[str, Array], weights: Weights, texts: Callable[[Sequence[int]], list[str]]
    ) -> Array:
        self.asked.append((query, frozenset(signals)))
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is not None:
            return self.answer
        rows = range(len(signals["vector"]))
        return np.array([1 / (1 + len(text)) for text in texts(rows)])


def opened(ranker: ByLength) -> HybridMemory:
    memory = open_memory(MemoryConfig(url="memory://", embedder="hashing"), ranker=ranker)
    memory.scoped(user="ann").remember(["Tea with lemon and a spoon of honey.", "Tea.", "Tea with milk."])
    return memory


def test_its_scores_order_the_hits_and_are_explained() -> None:
    ranker = ByLength()
    with opened(ranker) as memory:
        hits = memory.scoped(user="ann").recall("tea")
    assert [hit.record.text for hit in hits] == ["Tea.", "Tea with milk.", "Tea with lemon and a spoon of honey."]
    assert [hit.score for hit in hits] == pytest.approx([1 / 5, 1 / 15, 1 / 37])
    assert hits[0].arithmetic.startswith("0.200 by by-length; signals 0.")
    query, signals = ranker.asked[0]
    assert query == "tea"
    assert {"vector", "text", "neighbours"} <= signals


@pytest.mark.parametrize(
    "answer", [ModelError("no weights"), np.ones(1), np.array([0.1, 0.2, 2.0]), np.full(3, np.nan)]
)
def test_where_it_fails_the_signals_decide(answer: Array | Exception) -> None:
    with opened(ByLength(answer)) as memory:
        hits = memory.scoped(user="ann").recall("tea")
    with opened(ByLength()) as memory:
        plain = list(memory.scoped(user="ann").recall("tea"))
    assert {hit.record.text for hit in hits} == {hit.record.text for hit in plain}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all("ranked by the signals alone" in hit.note and not hit.ranker for hit in hits)
