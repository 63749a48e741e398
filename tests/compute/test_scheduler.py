"""What the scheduler does with tasks: limits, deadlines, retries, room, closing."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from hybrid_memory import Scope
from hybrid_memory.errors import DeadlineExceededError, InvalidInputError, MemoryClosedError
from hybrid_memory.runtime.scheduler import Scheduler
from hybrid_memory.runtime.tasks import Task

if TYPE_CHECKING:
    from tests.compute.conftest import Clock, Holding, Make


def kinds(scheduler: Scheduler, kind: str = "recall") -> Any:
    return scheduler.statistics.snapshot().kinds[kind]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"priority": 0}, "priority must be a whole number from 1 to 10, got 0"), ({"priority": 11}, "got 11"),
        ({"priority": True}, "got True"), ({"priority": 5.5}, r"got 5\.5"),
        ({"kind": ""}, "kind must be a name, such as 'recall', got ''"), ({"kind": 3}, "got 3"),
        ({"deadline": timedelta(0)}, "deadline must be a timedelta above 0"),
        ({"deadline": 5}, "deadline must be a timedelta above 0, got 5"),
        ({"scope": "alice"}, "scope must be a Scope, got 'alice'"),
        ({"work": 7}, "work must be callable without arguments, got 7"),
    ],
)  # fmt: skip
def test_a_task_that_makes_no_sense_is_refused_with_value_and_range(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        Task(**{"work": int, "kind": "recall", **fields})


def test_a_task_that_did_not_begin_in_time_fails_without_a_worker(make: Make, hold: Holding, clock: Clock) -> None:
    scheduler = make(workers=1, clock=clock)
    hold(scheduler)
    job = scheduler.schedule(Task(int, "recall", deadline=timedelta(seconds=3)))
    clock.advance(2.9)
    assert not job.done()
    clock.advance(0.1)
    with pytest.raises(DeadlineExceededError, match=r"recall task did not begin within 0:00:03"):
        job.result(60)
    assert (kinds(scheduler).missed, kinds(scheduler).failed, kinds(scheduler).queued) == (1, 1, 0)


def test_closing_waits_for_what_runs_and_cancels_what_is_queued(make: Make, hold: Holding) -> None:
    scheduler = make(workers=1)
    held = hold(scheduler)
    queued = scheduler.schedule(Task(int, "recall"))
    with ThreadPoolExecutor(1) as pool:
        closing = pool.submit(scheduler.close)
        assert not wait([queued], timeout=60).not_done
        assert queued.cancelled()
        assert not closing.done()
        held.release()
        closing.result(60)
    assert held.jobs[0].done()
    assert (kinds(scheduler).cancelled, kinds(scheduler).queued) == (1, 0)
    with pytest.raises(MemoryClosedError):
        scheduler.schedule(Task(int, "recall"))
    scheduler.close()


def test_nothing_is_lost_or_done_twice_under_threads_that_schedule_and_cancel(make: Make) -> None:
    scheduler, done, lock = make(workers=4, concurrency=3), list[int](), threading.Lock()

    def work(number: int) -> None:
        with lock:
            done.append(number)

    def crowd(start: int) -> list[tuple[int, Any]]:
        jobs = []
        for number in range(start, start + 300):
            scope = Scope(user=f"u{number % 7}")
            task = Task(partial(work, number), f"kind {number % 3}", 1 + number % 10, scope=scope)
            jobs.append((number, scheduler.schedule(task)))
            if number % 4 == 0:
                jobs[-1][1].cancel()
        return jobs

    with ThreadPoolExecutor(6) as pool:
        jobs = [job for made in pool.map(crowd, range(0, 1800, 300)) for job in made]
    assert not wait([job for _, job in jobs], timeout=60).not_done
    assert sorted(done) == [number for number, job in jobs if not job.cancelled()]
    scheduler.close()
    stats = scheduler.statistics.snapshot().kinds.values()
    assert sum(kind.done for kind in stats) == len(done)
    assert sum(kind.done + kind.cancelled for kind in stats) == 1800
    assert all(kind.running == kind.queued == 0 for kind in stats)
