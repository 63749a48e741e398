"""What a memory does on its own once the conversation pauses, and how it ends."""

import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError
from datetime import UTC, datetime, timedelta

import pytest

from hybrid_memory import EventKind, HybridMemory, Task
from hybrid_memory.errors import MemoryClosedError
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.ports import Floats
from hybrid_memory.runtime.tasks import current_priority
from tests.archives import InMemoryArchive
from tests.doubles import PATIENCE, FaultyEmbedder, texts, wait_until
from tests.faces import Face, Open

pytestmark = pytest.mark.background

SOON = {"delay": timedelta(seconds=0.05)}


class Embedder(HashingEmbedder):
    """Can be held up, and notes at which priority it was called."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.queries: list[int] = []
        self.documents: list[int] = []
        self.texts = 0

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        self.documents.append(current_priority(0))
        self.entered.set()
        self.gate.wait(PATIENCE)
        self.texts += len(texts)
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> Floats:
        self.queries.append(current_priority(0))
        row: Floats = super().embed_documents([text])[0]
        return row

    def embed_queries(self, texts: Sequence[str]) -> Floats:
        self.queries.append(current_priority(0))
        return super().embed_documents(texts)


def takes_no_work(memory: HybridMemory) -> bool:
    try:
        memory.schedule(Task(int, kind="mine")).result(PATIENCE)
    except (CancelledError, MemoryClosedError):  # closing cancels what it finds in the queue
        return True
    return False


def indexed(memory: HybridMemory, records: int) -> bool:
    stats = memory.stats()
    return (stats.records, stats.vectors, stats.unindexed, stats.pending) == (records, records, 0, 0)


def caught_up(memory: HybridMemory, records: int) -> bool:
    """Whether nothing is left to do in the background: turns are read for facts too."""
    log = memory._runtime.services.truth
    return indexed(memory, records) and all(log.read(owner, kinds=(EventKind.LEARNED,)) for owner in memory.owners())


def test_what_is_said_is_indexed_and_embedded_by_itself(face: Face, opened: Open) -> None:
    embedder = FaultyEmbedder(HashingEmbedder())
    memory = opened(embedder=embedder, learning=SOON)
    alice = memory.scoped(user="alice")
    face(alice).remember(["it rains", "我的猫睡觉", "hello there"])
    face(memory.scoped(user="bob")).remember("it snows")
    wait_until(lambda: caught_up(memory, 4))
    assert memory.stats().work.kinds["indexing"].done >= 2
    embedder.calls.clear()
    assert face(alice).recall("rain")[0].record.text == "it rains"
    assert set(embedder.calls) == {"embed_query"}, "the query alone"


def test_a_reopened_store_is_caught_up(opened: Open) -> None:
    with opened(orchestration={"background": False}, learning={"background": False}) as memory:
        for user in ("alice", "bob", "carol"):
            memory.scoped(user=user).remember(["it rains", "it snows"])
        assert memory.stats().unindexed == 6
    memory = opened(learning=SOON)
    wait_until(lambda: indexed(memory, 6))


@pytest.mark.parametrize("words", ["Is this turn {}?", "turn {}"], ids=["turns", "turns and statements"])
def test_closing_stops_embedding_and_loses_nothing(opened: Open, caplog: pytest.LogCaptureFixture, words: str) -> None:
    embedder = Embedder()
    embedder.gate.clear()
    memory = opened(embedder=embedder, learning=SOON)
    memory.scoped(user="alice").remember([words.format(number) for number in range(32 * 20)])
    assert embedder.entered.wait(PATIENCE)
    closing = threading.Thread(target=memory.close, daemon=True)
    closing.start()
    wait_until(lambda: takes_no_work(memory))
    embedder.gate.set()
    closing.join(PATIENCE)
    assert embedder.texts < 32 * 10, "of twenty batches it waits for those that were begun"
    assert not [record for record in caplog.records if "failed" in record.message], "an end is no failure"
    again = opened(embedder=embedder, learning=SOON)
    assert len(again.scoped(user="alice").history()) == 640
    wait_until(lambda: indexed(again, 640))
    if "?" in words:  # nothing that is learned
        assert embedder.texts == 640, "no vector was made twice"


def test_a_failing_embedder_is_asked_again_after_the_next_write(opened: Open, caplog: pytest.LogCaptureFixture) -> None:
    embedder = FaultyEmbedder(HashingEmbedder())
    memory = opened(embedder=embedder, learning=SOON)
    alice = memory.scoped(user="alice")
    with embedder.failing(ConnectionError("offline")):
        alice.remember("it rains")
        wait_until(lambda: memory.stats().records == 1 and bool(embedder.calls) and "offline" in caplog.text)
    alice.remember("it snows")
    wait_until(lambda: indexed(memory, 2))


def test_recall_is_urgent_and_what_nobody_waits_for_is_not(face: Face, opened: Open) -> None:
    embedder = Embedder()
    memory = opened(embedder=embedder, learning=SOON, orchestration={"cache": 0})
    alice = memory.scoped(user="alice")
    alice.remember("it rains")
    wait_until(lambda: indexed(memory, 1))
    assert set(embedder.documents) == {3}
    face(alice).recall("rain")
    assert embedder.queries == [8]
    waited_for = Embedder()
    memory = opened(url="memory://", embedder=waited_for, orchestration={"background": False})
    alice = memory.scoped(user="alice")
    alice.remember("it rains")
    face(alice).recall("rain")
    assert waited_for.documents == [8], "turns that a recall waits for are urgent too"


@pytest.mark.parametrize("by_itself", [False, True])
def test_what_is_archived_stays_readable(opened: Open, monkeypatch: pytest.MonkeyPatch, by_itself: bool) -> None:
    archive, now = InMemoryArchive(), datetime.now(UTC)
    monkeypatch.setattr("hybrid_memory.memory.runtime.ARCHIVE_EVERY", timedelta(seconds=0.05 if by_itself else 3600))
    monkeypatch.setattr("hybrid_memory.engines.clickhouse.ClickHouseArchive", lambda *_, **__: archive)
    memory = opened(learning=SOON, archive={"url": "chdb:///unused", "after": timedelta(days=30)})
    people = [memory.scoped(user=name) for name in ("alice", "bob")]
    for person in people:
        person.remember([f"old {number}" for number in range(3)], at=now - timedelta(days=31))
        person.remember("new", at=now)
    if not by_itself:
        assert memory.archive().archived == 6
        assert memory.archive().archived == 0
    wait_until(lambda: archive.size().events == 6)
    for person in people:
        assert texts(person.history()) == ["old 0", "old 1", "old 2", "new"]
        assert {f"old {number}" for number in range(3)} <= set(texts(person.recall("old", k=9)))
    people[0].forget(query="old 1")
    assert texts(people[0].history()) == ["old 0", "old 2", "new"]
    assert archive.size().events == 5


class Releasing(HashingEmbedder):
    """Another embedder, which lets a first one go on before it answers itself."""

    def __init__(self, first: Embedder) -> None:
        super().__init__(dim=32)
        self._first = first

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        self._first.gate.set()
        wait_until(lambda: self._first.texts > 0)
        return super().embed_documents(texts)


def test_a_rebuild_takes_over_from_what_runs_in_the_background(face: Face, opened: Open) -> None:
    embedder = Embedder()
    memory = opened(embedder=embedder, learning=SOON)
    alice = memory.scoped(user="alice")
    embedder.gate.clear()
    alice.remember(["my cat sleeps", "it rains"])
    try:
        assert embedder.entered.wait(PATIENCE)
        face(memory).rebuild(embedder=Releasing(embedder))
    finally:
        embedder.gate.set()
    wait_until(lambda: indexed(memory, 2))
    assert memory._runtime.services.index.embedder() == ("hashing-32", 32)
    (hit, _) = face(alice).recall("cat")
    assert (hit.record.text, hit.note) == ("my cat sleeps", "")
