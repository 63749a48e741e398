from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from hybrid_memory.errors import EmbedderMismatchError, ModelError
from hybrid_memory.models.embedders import HashingEmbedder
from tests.doubles import FaultyEmbedder, texts
from tests.faces import Face, Open

OFFLINE = ConnectionError("model host is offline")


def test_recall_falls_back_to_words_and_says_so(face: Face, opened: Open) -> None:
    embedder = FaultyEmbedder(HashingEmbedder())
    memory = opened(embedder=embedder, orchestration={"cache": 0})
    alice = memory.scoped(user="alice")
    face(alice).remember(["my cat sleeps", "it rains in Berlin"])
    with embedder.failing(OFFLINE):
        (hit,) = face(alice).recall("the cat", k=1)
        assert (hit.record.text, hit.signals.vector, hit.signals.text) == ("my cat sleeps", 0, 1)
        assert "model host is offline" in hit.note
        assert "model host is offline" in hit.why()
        stats = face(memory).stats()
        assert (stats.unindexed, stats.pending, stats.vectors) == (0, 2, 0)
        with pytest.raises(ModelError, match="model host is offline"):
            face(memory).flush()
    receipt = face(memory).flush()
    assert (receipt.indexed, receipt.embedded) == (0, 2)
    with embedder.failing(OFFLINE, methods={"embed_query"}):
        assert "model host is offline" in face(alice).recall("the cat", k=1)[0].note
    (hit,) = face(alice).recall("the cat", k=1)
    assert (hit.record.text, hit.note, hit.signals.vector) == ("my cat sleeps", "", 1)


def test_vectors_made_before_a_failure_are_kept(face: Face, opened: Open) -> None:
    embedder = FaultyEmbedder(HashingEmbedder())
    memory = opened(embedder=embedder)
    alice = memory.scoped(user="alice")
    face(alice).remember([f"Where is cat number {number}?" for number in range(100)])
    with embedder.failing(OFFLINE, methods={"embed_documents"}, after=2), pytest.raises(ModelError):
        face(memory).flush()
    stats = face(memory).stats()
    assert stats.records == 100
    assert 0 < stats.vectors < 100
    assert stats.vectors + stats.pending == 100
    assert face(memory).flush().embedded == stats.pending


def test_a_rebuild_that_fails_half_way_is_finished_by_flush(face: Face, opened: Open) -> None:
    memory = opened()
    alice = memory.scoped(user="alice")
    face(alice).remember(["my cat sleeps", "it rains"])
    face(memory).flush()
    embedder = FaultyEmbedder(HashingEmbedder(dim=32))
    with embedder.failing(OFFLINE, methods={"embed_documents"}, after=1), pytest.raises(ModelError):
        face(memory).rebuild(embedder=embedder)
    assert texts(face(alice).recall("cat", k=1)) == ["my cat sleeps"]
    face(memory).flush()
    stats = face(memory).stats()
    assert (stats.vectors, stats.pending, stats.embedder) == (2, 0, "hashing-32")


class Narrow:
    """An embedder that keeps its name and changes its width."""

    name = "mine"

    def __init__(self, width: int) -> None:
        self._width = width

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0] * self._width for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0] * self._width


@pytest.mark.parametrize("waiting", [False, True], ids=["all indexed", "one waiting"])
def test_an_embedder_of_another_name_or_width_is_refused(face: Face, opened: Open, waiting: bool) -> None:
    with opened(embedder=Narrow(8)) as memory:
        face(memory.scoped(user="alice")).remember("my cat sleeps")
        face(memory).flush()
    with pytest.raises(EmbedderMismatchError, match="mine"):
        opened(embedder=HashingEmbedder(dim=64))
    with pytest.raises(EmbedderMismatchError, match="8"):  # noqa: PT012 - at opening, or at the latest when it matters
        memory = opened(embedder=Narrow(9))
        alice = memory.scoped(user="alice")
        if waiting:
            face(alice).remember("another")
        face(alice).recall("cat")
    with opened(embedder=Narrow(8)) as memory:
        assert texts(face(memory.scoped(user="alice")).recall("cat", k=1)) == ["my cat sleeps"]


NONSENSE: dict[str, Any] = {
    "nothing": lambda texts: None,
    "text": lambda texts: "vectors",
    "too many": lambda texts: [[1.0, 2.0]] * (len(texts) + 1),
    "too deep": lambda texts: [[[1.0]]] * len(texts),
    "ragged": lambda texts: [[1.0], [1.0, 2.0]][: len(texts)] * 2,
    "NaN": lambda texts: [[float("nan"), 1.0]] * len(texts),
    "infinity": lambda texts: [[float("inf"), 1.0]] * len(texts),
    "words": lambda texts: [["a", "b"]] * len(texts),
    "empty rows": lambda texts: [[] for _ in texts],
    "no rows": lambda texts: [],
    "one": lambda texts: 1.0,
}


@pytest.mark.parametrize("answer", NONSENSE)
def test_nonsense_from_an_embedder_never_reaches_the_store(face: Face, opened: Open, answer: str) -> None:
    memory = opened(embedder=NONSENSE[answer])
    alice = memory.scoped(user="alice")
    face(alice).remember(["my cat sleeps", "it rains"])
    (hit,) = face(alice).recall("the cat", k=1)
    assert hit.record.text == "my cat sleeps"
    assert "embedder" in hit.note
    with pytest.raises(ModelError):
        face(memory).flush()
    assert face(memory).stats().vectors == 0
