"""Tasks that are scheduled by themselves: at intervals, and after a pause."""

from __future__ import annotations

import contextvars
import logging
import random
import threading
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from typing import Any

from hybrid_memory.errors import HybridMemoryError, MemoryClosedError
from hybrid_memory.runtime.tasks import Job, Task
from hybrid_memory.runtime.timetable import Planned, Timer

JITTER = 0.1
"""Share of the interval by which a run may come earlier or later, so that many processes do not run at once."""

_log = logging.getLogger(__name__)


Start = Callable[[Task[Any]], Job[Any] | None]
"""Queues a task, however many are queued; None when nothing is started any more."""


class Periodic:
    """A task that is run again and again; a failure is logged, and the next run comes all the same."""

    def __init__(self, task: Task[Any], interval: float, timer: Timer, start: Start) -> None:
        self._task = task
        self._interval = interval
        self._timer = timer
        self._start = start
        self._context = contextvars.copy_context()
        self._planned: Planned | None = None
        self._job: Job[Any] | None = None
        self._cancelled = False
        self._plan()

    def cancel(self) -> None:
        """No further run begins; one that has begun goes on."""
        self._cancelled = True
        planned, job = self._planned, self._job
        if planned is not None:
            self._timer.forget(planned)
        if job is not None:
            job.cancel()

    def _plan(self) -> None:
        pause = self._interval * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - no secret
        self._planned = self._timer.later(pause, self._begin)

    def _begin(self) -> None:
        job = None if self._cancelled else self._context.run(self._start, self._task)
        if job is not None:
            self._job = job
            if self._cancelled:  # meanwhile, by another thread, which did not see the job
                job.cancel()
            job.add_done_callback(self._ended)

    def _ended(self, job: Job[Any] | Any) -> None:
        _tell(job)
        if not self._cancelled:
            self._plan()


class _Asked:
    """One key: what is to be done for it, and how far that is."""

    def __init__(self) -> None:
        self.task: Task[Any] | None = None
        self.context = contextvars.copy_context()
        self.asks = 0
        self.planned: Planned | None = None
        self.queued = False
        self.begun = False
        self.again = False


class Pauses:
    """Tasks that wait until nobody has asked for their key for a while; two of one key never run at once."""

    def __init__(self, timer: Timer, start: Start) -> None:
        self._timer = timer
        self._start = start
        self._asked: dict[Hashable, _Asked] = {}
        self._lock = threading.Lock()

    def ask(self, key: Hashable, delay: float, task: Task[Any]) -> None:
        """Have the task done after the next pause; of several for one key the last counts."""
        with self._lock:
            asked = self._asked.setdefault(key, _Asked())
            asked.task, asked.context = task, contextvars.copy_context()
            if asked.planned is not None:
                self._timer.forget(asked.planned)
            asked.asks += 1
            asked.planned = self._timer.later(delay, partial(self._due, key, asked, asked.asks))

    def _due(self, key: Hashable, asked: _Asked, asks: int) -> None:
        with self._lock:
            if asks != asked.asks:  # asked for again in the moment in which the pause was over
                return
            asked.planned = None
            if asked.begun:
                asked.again = True
                return
            if asked.queued:  # it will do what was asked last
                return
            asked.queued = True
        self._begin(key, asked)

    def _begin(self, key: Hashable, asked: _Asked) -> None:
        if asked.task is not None:
            job = asked.context.run(self._start, replace(asked.task, work=partial(self._work, asked)))
            if job is not None:
                job.add_done_callback(partial(self._ended, key, asked))

    def _work(self, asked: _Asked) -> Any:
        with self._lock:
            asked.begun = True
            task = asked.task
        return task.work() if task is not None else None

    def _ended(self, key: Hashable, asked: _Asked, job: Job[Any] | Any) -> None:
        _tell(job)
        with self._lock:
            again, asked.again, asked.begun = asked.again, False, False
            asked.queued = again
            if not again and asked.planned is None:
                self._asked.pop(key, None)
        if again:
            self._begin(key, asked)


def _tell(job: Job[Any]) -> None:
    """Nobody holds the future of such a job: log its failure, unless it only met the end of the memory."""
    if job.cancelled():
        return
    error = job.exception()
    if error is not None and not isinstance(error, MemoryClosedError):
        unforeseen = None if isinstance(error, HybridMemoryError) else error
        _log.warning("%s failed: %s; it will be tried again the next time", job.task.kind, error, exc_info=unforeseen)
