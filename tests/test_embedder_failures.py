"""Recall without the vectors of texts: a model that fails or is away, an index that is away or lacks many."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from hybrid_memory import HybridMemory
from hybrid_memory.errors import EmbedderMismatchError, ModelError, StoreUnavailableError
from hybrid_memory.models.embedders import HashingEmbedder
from tests.doubles import FaultyEmbedder, Line, line_to, texts, wait_until
from tests.faces import Face, Open
from tests.test_background import Embedder

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


TURNS = [f"message {number} about cat{number} and its dish" for number in range(100)]


@pytest.fixture
def imported(opened: Open) -> str:
    """The user of a store that was filled without an embedder."""
    with opened(embedder="none") as memory:
        memory.scoped(user="alice").remember(TURNS)
        memory.flush()
    return "alice"


def _found(face: Face, memory: HybridMemory, user: str) -> tuple[str, float, str]:
    first = face(memory.scoped(user=user)).recall("cat77", k=3)[0]
    return first.record.text, first.signals.text, first.note


@pytest.mark.background
def test_the_first_recall_after_a_large_import_answers_at_once(
    face: Face, opened: Open, imported: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid_memory.store.indexing.AT_ONCE", 50)
    embedder = Embedder()
    embedder.gate.clear()
    memory = opened(embedder=embedder)
    try:
        text, share, note = _found(face, memory, imported)
        assert (text, share) == (TURNS[77], 1)
        assert note == "100 vectors still to be made, what has none is found by its words"
        assert embedder.entered.wait(60), "the background makes them at once"
        assert _found(face, memory, imported)[2].startswith("100 vectors"), "it is not waited for either"
    finally:
        embedder.gate.set()
    wait_until(lambda: not memory.stats().pending)
    assert _found(face, memory, imported)[2] == ""
    assert embedder.texts == len(TURNS)


def test_without_a_background_recall_makes_them_for_as_long_as_it_waits_for_a_model(
    face: Face, opened: Open, imported: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid_memory.store.indexing.AT_ONCE", 50)
    seconds = count(step=4)  # a batch takes four, and an embedder is waited for ten
    monkeypatch.setattr("hybrid_memory.store.indexing.time", SimpleNamespace(monotonic=lambda: next(seconds)))
    memory = opened(orchestration={"background": False})
    assert _found(face, memory, imported)[2].startswith("4 vectors still to be made")
    assert _found(face, memory, imported) == (TURNS[77], 1, "")


def test_read_only_says_what_is_missing(face: Face, opened: Open, imported: str) -> None:
    memory = opened(embedder=Embedder()).as_read_only()
    for _ in range(2):
        text, share, note = _found(face, memory, imported)
        assert (text, share) == (TURNS[77], 1)
        assert note.startswith("100 vectors still to be made")


def test_what_has_no_vector_yet_is_found_by_words(face: Face, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid_memory.store.indexing.AT_ONCE", 50)
    memory = opened()
    alice = memory.scoped(user="alice")
    face(alice).remember(TURNS[:70])
    face(memory).flush()
    face(alice).remember([*TURNS[70:], *(f"{text}, again" for text in TURNS[70:])])
    assert set(texts(face(alice).recall("where is cat77?", k=2))) == {TURNS[77], f"{TURNS[77]}, again"}


NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)
DAY = timedelta(days=1)
FAILURE = "no route to the index"


def cut(index: Line) -> None:
    index.error = StoreUnavailableError(FAILURE)


def test_the_log_answers_and_says_so(face: Face, opened: Open) -> None:
    memory = opened(clock=lambda: NOW)
    index = line_to(memory, "index")
    alice = memory.scoped(user="alice")
    alice.remember(["it rains", "my cat sleeps", "我的猫睡觉"], at=NOW - DAY, metadata={"tag": 1})
    cut(index)
    hit = face(alice).recall("the cat", k=1)[0]
    assert hit.record.text == "my cat sleeps"
    assert (hit.record.at, hit.record.metadata, hit.record.scope) == (NOW - DAY, {"tag": 1}, alice.scope)
    assert hit.record.sources == (alice.history()[1].id,)
    assert FAILURE in hit.note
    assert FAILURE in hit.why()
    assert hit.signals.text == 1
    assert hit.score == pytest.approx(0.9 * hit.signals.text + 0.1 * hit.signals.recency)
    assert face(alice).recall("猫", k=1)[0].record.text == "我的猫睡觉"
    assert 0 < hit.signals.recency < 1


def test_an_outage_delays_the_index_and_loses_nothing(face: Face, opened: Open) -> None:
    memory = opened()
    index = line_to(memory, "index")
    alice = memory.scoped(user="alice")
    alice.remember("cat 0")
    face(alice).recall("cat")
    cut(index)
    for number in range(1, 40):
        face(alice).remember(f"cat {number}")
        if number % 10 == 0:
            assert f"cat {number}" in texts(face(alice).recall(f"cat {number}", k=1))
    with pytest.raises(StoreUnavailableError, match=FAILURE):
        face(memory).flush()
    assert len(face(alice).history()) == 40
    index.error = None
    hits = face(alice).recall("cat", k=50)
    assert set(texts(hits)) == {f"cat {number}" for number in range(40)}
    assert {hit.note for hit in hits} == {""}
    stats = memory.stats()
    assert (stats.records, stats.vectors, stats.unindexed, stats.pending) == (40, 40, 0, 0)


@pytest.mark.parametrize("seed", range(4))
def test_a_line_that_breaks_anywhere_loses_and_repeats_nothing(opened: Open, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - for tests
    memory = opened(url="memory://")
    index = line_to(memory, "index")
    alice = memory.scoped(user="alice")
    for number in range(30):
        alice.remember(f"cat {number}")
        index.error = None
        method = chance.choice(["upsert", "put_vectors", "pending", "applied", "known", "matching", "places", "get"])
        index.breaks = {method: (chance.choice(["before", "after"]), StoreUnavailableError(FAILURE))}
        assert f"cat {number}" in texts(alice.recall(f"cat {number}", k=30))
    index.error, index.breaks = None, {}
    memory.flush()
    stats = memory.stats()
    assert (stats.records, stats.vectors, stats.unindexed, stats.pending) == (30, 30, 0, 0)
    assert sorted(texts(alice.recall("cat", k=99))) == sorted(f"cat {number}" for number in range(30))
