"""Heat: which records are used how often, noted in batches and without slowing recall."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hybrid_memory import Event, EventKind, HybridMemory, Record, ScopedMemory, Weights
from hybrid_memory.errors import StoreUnavailableError
from tests.doubles import Clock, Line, events_of, line_to, texts
from tests.faces import Face, Open

NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def record_of(owner: ScopedMemory, text: str) -> Record:
    """As the index has it, whatever recall remembers."""
    index = owner._runtime.services.index
    ids = [event.position for event in owner._runtime.services.truth.read(owner.scope, kinds=(EventKind.MESSAGE,))]
    return next(record for record in index.get(ids) if record.text == text)


def uses(owner: ScopedMemory, text: str) -> int:
    return record_of(owner, text).uses


def notes(owner: ScopedMemory) -> list[Event]:
    return events_of(owner, EventKind.USED)


def failing(memory: HybridMemory) -> Line:
    """The memory's log, which takes no notes of uses."""
    log = line_to(memory, "log")
    log.hits = lambda name, args: name == "append" and any(draft.kind is EventKind.USED for draft in args[1])
    log.error = StoreUnavailableError("the disk is full")
    return log


def recall_all(owner: ScopedMemory, query: str, times: int, **where: Any) -> None:
    for _ in range(times):
        owner.recall(query, **where)


def test_what_is_recalled_is_counted_once_flushed(face: Face, opened: Open, store: str) -> None:
    clock = Clock(NOW)
    for url in ("memory://", store):
        memory = opened(url=url, clock=clock)
        alice = memory.scoped(user="alice")
        alice.remember(["my cat sleeps", "it rains in Oslo"])
        face(memory).flush()
        recall_all(face(alice), "cat", 3, k=1)
        recall_all(face(alice), "Oslo", 2, k=1)
        face(alice).recall("cat", kinds=["fact"])
        assert (uses(alice, "my cat sleeps"), notes(alice)) == (0, [])
        for _ in range(3):
            face(memory).flush()
        cat, rain = record_of(alice, "my cat sleeps"), record_of(alice, "it rains in Oslo")
        assert (cat.uses, rain.uses) == (3, 2)
        assert cat.last_used == rain.last_used == NOW
        assert len(notes(alice)) == 1, "many recalls make one event, and nothing to note makes none"


def test_the_last_use_moves_on_with_the_clock(face: Face, opened: Open) -> None:
    clock = Clock(NOW)
    memory = opened(clock=clock)
    alice = memory.scoped(user="alice")
    alice.remember("my cat sleeps")
    for day in (0, 2, 1):
        clock.now = NOW + day * DAY
        face(alice).recall("cat")
        face(memory).flush()
    record = record_of(alice, "my cat sleeps")
    assert (record.uses, record.last_used) == (3, NOW + 2 * DAY)


def test_uses_outlive_the_process_and_a_rebuild(face: Face, opened: Open) -> None:
    memory = opened()
    alice = memory.scoped(user="alice")
    alice.remember("my cat sleeps")
    recall_all(face(alice), "cat", 4)
    face(memory).close()
    memory = opened()
    alice = memory.scoped(user="alice")
    assert face(alice).recall("cat")[0].record.uses == 4
    face(memory).rebuild()
    assert uses(alice, "my cat sleeps") == 5
    assert sum(count for note in notes(alice) for _, count in note.payload["uses"]) == 5


def test_a_log_that_fails_loses_no_count(face: Face, opened: Open, caplog: pytest.LogCaptureFixture) -> None:
    memory = opened()
    log = failing(memory)
    alice = memory.scoped(user="alice")
    alice.remember("my cat sleeps")
    recall_all(face(alice), "cat", 3)
    for _ in range(2):
        with pytest.raises(StoreUnavailableError, match="disk is full"):
            face(memory).flush()
        recall_all(face(alice), "cat", 1)
    log.error = None
    face(memory).flush()
    assert uses(alice, "my cat sleeps") == 5
    log.error = StoreUnavailableError("the disk is full")
    face(alice).recall("cat")
    face(memory).close()
    assert memory.closed, "although the last uses cannot be noted"
    assert "the last uses are not noted" in caplog.text
    assert uses(opened().scoped(user="alice"), "my cat sleeps") == 5


def test_everybody_has_counts_of_their_own(face: Face, memory: HybridMemory) -> None:
    alice, bob, coach = memory.scoped(user="alice"), memory.scoped(user="bob"), memory.scoped(user="alice", agent="c")
    for person in (alice, bob, coach):
        person.remember("my cat sleeps")
    recall_all(face(alice), "cat", 3)
    recall_all(face(coach), "cat", 1)
    face(memory).flush()
    assert [uses(person, "my cat sleeps") for person in (alice, bob, coach)] == [3, 0, 1]
    assert notes(bob) == []


def test_a_look_into_the_past_is_no_use(face: Face, memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice")
    place = alice.remember("my cat sleeps").positions[0]
    for moment in (place, datetime.now(UTC) + DAY):
        assert face(alice.as_of(moment)).recall("cat")
    face(memory).flush()
    assert (uses(alice, "my cat sleeps"), notes(alice)) == (0, [])


def test_threads_lose_no_use(opened: Open) -> None:
    memory = opened(power_safe=False)
    alice = memory.scoped(user="alice")
    alice.remember("my cat sleeps")

    def work(number: int) -> None:
        alice.recall("cat")
        if number % 10 == 0:
            memory.flush()

    with ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(work, range(200)))
    memory.flush()
    assert uses(alice, "my cat sleeps") == 200


def test_heat_puts_first_what_is_in_use(face: Face, opened: Open) -> None:
    clock = Clock(NOW)
    memory = opened(url="memory://", clock=clock)
    alice = memory.scoped(user="alice")
    alice.remember(["my cat sleeps", "my cat eats"], at=NOW)
    heat = Weights.heat()
    recall_all(face(alice), "sleeps", 3, k=1)
    face(memory).flush()
    clock.now += timedelta(minutes=6)
    first, second = face(alice).recall("cat", weights=heat)
    assert (first.record.text, second.record.text) == ("my cat sleeps", "my cat eats")
    assert second.signals.use == 0
    age = timedelta(minutes=6) / timedelta(days=30)
    assert first.signals.use == pytest.approx((1 - 1 / 4) * 0.5**age)
    assert first.score == pytest.approx(0.3 * first.signals.use + 0.7 * first.signals.recency)


def test_what_is_used_is_forgotten_later(face: Face, opened: Open) -> None:
    clock = Clock(NOW)
    memory = opened(clock=clock, retention={"half_life": timedelta(days=10), "least": 0.4})
    alice = memory.scoped(user="alice")
    alice.remember(["my cat sleeps", "my cat eats"], at=NOW)
    recall_all(face(alice), "sleeps", 1, k=1)
    face(memory).flush()
    record = record_of(alice, "my cat eats")
    lasts = 10 * 8**record.importance * math.log2(1 / 0.4)
    clock.now = NOW + (lasts + 0.5) * DAY
    found = texts(face(alice).recall("cat"))
    assert found == ["my cat sleeps"]
    face(alice).forget(expired=True)
    assert texts(alice.history()) == ["my cat sleeps"]
