"""Periodic tasks, and tasks that wait for a pause."""

from __future__ import annotations

import contextvars
import queue
import threading
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from hybrid_memory.errors import InvalidInputError, StoreUnavailableError
from hybrid_memory.runtime.scheduler import Scheduler, Timer
from hybrid_memory.runtime.tasks import Task
from tests.doubles import wait_until

if TYPE_CHECKING:
    from tests.compute.conftest import Clock, Holding, Make

CALLER: contextvars.ContextVar[str] = contextvars.ContextVar("caller", default="nobody")


def settled(scheduler: Scheduler) -> None:
    """Wait until the timer sleeps and no worker has anything to do."""

    def quiet() -> bool:
        with scheduler._timer._changed:
            heap = scheduler._timer._heap
            asleep = bool(scheduler._timer._changed._waiters) and (not heap or heap[0][0] > scheduler._clock())  # type: ignore[attr-defined]
        stats = scheduler.statistics.snapshot().kinds.values()
        return asleep and all(kind.running == kind.queued == 0 for kind in stats)

    wait_until(quiet)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def test_periodic_work_begins_after_one_interval_and_goes_on_until_cancelled(make: Make, clock: Clock) -> None:
    scheduler, runs = make(clock=clock), list[str]()
    CALLER.set("alice")
    handle = scheduler.every(seconds(100), Task(lambda: runs.append(CALLER.get()), "maintenance"))
    clock.advance(89)
    settled(scheduler)
    assert runs == []
    clock.advance(21)
    wait_until(lambda: len(runs) == 1)
    for count in range(2, 5):
        settled(scheduler)
        wait_until(lambda: scheduler._timer._heap)
        clock.advance(110)
        wait_until(lambda count=count: len(runs) == count)  # type: ignore[misc]
    settled(scheduler)
    handle.cancel()
    clock.advance(1000)
    settled(scheduler)
    assert runs == ["alice"] * 4


def test_intervals_differ_by_up_to_a_tenth(make: Make, clock: Clock) -> None:
    scheduler = make(clock=clock)
    for _ in range(200):
        scheduler.every(seconds(100), Task(int, "maintenance"))
    dues = [entry[0] - clock.now for entry in scheduler._timer._heap]
    assert 90 <= min(dues) < 92
    assert 108 < max(dues) <= 110


def test_periodic_work_never_overlaps_itself(make: Make, hold: Holding, clock: Clock) -> None:
    scheduler = make(clock=clock)
    begun, go = list[int](), threading.Event()

    def work() -> None:
        begun.append(1)
        assert go.wait(60)

    scheduler.every(seconds(1), Task(work, "maintenance"))
    for _ in range(5):
        clock.advance(10)
        wait_until(lambda: begun == [1])
    go.set()


def test_a_failed_run_is_logged_and_not_the_last(make: Make, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    scheduler, runs = make(clock=clock), list[int]()

    def work() -> None:
        runs.append(1)
        raise ValueError("no luck")

    scheduler.every(seconds(1), Task(work, "maintenance"))
    for count in (1, 2):
        clock.advance(2)
        wait_until(lambda count=count: len(runs) == count)  # type: ignore[misc]
        settled(scheduler)
        wait_until(lambda: scheduler._timer._heap)
    assert "maintenance failed: no luck" in caplog.text


def test_cancelling_takes_a_run_off_that_has_not_begun(make: Make, hold: Holding, clock: Clock) -> None:
    scheduler, runs = make(workers=1, clock=clock), list[int]()
    held = hold(scheduler)
    handle = scheduler.every(seconds(1), Task(lambda: runs.append(1), "maintenance"))
    clock.advance(2)
    wait_until(lambda: len(scheduler._queue) == 1)
    handle.cancel()
    held.release()
    settled(scheduler)
    assert runs == []


def test_an_interval_must_be_above_zero(make: Make) -> None:
    with pytest.raises(InvalidInputError, match="interval must be a timedelta above 0"):
        make().every(timedelta(0), Task(int, "maintenance"))


def test_asked_for_often_a_task_is_done_once_after_the_last_time(make: Make, clock: Clock) -> None:
    scheduler, done = make(clock=clock), list[Any]()
    for number in range(5):
        CALLER.set(f"user {number}")
        scheduler.debounced("a", seconds(10), Task(lambda n=number: done.append((n, CALLER.get())), "learning"))  # type: ignore[misc]
        clock.advance(9)
        settled(scheduler)
    scheduler.debounced("b", seconds(10), Task(lambda: done.append("other"), "learning"))
    assert done == []
    clock.advance(1)
    wait_until(lambda: done == [(4, "user 4")])
    clock.advance(9)
    wait_until(lambda: done == [(4, "user 4"), "other"])
    wait_until(lambda: not scheduler._debounced._keys)


def test_asked_for_while_it_runs_it_is_done_once_more_and_never_twice_at_a_time(make: Make, clock: Clock) -> None:
    scheduler, begun, go = make(clock=clock), list[int](), threading.Semaphore(0)

    def ask(number: int) -> None:
        def work() -> None:
            begun.append(number)
            assert go.acquire(timeout=60)

        scheduler.debounced("a", seconds(1), Task(work, "learning"))

    ask(1)
    clock.advance(1)
    wait_until(lambda: begun == [1])
    for number in (2, 3):
        ask(number)
        clock.advance(1)
        wait_until(lambda: scheduler._debounced._keys["a"].again and scheduler._debounced._keys["a"].planned is None)
    assert begun == [1]
    go.release()
    wait_until(lambda: begun == [1, 3])
    go.release()
    settled(scheduler)
    assert begun == [1, 3]


def test_asked_for_while_queued_it_does_what_was_asked_last(make: Make, hold: Holding, clock: Clock) -> None:
    scheduler, done = make(workers=1, clock=clock), list[int]()
    held = hold(scheduler)
    for number in range(3):
        scheduler.debounced("a", seconds(1), Task(lambda n=number: done.append(n), "indexing"))  # type: ignore[misc]
        clock.advance(1)
        wait_until(lambda: scheduler._debounced._keys["a"].planned is None)
    held.release()
    wait_until(lambda: done)
    settled(scheduler)
    assert done == [2]


@pytest.mark.parametrize("error", [ValueError("no luck"), StoreUnavailableError("no luck")], ids=["ours", "theirs"])
def test_a_failed_task_is_logged_and_may_come_again(
    make: Make, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    """With the place where it failed, unless that is told by the message."""
    scheduler, done = make(), list[int]()

    def work() -> None:
        done.append(1)
        raise error

    for count in (1, 2):
        scheduler.debounced("a", timedelta(0), Task(work, "learning"))
        wait_until(lambda count=count: len(done) == count)  # type: ignore[misc]
        wait_until(lambda: not scheduler._debounced._keys)
    assert "learning failed: no luck" in caplog.text
    assert ("Traceback" in caplog.text) == isinstance(error, ValueError)


def test_closing_drops_what_waits_for_a_pause_and_later_nothing_happens(make: Make, clock: Clock) -> None:
    scheduler, done = make(clock=clock), list[int]()
    scheduler.debounced("a", seconds(5), Task(lambda: done.append(1), "learning"))
    scheduler.every(seconds(5), Task(lambda: done.append(2), "learning"))
    scheduler.close()
    clock.advance(10)
    scheduler.debounced("a", timedelta(0), Task(lambda: done.append(3), "learning"))
    assert done == []
    assert not scheduler._timer._heap


def test_a_timer_sweeps_out_cancelled_actions() -> None:
    timer, now, called = Timer(lambda: now[0]), [0.0], queue.SimpleQueue[int]()
    planned = [timer.later(1 + number, partial(called.put, number)) for number in range(2_000)]
    for number, entry in enumerate(planned):
        if number % 100:
            timer.cancel(entry)
            timer.cancel(entry)
    assert len(timer._heap) < 200
    now[0] = 3_000.0
    timer.later(0, partial(called.put, -1))  # it looks at the clock again
    assert [called.get(timeout=60) for _ in range(21)] == [*range(0, 2_000, 100), -1]
    timer.close()
