"""Models that never answer: nothing waits for them for ever."""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial

import pytest

from hybrid_memory.memory import runtime
from hybrid_memory.runtime.breaker import Breaker
from hybrid_memory.testing import FaultyModel
from tests.doubles import PATIENCE, texts
from tests.faces import Face, Open
from tests.test_background import Embedder

SHORT = {"model_timeout": timedelta(milliseconds=50)}


@pytest.mark.background
def test_close_leaves_behind_what_hangs(
    opened: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(runtime, "CLOSING", timedelta(milliseconds=50))
    embedder = Embedder()
    embedder.gate.clear()
    # Not one of the library's own: those ask nobody.
    far = type("Far", (), {"embed_documents": embedder.embed_documents, "embed_query": embedder.embed_query})()
    memory = opened(embedder=far, learning={"delay": timedelta(0)})
    memory.scoped(user="alice").remember("my cat sleeps")
    assert embedder.entered.wait(PATIENCE)
    with caplog.at_level(logging.WARNING):
        memory.close()
    assert "while some work hangs" in caplog.text
    embedder.gate.set()
    again = opened(embedder=far).scoped(user="alice")
    assert texts(again.recall("cat")) == ["my cat sleeps"]
    assert again.recall("cat")[0].note == ""


def test_a_prompt_goes_by_rules_while_the_language_model_hangs(
    face: Face, opened: Open, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr("hybrid_memory.models.language.Breaker", partial(Breaker, pause=3600.0))  # no probe in time
    model = FaultyModel("hangs")
    request.addfinalizer(model.release)
    memory = opened(compaction={"max_tokens": 300}, orchestration=SHORT | {"background": False})
    memory.set_language_model(model)
    alice = face(memory.scoped(user="alice", session="s1"))
    for number in range(20):
        alice.remember([f"town {number} is very nice", {"role": "assistant", "content": "tell me more about it"}])
    assert alice.assemble("which town?").messages
    assert model.calls == 1
    assert alice.summary().text
    alice.remember([f"river {number} is very long" for number in range(20)])
    assert alice.assemble("which river?").messages
    assert model.calls == 1, "a model that hangs is not asked for the next prompt as well"
