"""In which order waiting tasks begin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from datetime import timedelta
from functools import partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import Scope
from hybrid_memory.runtime.scheduler import Scheduler
from hybrid_memory.runtime.tasks import Job, PriorityQueue, Task

SCOPES = [None, Scope(user="alice"), Scope(user="bob"), Scope(user="bob", session="s")]
KINDS = ["recall", "maintenance", "indexing"]

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
    """The order by the rule as it is written down."""
    seen, places = Counter[Hashable](), list[tuple[Any, ...]]()
    for number, task in enumerate(tasks):
        turn = task.priority, task.scope
        seen[turn] += 1
        places.append((-task.priority, task.deadline or timedelta.max, seen[turn], number))
    return [place[-1] for place in sorted(places)]


@settings(max_examples=30)
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
    """The queued jobs as one list, and the rule without any cleverness."""

    def __init__(self) -> None:
        self.jobs: list[tuple[tuple[Any, ...], Job[Any]]] = []
        self.last: dict[Hashable, int] = {}
        self.round: dict[int, int] = {}
        self.number = 0

    def put(self, job: Job[Any]) -> None:
        priority, turn = job.task.priority, (job.task.priority, job.task.scope)
        self.last[turn] = max(self.last.get(turn, 0), self.round.get(priority, 0)) + 1
        self.number += 1
        self.jobs.append(((-priority, job.expires, self.last[turn], self.number), job))

    def take(self, kinds: set[str]) -> Job[Any] | None:
        best = min((entry for entry in self.jobs if entry[1].task.kind in kinds), default=None)
        if best is None:
            return None
        self.jobs.remove(best)
        self.round[best[1].task.priority] = best[0][2]
        return best[1]


steps = st.one_of(
    st.tuples(st.just("put"), fields),
    st.tuples(st.just("put"), fields),
    st.tuples(st.just("take"), st.sets(st.sampled_from(KINDS))),
    st.tuples(st.just("remove"), st.integers(0, 50)),
)


@settings(max_examples=40)
@given(st.lists(steps, max_size=80), st.booleans())
def test_cancelling_and_blocked_kinds_follow_the_rule_too(steps: list[tuple[str, Any]], tidy: bool) -> None:
    queue, model = PriorityQueue(), Model()
    for step, argument in steps:
        if step == "put":
            job: Job[Any] = Job(Task(nothing, **argument), 0, never)
            queue.put(job)
            model.put(job)
        elif step == "take":

            def allowed(kind: str, _: bool, kinds: set[str] = argument) -> bool:
                return kind in kinds

            if tidy:
                assert queue.any(allowed) is any(job.task.kind in argument for _, job in model.jobs)
            assert queue.take(allowed) is model.take(argument)
        elif step == "remove" and model.jobs:
            _, job = model.jobs.pop(argument % len(model.jobs))
            assert queue.remove(job)
            assert not queue.remove(job)
        assert len(queue.jobs()) == len(model.jobs)
    while model.jobs:
        assert queue.take(lambda *_: True) is model.take(set(KINDS))
    assert queue.take(lambda *_: True) is None
    assert not queue._heaps
