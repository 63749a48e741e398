"""In which order waiting tasks begin."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import Scope
from hybrid_memory.runtime.priority_queue import Waiting
from hybrid_memory.runtime.scheduler import Scheduler
from hybrid_memory.runtime.tasks import Job, Task

if TYPE_CHECKING:
    from tests.compute.conftest import Clock, Hold, Make

SCOPES = [None, Scope(user="alice"), Scope(user="bob"), Scope(user="bob", session="s")]
KINDS = ["recall", "learning", "indexing"]

fields = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(KINDS),
        "priority": st.integers(1, 10),
        "deadline": st.none() | st.integers(60, 70).map(lambda minutes: timedelta(minutes=minutes)),
        "scope": st.sampled_from(SCOPES),
    }
)


def nothing() -> None:
    """Work that is not done here."""


def never(job: Job[Any]) -> None:
    raise AssertionError("nothing is cancelled here")


def oracle(tasks: list[Task[Any]]) -> list[int]:
    """Again and again the best of all that are left, by the rule as it is written down."""
    left, served, order = dict(enumerate(tasks)), dict[Hashable, int](), list[int]()

    def turn(task: Task[Any]) -> Hashable:
        return task.priority, task.deadline is None, task.scope

    while left:

        def place(number: int) -> tuple[Any, ...]:
            task = left[number]
            return -task.priority, task.deadline or timedelta.max, served.get(turn(task), -1), number

        best = min(left, key=place)
        served[turn(left.pop(best))] = len(order)
        order.append(best)
    return order


@settings(max_examples=60)
@given(st.lists(fields, max_size=40))
def test_what_was_queued_before_a_worker_was_free_begins_in_the_order_of_the_rule(drawn: list[dict[str, Any]]) -> None:
    from tests.compute.conftest import Hold  # noqa: PLC0415

    scheduler, order = Scheduler(workers=1, clock=lambda: 5.0), list[int]()
    held = Hold(scheduler, 1, scope=Scope(user="holder"))
    tasks = [Task(partial(order.append, number), **drawn[number]) for number in range(len(drawn))]
    jobs = [scheduler.schedule(task) for task in tasks]
    held.release()
    for job in jobs:
        job.result(timeout=20)
    scheduler.close()
    assert order == oracle(tasks)


class Model:
    """The waiting jobs as one list, and the rule with aging, without any cleverness."""

    def __init__(self, aging: int) -> None:
        self.aging = aging
        self.jobs: list[Job[Any]] = []
        self.since: dict[Hashable, float] = {}
        self.served: dict[Hashable, int] = {}
        self.turns = 0

    def line(self, job: Job[Any]) -> Hashable:
        return (job.task.kind, *self.turn(job))

    def turn(self, job: Job[Any]) -> tuple[Hashable, ...]:
        return job.task.priority, job.task.deadline is None, job.task.scope

    def put(self, job: Job[Any], now: float) -> None:
        if self.line(job) not in set(map(self.line, self.jobs)):
            self.since[self.line(job)] = now
        self.jobs.append(job)

    def take(self, now: float, kinds: set[str]) -> Job[Any] | None:
        def place(job: Job[Any]) -> tuple[Any, ...]:
            level = job.task.priority + (now - self.since[self.line(job)]) // self.aging
            return -level, job.expires, self.served.get(self.turn(job), -1), self.jobs.index(job)

        best = min((job for job in self.jobs if job.task.kind in kinds), key=place, default=None)
        if best is not None:
            self.jobs.remove(best)
            self.since[self.line(best)] = now
            self.turns += 1
            self.served[self.turn(best)] = self.turns
        return best


steps = st.one_of(
    st.tuples(st.just("put"), fields),
    st.tuples(st.just("put"), fields),
    st.tuples(st.just("take"), st.sets(st.sampled_from(KINDS))),
    st.tuples(st.just("remove"), st.integers(0, 50)),
    st.tuples(st.just("pass"), st.integers(1, 45)),
)


@settings(max_examples=80)
@given(st.lists(steps, max_size=80), st.booleans())
def test_aging_cancelling_and_blocked_kinds_follow_the_rule_too(steps: list[tuple[str, Any]], tidy: bool) -> None:
    waiting, model, now = Waiting(10), Model(10), 0
    for step, argument in steps:
        if step == "put":
            job: Job[Any] = Job(Task(nothing, **argument), now, never)
            waiting.put(job, now)
            model.put(job, now)
        elif step == "take":

            def allowed(kind: str, _: bool, kinds: set[str] = argument) -> bool:
                return kind in kinds

            if tidy:
                assert waiting.any(allowed) is any(job.task.kind in argument for job in model.jobs)
            assert waiting.take(now, allowed) is model.take(now, argument)
        elif step == "remove" and model.jobs:
            job = model.jobs.pop(argument % len(model.jobs))
            assert waiting.remove(job)
            assert not waiting.remove(job)
        elif step == "pass":
            now += argument
        assert len(waiting) == len(model.jobs)
    while model.jobs:
        assert waiting.take(now, lambda *_: True) is model.take(now, set(KINDS))
    assert waiting.take(now, lambda *_: True) is None
    assert not waiting._lines
    assert not waiting._by_turns


def test_a_thousand_tasks_of_one_scope_do_not_delay_the_first_of_another(make: Make, hold: Callable[..., Hold]) -> None:
    scheduler, order = make(workers=1), list[str]()
    held = hold(scheduler)
    jobs = [
        scheduler.schedule(Task(partial(order.append, user), "learning", scope=Scope(user=user)))
        for user in [*["busy"] * 1000, "late", "late"]
    ]
    held.release()
    for job in jobs:
        job.result(timeout=20)
    assert order[:5] == ["busy", "late", "busy", "late", "busy"]


def test_a_scope_that_waits_long_with_much_still_takes_turns() -> None:
    waiting, now = Waiting(10), 0
    for user in ["busy"] * 50:
        waiting.put(Job(Task(nothing, "learning", scope=Scope(user=user)), now, never), now)
    waiting.put(Job(Task(nothing, "learning", scope=Scope(user="late")), 35, never), 35)
    taken = [waiting.take(35 + number, lambda *_: True) for number in range(3)]
    assert [job.task.scope.user for job in taken if job and job.task.scope] == ["busy", "late", "busy"]


@pytest.mark.parametrize(("waited", "first"), [(29, "fresh"), (30, "fresh"), (40, "old")])
def test_a_waiting_task_gains_one_priority_for_each_ten_seconds(
    make: Make, hold: Callable[..., Hold], clock: Clock, waited: float, first: str
) -> None:
    scheduler, order = make(workers=1, clock=clock), list[str]()
    held = hold(scheduler)
    jobs = [scheduler.schedule(Task(partial(order.append, "old"), "learning", 2))]
    clock.advance(waited)
    deadline = timedelta(hours=1)  # so that it comes first when both have one priority
    jobs.append(scheduler.schedule(Task(partial(order.append, "fresh"), "learning", 5, deadline=deadline)))
    held.release()
    for job in jobs:
        job.result(timeout=20)
    assert order[0] == first


def test_figures_of_lines_that_are_gone_are_swept_out() -> None:
    waiting = Waiting(10)
    for number in range(6_000):
        waiting.put(Job(Task(nothing, "learning", scope=Scope(user=f"user {number}")), 0, never), 0)
        assert waiting.take(0, lambda *_: True) is not None
    assert len(waiting._ages) < 5_000
    assert len(waiting._turns) < 5_000
    assert not waiting._lines


def test_cancelled_tasks_behind_one_that_cannot_begin_are_swept_out() -> None:
    waiting = Waiting(10)
    for number in range(3_000):
        job: Job[Any] = Job(Task(nothing, "learning"), 0, never)
        waiting.put(job, 0)
        if number:
            waiting.remove(job)
    assert len(waiting) == 1
    assert sum(len(line.jobs) for line in waiting._lines.values()) < 100
