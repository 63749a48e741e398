"""Periodic tasks, and tasks that wait for a pause."""

from __future__ import annotations

import contextvars
import threading
from datetime import timedelta
from typing import Any

import pytest

from hybrid_memory.runtime.scheduler import Scheduler
from hybrid_memory.runtime.tasks import Task
from tests.compute.conftest import Clock, Make
from tests.doubles import wait_until

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


def test_periodic_work_begins_after_one_interval_and_goes_on(make: Make, clock: Clock) -> None:
    scheduler, runs = make(clock=clock), list[str]()
    CALLER.set("alice")
    scheduler.every(seconds(100), Task(lambda: runs.append(CALLER.get()), "maintenance"))
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
    assert runs == ["alice"] * 4


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


def test_closing_drops_what_waits_for_a_pause_and_later_nothing_happens(make: Make, clock: Clock) -> None:
    scheduler, done = make(clock=clock), list[int]()
    scheduler.debounced("a", seconds(5), Task(lambda: done.append(1), "learning"))
    scheduler.every(seconds(5), Task(lambda: done.append(2), "learning"))
    scheduler.close()
    clock.advance(10)
    scheduler.debounced("a", timedelta(0), Task(lambda: done.append(3), "learning"))
    assert done == []
    assert not scheduler._timer._heap
