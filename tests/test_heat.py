"""Heat: which records are used how often, noted in batches and without slowing recall."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hybrid_memory import Event, EventKind, HybridMemory, ScopedMemory, Weights
from hybrid_memory.errors import StoreUnavailableError
from tests.doubles import Clock, Line, events_of, line_to
from tests.faces import Face, Open

NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def uses(owner: ScopedMemory, text: str) -> int:
    """As the index has them, whatever recall remembers."""
    index = owner._runtime.services.index
    ids = [event.position for event in owner._runtime.services.truth.read(owner.scope, kinds=(EventKind.MESSAGE,))]
    return next(record.uses for record in index.get(ids) if record.text == text)


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


def test_a_look_into_the_past_is_no_use(face: Face, memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice")
    place = alice.remember("my cat sleeps").positions[0]
    for moment in (place, datetime.now(UTC) + DAY):
        assert face(alice.as_of(moment)).recall("cat")
    face(memory).flush()
    assert (uses(alice, "my cat sleeps"), notes(alice)) == (0, [])


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
