"""A memory that is only looked at, and what the log shows of itself."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import Event, EventKind, HybridMemory, MemoryConfig, Message, ScopedMemory, open_memory
from hybrid_memory.documents.items import PutItem
from hybrid_memory.errors import AccessDeniedError, InvalidInputError
from tests.faces import Face

MAY = datetime(2026, 5, 1, tzinfo=UTC)


WRITES: dict[str, Callable[[HybridMemory, ScopedMemory], object]] = {
    "remember": lambda _, alice: alice.remember("x"), "mirror": lambda _, alice: alice.mirror([Message(content="x")]),
    "compact": lambda _, alice: alice.compact(), "reset": lambda _, alice: alice.reset(),
    "learn": lambda _, alice: alice.learn(), "flush": lambda _, alice: alice.flush(),
    "offload": lambda _, alice: alice.offload("x"), "put": lambda _, alice: alice.block("task").put("x"),
    "rollback": lambda _, alice: alice.rollback(1), "forget": lambda _, alice: alice.forget(query="heron"),
    "create_space": lambda _, alice: alice.space("other").create(),
    "grant": lambda _, alice: alice.space("team").grant(user="bob", right="read"),
    "forget user": lambda memory, _alice: memory.forget(user="alice"),
    "flush all": lambda memory, _alice: memory.flush(),
    "rebuild": lambda memory, _alice: memory.rebuild(), "archive": lambda memory, _alice: memory.archive(),
    "items": lambda memory, _alice: memory.items("app").batch([PutItem(("a",), "k", {"x": 1})]),
}  # fmt: skip


@pytest.fixture
def left(tmp_path: Path) -> MemoryConfig:
    """A store with two turns that nobody has read or indexed yet, and two that were."""
    config = MemoryConfig(url=f"sqlite:///{tmp_path / 'memory.db'}", embedder="hashing")
    with open_memory(config) as memory:
        alice = memory.scoped(user="alice", session="monday")
        alice.remember(["I live in Rome.", "The heron nests by the mill."], at=MAY)
        memory.flush()
        memory.scoped(user="alice").space("team").create()
        alice.remember(["I moved to Berlin.", "The otter sleeps under the bridge."], at=MAY)
    return config


def looked_at(alice: ScopedMemory) -> None:
    """Every verb that shows something."""
    alice.recall("Where is the heron?")
    alice.why("#1", "heron")
    alice.facts(history=True)
    alice.assemble("Where do I live?")
    for show in (alice.profile, alice.summary, alice.history, alice.events, alice.blocks, alice.space("team").history):
        show()


def log_of(memory: HybridMemory) -> list[tuple[str, int]]:
    services = memory._runtime.services
    return [(str(owner), event.position) for owner in memory.owners() for event in services.truth.read(owner)]


def test_looking_changes_nothing(left: MemoryConfig) -> None:
    with open_memory(left, read_only=True) as memory:
        before, stats = log_of(memory), memory.stats()
        assert stats.unindexed > 0
        looked_at(memory.scoped(user="alice", session="monday"))
        with pytest.raises(AccessDeniedError):
            memory.scoped(user="mallory").space("team").recall("heron")
        assert log_of(memory) == before
        assert memory.stats().unindexed == stats.unindexed
    with open_memory(left) as memory:
        assert [pair for pair in log_of(memory) if pair not in before] == []


def test_verbs_that_change_something_are_refused(left: MemoryConfig, tmp_path: Path) -> None:
    with open_memory(left, read_only=True) as memory:
        before = log_of(memory)
        for verb, write in WRITES.items():
            with pytest.raises(InvalidInputError, match="read-only"):
                write(memory, memory.scoped(user="alice", session="monday"))
            assert log_of(memory) == before, verb
    empty = MemoryConfig(url=f"sqlite:///{tmp_path / 'empty.db'}", embedder="hashing")
    with open_memory(left) as memory, open_memory(empty, read_only=True) as target:
        with pytest.raises(InvalidInputError, match="read-only"):
            memory.migrate(target)
        assert target.stats().events == 0


def test_owners_are_all_that_something_was_written_for(left: MemoryConfig, face: Face) -> None:
    with open_memory(left) as memory:
        there = face(memory).owners()
        assert [(scope.user, scope.space) for scope in there] == [(None, "team"), ("alice", None)]


class TestEvents:
    def test_they_are_the_log_in_order_and_pages_of_them_all_of_them(self, memory: HybridMemory, face: Face) -> None:
        bo = memory.scoped(user="bo", session="monday")
        bo.remember([f"I like tea number {number}." for number in range(25)], at=MAY)
        bo.facts()
        events = face(bo).events()
        said = [event.message.text for event in events if event.kind is EventKind.MESSAGE]
        assert said == [f"I like tea number {number}." for number in range(25)]
        assert [event.position for event in events] == sorted(event.position for event in events)
        before, pages = None, list[Event]()
        while page := face(bo).events(before=before, limit=4):
            assert len(page) <= 4
            pages = [*page, *pages]
            before = page[0].position
        assert pages == events
        assert {event.kind for event in face(bo).events(kinds=["claim", EventKind.GRANT])} == {"claim"}
        assert face(bo).events(until=MAY) == []

    @pytest.mark.parametrize(
        "wrong", [{"kinds": ["turn"]}, {"before": 0}, {"limit": -1}, {"since": MAY.replace(tzinfo=None)}]
    )
    def test_what_is_wrong_is_refused(self, memory: HybridMemory, wrong: dict[str, Any]) -> None:
        with pytest.raises(InvalidInputError):
            memory.scoped(user="bo").events(**wrong)


class TestWhyNot:
    @pytest.fixture
    def bo(self, memory: HybridMemory) -> ScopedMemory:
        bo = memory.scoped(user="bo", session="monday")
        bo.remember([f"The heron nests by mill number {number}." for number in range(8)], at=MAY)
        bo.remember("Completely other words about llamas.", at=MAY)
        return bo

    def test_what_was_outranked_is_compared_with_the_last_that_came_back(self, bo: ScopedMemory, face: Face) -> None:
        hits = bo.recall("heron by mill number 3", k=8)
        told = face(bo).why(hits[5].record.sources[0], "heron by mill number 3", k=2)
        assert "rank is 6" in told.about
        assert told.steps[0] == hits[5].arithmetic
        assert told.steps[1].endswith(hits[1].arithmetic)
        assert told.turns[0][1].text == hits[5].record.text

    def test_a_filter_that_leaves_it_out_is_named(self, bo: ScopedMemory) -> None:
        assert bo.why("#9", "llamas", kinds=["fact"]).steps == ("it is a turn, but only other kinds were requested",)
        assert "outside the requested time" in bo.why("#9", "llamas", until=MAY).steps[0]
        assert "metadata differs" in bo.why("#9", "llamas", metadata={"a": 1}).steps[0]
        link = [{"type": "image_url", "image_url": {"url": "https://a.b/c"}}]
        assert "not in the index" in bo.why(bo.remember(Message(content=link)).ids[0], "heron").steps[0]

    def test_what_no_path_found_is_told_with_its_words(self, memory: HybridMemory) -> None:
        bo = memory.scoped(user="many", session="s")
        bo.remember("Completely other words about llamas.", at=MAY)
        bo.remember([f"The heron nests by mill number {number}." for number in range(300)], at=MAY)
        told = bo.why(bo.history()[0].id or "", "heron mill")
        assert "no word in common" in told.steps

    def test_what_is_no_turn_or_not_there_is_refused(self, memory: HybridMemory, bo: ScopedMemory) -> None:
        bo.block("task").put("x")
        block = memory.scoped(user="bo").events(kinds=["block"])[0]
        for query, what, told in (
            ("heron", block.id, "not a turn"),
            ("heron", "#999", "has no event"),
            (" ", "#1", "empty"),
        ):
            with pytest.raises(InvalidInputError, match=told):
                bo.why(what, query)
