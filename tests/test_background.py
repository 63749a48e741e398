"""What a memory does on its own once the conversation pauses, and how it ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta

import pytest

from hybrid_memory import EventKind, HybridMemory, LearningConfig, MemoryConfig, open_memory
from hybrid_memory.engines.in_memory.log import InMemoryArchive
from hybrid_memory.errors import MemoryClosedError
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.ports import Floats
from hybrid_memory.recall.cache import RecallProjection
from hybrid_memory.runtime.tasks import Task, current_priority
from hybrid_memory.testing.models import FaultyEmbedder, ScriptedModel
from tests.doubles import PATIENCE, texts, wait_until
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
    except MemoryClosedError:
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


def test_without_background_nothing_happens_by_itself(opened: Open) -> None:
    memory = opened(orchestration={"background": False}, learning={"background": False, **SOON})
    before = set(threading.enumerate())
    memory.scoped(user="alice").remember("it rains")
    assert set(threading.enumerate()) - before == set(), "nobody who could do it"
    assert memory.stats().unindexed == 1


@pytest.mark.parametrize("words", ["Is this turn {}?", "turn {}"], ids=["turns", "turns and statements"])
def test_closing_stops_what_is_embedded_and_loses_nothing(
    opened: Open, caplog: pytest.LogCaptureFixture, words: str
) -> None:
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


def test_no_thread_is_left_behind(face: Face, opened: Open) -> None:
    before = set(threading.enumerate())
    memory = opened(learning=SOON)
    alice = memory.scoped(user="alice")
    alice.remember("it rains")
    wait_until(lambda: indexed(memory, 1))
    face(alice).recall("rain")
    face(memory).close()
    face(memory).close()
    memory = opened(learning=SOON)
    memory.scoped(user="alice").remember("it rains again")
    face(memory).close()
    assert set(threading.enumerate()) - before == set(), "nor by closing at once"
    assert len(opened().scoped(user="alice").history()) == 2


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


def test_a_recall_overtakes_what_is_embedded_in_the_background(opened: Open) -> None:
    """The one call that the background may have is held up; the query gets the other."""
    embedder = Embedder()
    memory = opened(embedder=embedder, learning=SOON)
    alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
    bob.remember("my cat sleeps")
    wait_until(lambda: indexed(memory, 1))
    embedder.entered.clear()
    embedder.gate.clear()
    alice.remember([f"turn {number}" for number in range(100)])
    try:
        assert embedder.entered.wait(PATIENCE)
        (hit,) = bob.recall("cat")
        assert (hit.record.text, hit.note) == ("my cat sleeps", "")
        assert not embedder.gate.is_set()
    finally:
        embedder.gate.set()
    wait_until(lambda: indexed(memory, 101))


async def test_work_of_ones_own_gives_a_future_that_can_be_awaited(opened: Open) -> None:
    memory = opened(url="memory://")
    job = memory.schedule(Task(lambda: threading.current_thread().name, kind="mine", priority=9))
    assert isinstance(job, Future)
    assert job.result(timeout=PATIENCE) != threading.current_thread().name
    assert await memory.schedule(Task(lambda: 41 + 1, kind="mine")) == 42
    jobs = [memory.schedule(Task(lambda: 1, kind="mine")) for _ in range(20)]
    assert sum(await asyncio.gather(*jobs)) == 20
    failing = memory.schedule(Task(lambda: 1 // 0, kind="mine"))
    with pytest.raises(ZeroDivisionError):
        failing.result(timeout=PATIENCE)
    with pytest.raises(ZeroDivisionError):
        await failing
    figures = memory.stats().work.kinds["mine"]
    assert (figures.done, figures.failed) == (22, 1)
    await memory.aclose()
    with pytest.raises(MemoryClosedError):
        memory.schedule(Task(int, kind="mine"))


def test_statistics_tell_of_all_that_was_done(face: Face, opened: Open) -> None:
    memory = opened(learning=SOON)
    alice = memory.scoped(user="alice", session="s1")
    alice.remember(["my cat sleeps", "it rains"])
    wait_until(lambda: caught_up(memory, 2))
    for _ in range(3):
        face(alice).recall("cat")
    face(alice).recall("rain")
    work = face(memory).stats().work
    assert work.kinds["recall"].done == 4
    assert work.kinds["recall"].p50 is not None
    assert work.kinds["indexing"].done >= 1
    answers = work.caches["answers"]
    assert (answers.hits, answers.misses, answers.size) == (2, 2, 2)
    assert answers.hit_rate == 0.5
    assert work.caches["embeddings"].misses >= 4
    assert (work.batches, work.batched) == (4, 6)
    assert (work.model_calls, work.tokens) == (0, 0)
    table = work.table()
    assert all(name in table for name in ("recall", "indexing", "answers", "embeddings", "token counts"))
    assert "0 model calls" in repr(work)


def test_calls_of_the_language_model_are_counted_with_their_tokens(opened: Open) -> None:
    model = ScriptedModel([{"facts": []}] * 9)
    config = MemoryConfig(url="memory://", embedder="none", learning=LearningConfig(background=False))
    with open_memory(config, language_model=model, token_counter=lambda text: len(text.split())) as memory:
        alice = memory.scoped(user="alice", session="s1")
        alice.remember("My lungs like it best when the city sleeps.")
        memory.flush()
        work = memory.stats().work
        assert work.model_calls == len(model.prompts) > 0
        sent = sum(len(message["content"].split()) for prompt in model.prompts for message in prompt)
        assert len("My lungs like it best when the city sleeps.".split()) < work.tokens <= sent + 2 * len(model.prompts)
        assert work.kinds["reasoning"].done == work.model_calls


def test_uses_are_noted_by_and_by(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid_memory.memory.runtime.USES_EVERY", timedelta(seconds=0.05))
    memory = opened(learning=SOON)
    alice = memory.scoped(user="alice")
    alice.remember("my cat sleeps")
    for _ in range(3):
        alice.recall("cat")
    services = memory._runtime.services
    (said,) = services.truth.read(alice.scope, kinds=(EventKind.MESSAGE,))

    def uses() -> int:
        memory.flush()
        (record,) = services.index.get([said.position])
        return record.uses

    wait_until(lambda: uses() == 3)
    assert services.state(RecallProjection).uses.counted() == []


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
        assert len(person.recall("old", k=9)) == 4
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
