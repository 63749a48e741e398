"""Models that never answer: nothing waits for them for ever."""

from __future__ import annotations

import asyncio
import logging
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest

from hybrid_memory import open_memory
from hybrid_memory.config import MemoryConfig
from hybrid_memory.errors import ModelError
from hybrid_memory.memory import runtime
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.runtime.time_limit import MAX_HANGING
from hybrid_memory.testing.images import ColourEmbedder, picture
from tests.doubles import texts, wait_until
from tests.faces import Face, Open

SHORT = {"model_timeout": timedelta(milliseconds=50)}


class Gate:
    """Holds up whoever passes while it is shut.

    Attributes:
        passed: how often somebody came.
    """

    def __init__(self) -> None:
        self.passed = 0
        self._open = threading.Event()

    def __call__(self) -> None:
        self.passed += 1
        self._open.wait(60)

    def open(self) -> None:
        self._open.set()


class Hung(HashingEmbedder):
    """An embedder behind a gate."""

    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self._gate = gate

    def embed_documents(self, texts: Sequence[str]) -> Any:
        self._gate()
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> Any:
        self._gate()
        return super().embed_documents([text])[0]


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


@pytest.fixture
def hung(gate: Gate) -> Any:
    """Not one of the library's own: those ask nobody."""
    inner = Hung(gate)
    return type("Far", (), {"embed_documents": inner.embed_documents, "embed_query": inner.embed_query})()


def test_recall_goes_by_words_until_the_embedder_answers(face: Face, opened: Open, hung: Any, gate: Gate) -> None:
    memory = opened(embedder=hung, orchestration=SHORT | {"cache": 0, "background": False})
    alice = memory.scoped(user="alice")
    face(alice).remember(["my cat sleeps", "it rains in Berlin"])
    assert gate.passed == 0
    for _ in range(20):
        (hit,) = face(alice).recall("the cat", k=1)
        assert (hit.record.text, hit.signals.vector) == ("my cat sleeps", 0)
        assert "took longer than 0.05 s" in hit.note
    assert gate.passed <= MAX_HANGING
    with pytest.raises(ModelError, match=r"took longer|hangs"):
        face(memory).flush()
    gate.open()
    wait_until(lambda: face(alice).recall("the cat", k=1)[0].note == "")
    assert face(memory).stats().vectors == 2


def test_many_who_wait_at_once_all_get_their_answer(opened: Open, hung: Any, gate: Gate) -> None:
    memory = opened(embedder=hung, orchestration=SHORT | {"background": False})
    alice = memory.scoped(user="alice")
    alice.remember("my cat sleeps")

    async def ask() -> list[Any]:
        return await asyncio.gather(*(alice.arecall(f"cat {number}") for number in range(60)))

    assert all(texts(hits) == ["my cat sleeps"] and hits[0].note for hits in asyncio.run(ask()))
    assert gate.passed <= MAX_HANGING


@pytest.mark.background
def test_close_leaves_behind_what_hangs(
    opened: Open, hung: Any, gate: Gate, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(runtime, "CLOSING", timedelta(milliseconds=50))
    memory = opened(embedder=hung, learning={"delay": timedelta(0)})
    memory.scoped(user="alice").remember("my cat sleeps")
    wait_until(lambda: gate.passed)
    with caplog.at_level(logging.WARNING):
        memory.close()
    assert "while some work hangs" in caplog.text
    gate.open()
    again = opened(embedder=hung).scoped(user="alice")
    assert texts(again.recall("cat")) == ["my cat sleeps"]
    assert again.recall("cat")[0].note == ""


class Never:
    """Every model at once, behind a gate."""

    name = "never"

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def score(self, *_: Any) -> Any:
        self._gate()

    def compress(self, text: str, *, max_tokens: int) -> str:
        self._gate()
        return text[:max_tokens]

    def extract(self, turns: Any, before: Any) -> list[Any]:
        self._gate()
        return []


def test_a_ranker_that_hangs_is_done_without(store: str, gate: Gate) -> None:
    config = MemoryConfig(url=store, embedder="hashing", orchestration=SHORT | {"background": False})  # type: ignore[arg-type]
    with open_memory(config, ranker=Never(gate)) as memory:
        alice = memory.scoped(user="alice")
        alice.remember("my cat sleeps")
        (hit,) = alice.recall("cat")
        assert "ranked by the signals alone, ranker 'never' took longer" in hit.note


def test_a_reranker_that_hangs_is_done_without(store: str, gate: Gate) -> None:
    config = MemoryConfig(url=store, embedder="hashing", orchestration=SHORT | {"background": False})  # type: ignore[arg-type]
    with open_memory(config, ranker=lambda query, texts: gate()) as memory:
        alice = memory.scoped(user="alice")
        alice.remember("my cat sleeps")
        (hit,) = alice.recall("cat")
        assert "not reranked, reranker" in hit.note
        assert "took longer than 0.05 s" in hit.note
        assert hit.own is None


def test_a_compressor_that_hangs_is_done_without(store: str, gate: Gate) -> None:
    config = MemoryConfig(url=store, embedder="hashing", orchestration=SHORT | {"background": False})  # type: ignore[arg-type]
    with open_memory(config, compressor=Never(gate)) as memory:
        condensed = memory.condense(["The cat sleeps. " * 50], max_tokens=20, how="llmlingua")
        assert condensed.texts[0]
        assert "took longer" in condensed.note


def test_an_extractor_that_hangs_reads_the_turns_the_next_time(
    store: str, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    config = MemoryConfig(
        url=store,
        embedder="hashing",
        orchestration=SHORT | {"background": False},  # type: ignore[arg-type]
        learning={"background": False},  # type: ignore[arg-type]
    )
    with open_memory(config, extractor=Never(gate)) as memory:
        alice = memory.scoped(user="alice")
        alice.remember("I live in Hamburg")
        alice.flush()
        assert "extractor 'never' took longer" in caplog.text
        gate.open()

        def learns() -> bool:
            caplog.clear()
            alice.flush()
            return "extractor" not in caplog.text

        wait_until(learns)


def test_images_are_found_by_words_while_their_embedder_hangs(store: str, gate: Gate) -> None:
    class Eyes(ColourEmbedder):
        def embed_images(self, images: Any) -> Any:
            gate()
            return super().embed_images(images)

        def embed_query(self, text: str) -> Any:
            gate()
            return super().embed_query(text)

    sail = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64encode(picture('red')).decode()}"}}
    config = MemoryConfig(url=store, orchestration=SHORT | {"background": False})  # type: ignore[arg-type]
    with open_memory(config, embedder=Eyes()) as memory:
        alice = memory.scoped(user="alice")
        alice.remember({"role": "user", "content": [{"type": "text", "text": "a red sail"}, sail]})
        (hit,) = alice.recall_media("sail")
        assert "took longer" in hit.note


def test_the_wrong_object_is_refused_when_a_memory_is_opened(store: str) -> None:
    wrong: list[Callable[[], Any]] = [
        lambda: open_memory(store, ranker=7),
        lambda: open_memory(store, extractor=object()),  # type: ignore[arg-type]
        lambda: open_memory(store, compressor=object()),  # type: ignore[arg-type]
    ]
    for call in wrong:
        with pytest.raises(ValueError, match=r"has no method|cannot rank"):
            call()


def test_a_prompt_goes_by_rules_while_the_language_model_hangs(face: Face, opened: Open, gate: Gate) -> None:
    def write(prompt: str) -> str:
        gate()
        return "a summary"

    memory = opened(compaction={"max_tokens": 300}, orchestration=SHORT | {"background": False})
    memory.set_language_model(write)
    alice = face(memory.scoped(user="alice", session="s1"))
    for number in range(20):
        alice.remember([f"town {number} is very nice", {"role": "assistant", "content": "tell me more about it"}])
    assert alice.assemble("which town?").messages
    assert gate.passed == 1
    assert alice.summary().text
    alice.remember([f"river {number} is very long" for number in range(20)])
    assert alice.assemble("which river?").messages
    assert gate.passed == 1, "a model that hangs is not asked for the next prompt as well"
