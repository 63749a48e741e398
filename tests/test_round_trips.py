"""How often a verb asks its engines: on a server each call is a way there and back."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridMemory, MemoryConfig, ScopedMemory, open_memory
from hybrid_memory.engines.sqlite import SqliteIndex, SqliteLog
from tests.faces import Face

TURNS = [f"I bought a {colour} lamp number {number}" for number, colour in enumerate(["red", "green", "blue"] * 10)]


class Calls(list[str]):
    """The calls of SQLite's log and index by name, but for those that they make themselves; empty at first."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self._within = False
        for engine in (SqliteIndex, SqliteLog):
            for name in dir(engine):
                method = getattr(engine, name)
                if callable(method) and not name.startswith("_"):
                    patch.setattr(engine, name, self._noting(name, method))

    def _noting(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def noting(*args: Any, **kwargs: Any) -> Any:
            if self._within:
                return method(*args, **kwargs)
            self.append(name)
            self._within = True
            try:
                return method(*args, **kwargs)
            finally:
                self._within = False

        return noting

    def of(self, verb: Callable[[], object]) -> list[str]:
        """Those of this verb."""
        self.clear()
        verb()
        return list(self)


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    quiet = {"learning": {"background": False}, "orchestration": {"background": False}}
    config = MemoryConfig.model_validate({"url": f"sqlite:///{tmp_path}/m.db", "embedder": "hashing", **quiet})
    with open_memory(config) as memory:
        yield memory


@pytest.fixture
def alice(face: Face, memory: HybridMemory) -> ScopedMemory:
    alice = memory.scoped(user="alice", session="s")
    alice.remember(TURNS)
    memory.flush(progress=False)
    alice.recall("what lamp is red?")
    return face(alice)


@pytest.fixture
def calls(alice: ScopedMemory, monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(monkeypatch)


def test_a_recall_asks_four_times(alice: ScopedMemory, calls: Calls) -> None:
    assert calls.of(lambda: alice.recall("green lamp")) == ["state", "status", "explore", "fetch"]
    assert calls.of(lambda: alice.recall("green lamp")) == ["state"], "nothing was written since"


@pytest.mark.parametrize(
    "query", ["Did Marion buy the blu lamp?", '"lamp number 7"', "What is my newest lamp now?", "lamp two weeks ago"]
)
def test_whatever_is_asked_a_recall_asks_at_most_eight_times(alice: ScopedMemory, calls: Calls, query: str) -> None:
    assert len(calls.of(lambda: alice.recall(query))) <= 8
    assert len(calls.of(lambda: alice.as_of(20).recall(query))) <= 8, "of a view of the past, too"


def test_what_was_just_said_is_indexed_on_the_way(alice: ScopedMemory, calls: Calls) -> None:
    assert calls.of(lambda: alice.remember("I sold the blue lamp")) == ["append"]
    asked = calls.of(lambda: alice.recall("who sold the lamp?"))
    assert len(asked) <= 10, asked
    assert len(calls.of(lambda: alice.recall("what was sold?"))) <= 5


def test_a_prompt_asks_for_what_it_shows(alice: ScopedMemory, calls: Calls) -> None:
    alice.assemble("which lamp is green?")
    asked = calls.of(lambda: alice.assemble("which lamp is blue?"))
    assert len(asked) <= 13, asked
    alice.remember("I bought it again")
    asked = calls.of(lambda: alice.assemble("what did I buy again?"))
    assert len(asked) <= 22, asked
