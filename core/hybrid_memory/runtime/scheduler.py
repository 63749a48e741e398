"""Scheduled work: by priority, deadline and scope, within limits, on its own threads."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Hashable
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from hybrid_memory.errors import DeadlineExceededError, MemoryClosedError, QueueFullError
from hybrid_memory.runtime.condition import Promise
from hybrid_memory.runtime.statistics import Statistics
from hybrid_memory.runtime.tasks import AdmissionQueue, Allowed, AnyJob, Claim, Job, PriorityQueue, Task
from hybrid_memory.runtime.timer import Debounced, Periodic, Timer
from hybrid_memory.runtime.worker_pool import WorkerPool
from hybrid_memory.validation import positive_seconds, whole

T = TypeVar("T")

PER_KIND = 10


class Scheduler:
    """Runs tasks on its own threads, which start with the first task and do not keep the process alive.

    Higher priorities run first; among equals the earlier deadline, then scopes take turns, then arrival order decides.
    Interactive tasks, of priority 8 and above, have a reserved worker and their own queue capacity.

    Args:
        concurrency: how many tasks of a kind run at once.
        workers: how many tasks run at once; by default 4 plus one per core, at most 32. Work of a language model, which
            waits for the network, does not count: reasoning, summarization and learning.
        capacity: how many tasks may be queued, interactive and others each; then `schedule` waits.
        statistics: counts what is done.
        clock: a monotonic clock, in seconds.
    """

    def __init__(
        self,
        *,
        concurrency: int = PER_KIND,
        workers: int | None = None,
        capacity: int = 10_000,
        statistics: Statistics | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        workers = min(32, 4 + (os.cpu_count() or 1)) if workers is None else workers
        self.statistics = statistics or Statistics()
        self._clock = clock
        self._lock = threading.RLock()
        self._queue = PriorityQueue()
        self._admission = AdmissionQueue(whole("capacity", capacity, 1), self._queue)
        self._timer = Timer(clock)
        self._debounced = Debounced(self._timer, self._start)
        self._pool = WorkerPool(
            whole("workers", workers, 1),
            whole("concurrency", concurrency, 1),
            self._lock,
            take=self._take,
            more=self._queue.any,
            run=self._run,
            failed=self._failed,
        )
        self._closed = False

    def schedule(self, task: Task[T], *, timeout: float | None = None) -> Job[T]:
        """The future of the task, once it fits into the queue; it may also be awaited.

        On a thread of this scheduler it never waits, to avoid a deadlock.

        Args:
            task: the task; it gets a copy of the caller's context variables.
            timeout: seconds to wait for space in the queue; 0 does not wait, None waits without limit.

        Raises:
            QueueFullError: the queue stayed full.
            MemoryClosedError: after `close`.
        """
        job, entered = self._submit(task)
        if entered is not None:
            try:
                entered.result(timeout)
            except TimeoutError:
                self._give_up(job, timeout)
            except BaseException:
                job.cancel()
                raise
        return job

    async def aschedule(self, task: Task[T], *, timeout: float | None = None) -> Job[T]:  # noqa: ASYNC109 - the twin's
        """Like `schedule`, without blocking the loop while the queue is full."""
        job, entered = self._submit(task)
        if entered is not None:
            try:
                async with asyncio.timeout(timeout):
                    await asyncio.wrap_future(entered)
            except TimeoutError:
                self._give_up(job, timeout)
            except BaseException:
                job.cancel()
                raise
        return job

    def every(self, interval: timedelta, task: Task[Any]) -> Periodic:
        """A handle with ``cancel()`` for a task that repeats, this long after each end.

        The first run is one interval from now. Each interval is shortened or lengthened by up to a tenth. Failures are
        logged.
        """
        return Periodic(task, positive_seconds("interval", interval), self._timer, self._start)

    def debounced(self, key: Hashable, delay: timedelta, task: Task[Any]) -> None:
        """Run the task after a pause in requests for this key; the last requested task counts.

        Two tasks of one key never run at the same time. Failures are logged. After `close` nothing happens.
        """
        self._debounced.ask(key, max(0.0, delay.total_seconds()), task)

    def close(self, *, wait: bool = True, until: float | None = None) -> bool:
        """Cancel queued tasks and wait for running ones; False if some still run at this time of the clock."""
        with self._lock:
            self._closed = True
            jobs = [*self._queue.jobs(), *self._admission.close(MemoryClosedError())]
            self._pool.close()
        self._timer.close()
        for job in jobs:
            job.cancel()
        # Both are waited for by the real clock, whatever the tasks go by.
        return not wait or (self._timer.join(until) and self._pool.join(until))

    def _submit(self, task: Task[T], *, forced: bool = False) -> tuple[Job[T], Promise[None] | None]:
        """The job and, if the queue is full, the future that is done when it gets in."""
        job = Job(task, self._clock(), self._cancelled)
        with self._lock:
            if self._closed:
                raise MemoryClosedError
            entered = self._admission.admit(job, forced=forced or threading.current_thread() in self._pool)
            self.statistics.queued(task.kind)
            if task.deadline is not None:
                job.expiry = self._timer.later(job.expires - job.since, partial(self._expire, job))
            if entered is None:
                self._queue.put(job)
                self._pool.wake()
        return job, entered

    def _start(self, task: Task[Any]) -> AnyJob | None:
        try:
            return self._submit(task, forced=True)[0]
        except MemoryClosedError:
            return None

    def _give_up(self, job: AnyJob, timeout: float | None) -> None:
        if job.cancel():
            sort = "interactive tasks" if job.task.interactive else "tasks"
            raise QueueFullError(
                f"the queue is full of {sort}, and none of them started within {timeout} seconds: wait longer, use a "
                "larger capacity, or ask for less"
            )

    def _withdrawn(self, job: AnyJob) -> bool:
        """Whether the job was queued or waiting for space; the caller that withdraws it ends it."""
        with self._lock:
            if not self._queue.remove(job):
                return self._admission.withdraw(job)
            self._left(job)
            return True

    def _left(self, job: AnyJob) -> None:
        """Let in the next waiting job, as one left the queue. The lock is held."""
        if not self._closed and self._admission.let_in(job.task.interactive):
            self._pool.wake()

    def _cancelled(self, job: AnyJob) -> None:
        if self._withdrawn(job):
            job.set_running_or_notify_cancel()
            self._count_cancelled(job)

    def _count_cancelled(self, job: AnyJob) -> None:
        self._timer.cancel(job.expiry)
        self.statistics.cancelled(job.task.kind)

    def _expire(self, job: AnyJob) -> None:
        if self._withdrawn(job):
            if job.set_running_or_notify_cancel():
                self._fail_late(job)
            else:
                self._count_cancelled(job)

    def _fail_late(self, job: AnyJob) -> None:
        self._timer.cancel(job.expiry)
        self.statistics.expired(job.task.kind)
        job.set_exception(
            DeadlineExceededError(
                f"the {job.task.kind} task did not begin within {job.task.deadline}: give it more time or a higher "
                "priority"
            )
        )

    def _take(self, allowed: Allowed, claim: Claim) -> AnyJob | None:
        job = self._queue.take(allowed, claim)
        if job is not None:
            self._left(job)
        return job

    def _run(self, job: AnyJob) -> None:
        if not job.set_running_or_notify_cancel():
            self._count_cancelled(job)
            return
        kind, began = job.task.kind, self._clock()
        if job.expires <= began:
            self._fail_late(job)
            return
        self._timer.cancel(job.expiry)
        self.statistics.started(kind, began - job.since)
        try:
            result = job.run()
        except BaseException as error:  # noqa: BLE001 - it is the caller's, whatever it is
            self._count_ended(job, began, failed=True)
            job.set_exception(error)
        else:
            self._count_ended(job, began, failed=False)
            job.set_result(result)

    def _failed(self, job: AnyJob, error: BaseException) -> None:
        """Handle an asynchronous exception in the worker that took the job, or was about to."""
        with self._lock:
            if job in self._queue:
                return
            if not (job.running() or job.done()):
                self._queue.put(job)
                return
        if job.done():
            job.announce()
        else:
            job.set_exception(error)

    def _count_ended(self, job: AnyJob, began: float, *, failed: bool) -> None:
        ended = self._clock()
        self.statistics.ended(job.task.kind, ended - began, failed=failed, late=ended > job.expires)
