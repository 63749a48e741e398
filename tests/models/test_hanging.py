"""Models that never answer: nothing waits for them for ever."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from hybrid_memory.memory import runtime
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.runtime.breaker import Breaker
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


def test_a_prompt_goes_by_rules_while_the_language_model_hangs(
    face: Face, opened: Open, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid_memory.models.language.Breaker", partial(Breaker, pause=3600.0))  # no probe in time

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
