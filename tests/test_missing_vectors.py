"""Recall where many vectors are missing: after an import without an embedder, or a large one."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import pytest

from hybrid_memory import HybridMemory
from tests.doubles import texts, wait_until
from tests.faces import Face, Open
from tests.test_background import Embedder

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


def test_what_has_no_vector_yet_is_found_by_its_words(
    face: Face, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid_memory.store.indexing.AT_ONCE", 50)
    memory = opened()
    alice = memory.scoped(user="alice")
    face(alice).remember(TURNS[:70])
    face(memory).flush()
    face(alice).remember([*TURNS[70:], *(f"{text}, again" for text in TURNS[70:])])
    assert set(texts(face(alice).recall("where is cat77?", k=2))) == {TURNS[77], f"{TURNS[77]}, again"}
