"""What the scheduler does with tasks: limits, deadlines, retries, room, closing."""

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import Task
from hybrid_memory.errors import DeadlineExceededError, InvalidInputError, MemoryClosedError, StoreUnavailableError
from hybrid_memory.models.batching import BatchingEmbedder
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.runtime.breaker import Admission, Breaker
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.scheduler import Scheduler
from hybrid_memory.runtime.statistics import Statistics
from hybrid_memory.runtime.tasks import Job, PriorityQueue
from tests.compute.conftest import Clock, Hold, Holding, Make
from tests.doubles import PATIENCE, wait_until
from tests.interrupts import interrupted
from tests.world import cases


def kinds(scheduler: Scheduler, kind: str = "recall") -> Any:
    return scheduler.statistics.snapshot().kinds[kind]


@pytest.mark.parametrize(
    ("fields", "says"),
    [*cases("compute/scheduler.json", "wrong"), ({"deadline": timedelta(0)}, "deadline must be a timedelta above 0")],
)
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
            task = Task(partial(work, number), f"kind {number % 3}", 1 + number % 10)
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


@given(st.lists(st.floats(0, 100), min_size=1, max_size=1500))
def test_a_quantile_is_the_smallest_of_the_last_values_that_so_many_do_not_exceed(values: list[float]) -> None:
    statistics = Statistics()
    for value in values:
        statistics.ran("recall", value)
    stats = statistics.snapshot().kinds["recall"]
    last = values[-1024:]
    for percent in (50, 95, 99):
        quantile = getattr(stats, f"p{percent}")
        assert quantile in last
        assert sum(value <= quantile for value in last) * 100 >= percent * len(last)
        assert sum(value < quantile for value in last) * 100 < percent * len(last)


def test_an_entry_expires_and_counts_as_a_miss_then() -> None:
    now = [0.0]
    cache: LruCache[str, int] = LruCache(2, ttl=10, clock=lambda: now[0])
    cache.put("a", 1)
    now[0] = 9
    assert cache.get("a") == 1
    cache.put("b", 2)
    now[0] = 10
    assert cache.get("a") is None
    assert cache.get("b") == 2
    assert (cache.hits, cache.misses, cache.size) == (2, 1, 1)
    assert repr(cache) == "LruCache(1 of 2 entries, 2 hits, 1 misses)"
    cache.put("a", 3)
    now[0] = 19
    assert cache.get("a") == 3
    assert cache.get("b") is None


def test_calls_are_refused_after_a_failure_but_for_a_probe_at_growing_pauses() -> None:
    clock = Clock()
    breaker = Breaker(pause=1, longest=4, clock=clock)
    assert breaker.admit() is Admission.YES
    breaker.failed(OSError("first"))
    pauses = []
    for _ in range(4):
        began = clock.now
        while breaker.admit() is Admission.NO:
            clock.now += 0.5
        pauses.append(clock.now - began)
        assert breaker.admit() is Admission.NO  # one probe
        breaker.failed(OSError("again"))
    assert pauses == [1, 2, 4, 4]
    assert str(breaker.failure) == "again"
    clock.now += 4
    assert breaker.admit() is Admission.PROBE
    breaker.succeeded()
    assert breaker.admit() is Admission.YES
    assert breaker.failure is None


def test_only_a_slow_failure_that_is_no_answer_opens_it() -> None:
    clock = Clock()
    breaker = Breaker("it", clock=clock)
    probes: list[float] = []

    def failing(seconds: float, *, answered: bool = False) -> str:
        def run() -> None:
            clock.now += seconds
            raise OSError("failed")

        try:
            breaker.call(run, probe=lambda: probes.append(clock.now), answered=lambda _: answered)
        except (OSError, StoreUnavailableError) as error:
            return str(error)
        return ""

    assert [failing(0.1), failing(9, answered=True), failing(9)] == ["failed"] * 3
    assert failing(9) == "it is not asked, as it did not answer lately: failed"
    clock.now += 1
    assert failing(0.1) == "failed"
    assert len(probes) == 1
    assert failing(0.1) == "failed", "an error that comes at once closes it"
    assert len(probes) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_whoever_schedules_and_waits_may_be_interrupted() -> None:
    """What is raised where a generator is closed is swallowed."""
    scheduler, kept = Scheduler(workers=2), list[object]()
    for error in interrupted(lambda: scheduler.schedule(Task(lambda: 1, "recall", priority=8)).result(5)):
        kept.append(error)
        jobs = [scheduler.schedule(Task(lambda: 2, "learning")) for _ in range(5)]
        assert [job.result(PATIENCE) for job in jobs] == [2] * 5
    assert len(kept) > 30
    scheduler.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_whoever_embeds_may_be_interrupted() -> None:
    kept, model = list[object](), HashingEmbedder()
    batching = BatchingEmbedder(model, concurrency=1)
    with ThreadPoolExecutor(1) as pool:
        embed: Callable[[], object] = lambda: batching.embed_documents(["one", "two"])  # noqa: E731
        for error in interrupted(embed):
            kept.append(error)
            assert pool.submit(batching.embed_query, "one").result(PATIENCE).shape == (model.dim,)
            assert pool.submit(batching.embed_documents, ["one", "two"]).result(PATIENCE).shape == (2, model.dim)
            assert not batching._running
            assert not batching._texts
    assert len(kept) > 20


KINDS = ["recall", "maintenance", "indexing"]

fields = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(KINDS),
        "priority": st.integers(1, 10),
        "deadline": st.none() | st.integers(60, 70).map(lambda minutes: timedelta(minutes=minutes)),
    }
)


def never(job: Job[Any]) -> None:
    raise AssertionError("nothing is cancelled here")


class Model:
    """The queued jobs as one list, and the rule without any cleverness."""

    def __init__(self) -> None:
        self.jobs: list[tuple[tuple[Any, ...], Job[Any]]] = []
        self.number = 0

    def put(self, job: Job[Any]) -> None:
        self.number += 1
        self.jobs.append(((-job.task.priority, job.expires, self.number), job))

    def take(self, kinds: set[str]) -> Job[Any] | None:
        best = min((entry for entry in self.jobs if entry[1].task.kind in kinds), default=None)
        if best is None:
            return None
        self.jobs.remove(best)
        return best[1]


@settings(max_examples=30)
@given(st.lists(fields, max_size=40))
def test_what_was_queued_before_a_worker_was_free_begins_in_the_order_of_the_rule(drawn: list[dict[str, Any]]) -> None:
    scheduler, order = Scheduler(workers=1, clock=lambda: 5.0), list[int]()
    held = Hold(scheduler, 1)
    tasks = [Task(partial(order.append, number), **drawn[number]) for number in range(len(drawn))]
    jobs = [scheduler.schedule(task) for task in tasks]
    held.release()
    model = Model()
    for job in jobs:
        model.put(job)
        job.result(timeout=20)
    scheduler.close()
    assert [jobs[number] for number in order] == [model.take(set(KINDS)) for _ in jobs]


steps = st.one_of(
    st.tuples(st.just("put"), fields),
    st.tuples(st.just("put"), fields),
    st.tuples(st.just("take"), st.sets(st.sampled_from(KINDS))),
    st.tuples(st.just("remove"), st.integers(0, 50)),
)


@settings(max_examples=40)
@given(st.lists(steps, max_size=80))
def test_cancelling_and_blocked_kinds_follow_the_rule_too(steps: list[tuple[str, Any]]) -> None:
    queue, model = PriorityQueue(), Model()
    for step, argument in steps:
        if step == "put":
            job: Job[Any] = Job(Task(int, **argument), 0, never)
            queue.put(job)
            model.put(job)
        elif step == "take":

            def allowed(kind: str, _: bool, kinds: set[str] = argument) -> bool:
                return kind in kinds

            assert (first := queue.first(allowed)) is model.take(argument)
            assert first is None or queue.remove(first)
        elif step == "remove" and model.jobs:
            _, job = model.jobs.pop(argument % len(model.jobs))
            assert queue.remove(job)
            assert not queue.remove(job)
        assert len(queue.jobs()) == len(model.jobs)
    while model.jobs:
        assert (first := queue.first(lambda *_: True)) is model.take(set(KINDS))
        assert first is None or queue.remove(first)
    assert queue.first(lambda *_: True) is None
    assert not queue._heaps


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
    wait_until(lambda: not scheduler._pausing and not scheduler._active)


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
        wait_until(lambda: scheduler._active.get("a") and not scheduler._pausing)
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
