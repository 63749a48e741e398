"""Who may join the queue, and who waits outside until there is room."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import Future
from typing import Any

from hybrid_memory.runtime.tasks import Job

AnyJob = Job[Any]


class Room:
    """Places in the queue, as many for interactive jobs as for the others, so that none are kept out by the others.

    Its owner locks it.

    Args:
        capacity: places of each sort.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._taken = {True: 0, False: 0}
        self._outside: dict[bool, OrderedDict[AnyJob, Future[None]]] = {True: OrderedDict(), False: OrderedDict()}

    def enter(self, job: AnyJob, *, forced: bool) -> Future[None] | None:
        """None where the job has a place, else the future that is done when it has.

        Args:
            job: what wants in.
            forced: it gets a place though there is none.
        """
        sort = job.task.interactive
        if forced or self._taken[sort] < self._capacity:
            self._taken[sort] += 1
            return None
        entered: Future[None] = Future()
        self._outside[sort][job] = entered
        return entered

    def left(self, job: AnyJob) -> AnyJob | None:
        """The job that gets the place which this one had."""
        sort = job.task.interactive
        self._taken[sort] -= 1
        if not self._outside[sort] or self._taken[sort] >= self._capacity:
            return None
        self._taken[sort] += 1
        following, entered = self._outside[sort].popitem(last=False)
        _tell(entered)
        return following

    def withdraw(self, job: AnyJob) -> bool:
        """Whether it was outside; it waits no more."""
        entered = self._outside[job.task.interactive].pop(job, None)
        if entered is not None:
            _tell(entered)
        return entered is not None

    def shut(self, error: Exception) -> list[AnyJob]:
        """Those outside, who are told the error."""
        outside = [entry for line in self._outside.values() for entry in line.items()]
        for _, entered in outside:
            _tell(entered, error)
        return [job for job, _ in outside]


def _tell(entered: Future[None], error: Exception | None = None) -> None:
    """End the wait of a caller, unless it has given up or was told before."""
    if entered.done() or not entered.set_running_or_notify_cancel():
        return
    if error is None:
        entered.set_result(None)
    else:
        entered.set_exception(error)
