"""Heat: which records are used how often, noted in batches and without slowing recall."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest

from hybrid_memory import Event, EventKind, HybridMemory, Record, Scope, ScopedMemory, Weights
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.ports import Draft
from hybrid_memory.runtime.caches import Counts

if TYPE_CHECKING:
    from hybrid_memory.log.port import EventLog
    from tests.conftest import Face, Open

NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)
DAY = timedelta(days=1)


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


class FailingLog:
    """A log that takes no notes of uses while it is told so."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.failing = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def append(self, owner: Scope, drafts: Sequence[Draft]) -> Any:
        if self.failing and any(draft.kind is EventKind.USED for draft in drafts):
            raise StoreUnavailableError("the disk is full")
        return self._inner.append(owner, drafts)


def record_of(owner: ScopedMemory, text: str) -> Record:
    """As the index has it, whatever recall remembers."""
    index = owner._runtime.services.index
    ids = [event.position for event in owner._runtime.services.truth.read(owner.scope, kinds=(EventKind.MESSAGE,))]
    return next(record for record in index.get(ids) if record.text == text)


def uses(owner: ScopedMemory, text: str) -> int:
    return record_of(owner, text).uses


def notes(owner: ScopedMemory) -> list[Event]:
    return owner._runtime.services.truth.read(owner.scope.owner, kinds=(EventKind.USED,))


def recall_all(face: Face, owner: ScopedMemory, query: str, times: int, **where: Any) -> None:
    for _ in range(times):
        face(owner).recall(query, **where)


def test_what_is_recalled_is_counted_once_flushed(face: Face, opened: Open) -> None:
    clock = Clock()
    for url in ("memory://", opened().url):
        memory = opened(url=url, clock=clock)
        alice = memory.scoped(user="alice")
        alice.remember(["my cat sleeps", "it rains in Oslo"])
        recall_all(face, alice, "cat", 3, k=1)
        recall_all(face, alice, "Oslo", 2, k=1)
        assert uses(alice, "my cat sleeps") == 0
        face(memory).flush()
        cat, rain = record_of(alice, "my cat sleeps"), record_of(alice, "it rains in Oslo")
        assert (cat.uses, rain.uses) == (3, 2)
        assert cat.last_used == rain.last_used == NOW
        assert len(notes(alice)) == 1, "many recalls make one event"


def test_the_last_use_moves_on_with_the_clock(face: Face, opened: Open) -> None:
    clock = Clock()
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
    recall_all(face, alice, "cat", 4)
    face(memory).close()
    memory = opened()
    alice = memory.scoped(user="alice")
    assert face(alice).recall("cat")[0].record.uses == 4
    face(memory).rebuild()
    assert uses(alice, "my cat sleeps") == 5
    assert sum(count for note in notes(alice) for _, count in note.payload["uses"]) == 5


def test_nothing_to_note_writes_nothing(face: Face, memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice")
    alice.remember("my cat sleeps")
    face(alice).recall("cat", kinds=["fact"])
    for _ in range(3):
        face(memory).flush()
    assert notes(alice) == []


def test_a_log_that_fails_loses_no_count(face: Face, opened: Open) -> None:
    memory = opened()
    services = memory._runtime.services
    log = FailingLog(services.log)
    services.log = cast("EventLog", log)
    alice = memory.scoped(user="alice")
    alice.remember("my cat sleeps")
    recall_all(face, alice, "cat", 3)
    log.failing = True
    for _ in range(2):
        with pytest.raises(StoreUnavailableError, match="disk is full"):
            face(memory).flush()
        recall_all(face, alice, "cat", 1)
    log.failing = False
    face(memory).flush()
    assert uses(alice, "my cat sleeps") == 5


def test_closing_succeeds_although_the_last_uses_cannot_be_noted(
    face: Face, opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    memory = opened()
    services = memory._runtime.services
    alice = memory.scoped(user="alice")
    alice.remember("my cat sleeps")
    face(alice).recall("cat")
    log = FailingLog(services.log)
    log.failing = True
    services.log = cast("EventLog", log)
    face(memory).close()
    assert memory.closed
    assert "the last uses are not noted" in caplog.text
    assert uses(opened().scoped(user="alice"), "my cat sleeps") == 0


def test_counting_can_be_turned_off(face: Face, opened: Open) -> None:
    memory = opened(url="memory://", recall={"count_uses": False})
    alice = memory.scoped(user="alice")
    alice.remember("my cat sleeps")
    recall_all(face, alice, "cat", 3)
    face(memory).flush()
    assert (uses(alice, "my cat sleeps"), notes(alice)) == (0, [])


def test_everybody_has_counts_of_their_own(face: Face, memory: HybridMemory) -> None:
    alice, bob, coach = memory.scoped(user="alice"), memory.scoped(user="bob"), memory.scoped(user="alice", agent="c")
    for person in (alice, bob, coach):
        person.remember("my cat sleeps")
    recall_all(face, alice, "cat", 3)
    recall_all(face, coach, "cat", 1)
    face(memory).flush()
    assert [uses(person, "my cat sleeps") for person in (alice, bob, coach)] == [3, 0, 1]
    assert notes(bob) == []


def test_what_a_space_showed_does_not_count_for_the_space(face: Face, memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice")
    alice.remember("my cat sleeps")
    team = alice.create_space("team")
    team.remember("the cat of the team")
    assert len(face(alice).recall("cat", spaces=["team"])) == 2
    face(memory).flush()
    services = memory._runtime.services
    space = Scope(space="team")
    assert uses(alice, "my cat sleeps") == 1
    assert services.truth.read(space, kinds=(EventKind.USED,)) == []


def test_a_look_into_the_past_is_no_use(face: Face, memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice")
    place = alice.remember("my cat sleeps").positions[0]
    for moment in (place, datetime.now(UTC) + DAY):
        assert face(alice.at(moment)).recall("cat")
    face(memory).flush()
    assert (uses(alice, "my cat sleeps"), notes(alice)) == (0, [])


def test_a_prompt_counts_what_it_shows(face: Face, opened: Open) -> None:
    memory = opened(url="memory://")
    alice = memory.scoped(user="alice", session="s1")
    alice.remember("my cat is called Momo")
    chat = memory.scoped(user="alice", session="s2")
    context = face(chat).assemble("what is my cat called?", max_tokens=2000)
    shown = [hit.record.text for hit in context.hits]
    assert "my cat is called Momo" in shown
    face(memory).flush()
    assert uses(alice, "my cat is called Momo") == 1


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
    clock = Clock()
    memory = opened(url="memory://", clock=clock)
    alice = memory.scoped(user="alice")
    alice.remember(["my cat sleeps", "my cat eats"], at=NOW)
    heat = Weights.heat()
    recall_all(face, alice, "sleeps", 3, k=1)
    face(memory).flush()
    clock.now += timedelta(minutes=6)
    first, second = face(alice).recall("cat", weights=heat)
    assert (first.record.text, second.record.text) == ("my cat sleeps", "my cat eats")
    assert second.signals.use == 0
    age = timedelta(minutes=6) / timedelta(days=30)
    assert first.signals.use == pytest.approx((1 - 1 / 4) * 0.5**age)
    assert first.score == pytest.approx(0.3 * first.signals.use + 0.7 * first.signals.recency)


def test_heat_fades_with_the_clock(face: Face, opened: Open) -> None:
    clock = Clock()
    memory = opened(url="memory://", clock=clock, recall={"half_life": timedelta(days=10)})
    alice = memory.scoped(user="alice")
    alice.remember("my cat sleeps", at=NOW)
    recall_all(face, alice, "cat", 1)
    face(memory).flush()
    scores = []
    for days in (0, 10, 20):
        clock.now = NOW + days * DAY
        (hit,) = face(alice).recall("cat", weights=Weights.heat())
        scores.append(hit.score)
    full = 0.3 * 0.5 + 0.7
    assert scores == [pytest.approx(full * share) for share in (1, 0.5, 0.25)]


def test_what_is_used_is_forgotten_later(face: Face, opened: Open) -> None:
    clock = Clock()
    memory = opened(clock=clock, retention={"half_life": timedelta(days=10), "least": 0.4})
    alice = memory.scoped(user="alice")
    alice.remember(["my cat sleeps", "my cat eats"], at=NOW)
    recall_all(face, alice, "sleeps", 1, k=1)
    face(memory).flush()
    record = record_of(alice, "my cat eats")
    lasts = 10 * 8**record.importance * math.log2(1 / 0.4)
    clock.now = NOW + (lasts + 0.5) * DAY
    found = [hit.record.text for hit in face(alice).recall("cat")]
    assert found == ["my cat sleeps"]
    face(alice).forget(expired=True)
    assert [message.text for message in alice.history()] == ["my cat sleeps"]


def test_counts_gather_until_they_are_taken() -> None:
    counts: Counts[str] = Counts()
    counts.add("a", [1, 2, 1])
    counts.add("a", [2])
    counts.add("b", [])
    assert counts.take("a") == {1: 2, 2: 2}
    assert counts.take("a") == {}
    assert "a" not in counts.counted()


def test_no_count_of_many_threads_is_lost_or_taken_twice() -> None:
    counts: Counts[str] = Counts()

    def work(number: int) -> int:
        counts.add("a", [number % 3] * 2)
        return sum(counts.take("a").values()) if number % 7 == 0 else 0

    with ThreadPoolExecutor(max_workers=8) as pool:
        taken = sum(pool.map(work, range(2000)))
    assert taken + sum(counts.take("a").values()) == 4000
