"""Recall while, and after, the index is made anew with another embedder."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from hybrid_memory import Hit, HybridMemory, open_memory
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.ports import Floats
from tests.doubles import PATIENCE, line_to, texts
from tests.engines.conftest import Config
from tests.faces import Face

CATS = [f"message {number} about cat{number} and its dish" for number in range(12)]
ENGINES = [("blocking", "memory"), ("async", "sqlite"), ("blocking", "redis"), ("async", "postgres")]
on_engines = pytest.mark.parametrize(("face", "engines"), ENGINES, indirect=["face"])


class Held(HashingEmbedder):
    """Makes its second batch and all after it once it is let go."""

    def __init__(self) -> None:
        super().__init__(dim=32)
        self.calls = 0
        self.entered, self.gate = threading.Event(), threading.Event()

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        if len(texts) > 1:  # not the text that is tried first
            self.calls += 1
            if self.calls > 1:
                self.entered.set()
                assert self.gate.wait(PATIENCE)
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> Floats:
        row: Floats = super().embed_documents([text])[0]
        return row


@pytest.fixture
def memory(engines: str, new_config: Config, monkeypatch: pytest.MonkeyPatch) -> Iterator[HybridMemory]:
    monkeypatch.setattr("hybrid_memory.store.indexing.EMBED_BATCH", 4)
    with open_memory(new_config(engines)) as memory:
        memory.scoped(user="alice").remember(CATS)
        memory.scoped(user="bob").remember(CATS[6:])
        memory.flush()
        yield memory


def _is_word_for_word(hits: Sequence[Hit]) -> None:
    assert texts(hits[:1]) == [CATS[11]]
    assert "still to be made" in hits[0].note
    assert hits[0].signals.text == 1


@on_engines
def test_recall_goes_by_words_until_the_vectors_of_another_embedder_are_there(face: Face, memory: HybridMemory) -> None:
    handles = [of.scoped(user=user) for of in (memory, memory.as_read_only()) for user in ("alice", "bob")]
    held = Held()
    with ThreadPoolExecutor(1) as pool:
        rebuilt = pool.submit(lambda: face(memory).rebuild(embedder=held))
        try:
            assert held.entered.wait(PATIENCE)
            for handle in handles:
                _is_word_for_word(face(handle).recall("cat11", k=3))
        finally:
            held.gate.set()
        assert rebuilt.result(PATIENCE).embedded == 18
    assert memory.stats().embedder == "hashing-32"
    for handle in handles:
        first = face(handle).recall("cat11", k=3)[0]
        assert (first.record.text, first.note, first.signals.vector) == (CATS[11], "", 1)


@pytest.mark.parametrize("engines", ["memory", "sqlite"])
def test_recall_goes_by_the_log_while_the_texts_are_indexed_anew(face: Face, memory: HybridMemory) -> None:
    alice, found = memory.scoped(user="alice"), []
    reading = memory.as_read_only().scoped(user="alice")
    line = line_to(memory, "index")
    line.during["upsert"] = lambda: found.extend([face(alice).recall("cat11", k=3), face(reading).recall("cat11", k=3)])
    face(memory).rebuild(embedder=HashingEmbedder(dim=32))
    assert [texts(hits[:1]) for hits in found[:2]] == [[CATS[11]]] * 2
    assert "the index is being rebuilt" in found[0][0].note
    assert face(alice).recall("cat11", k=3)[0].note == ""
