"""Scheduled work: by priority and deadline, within limits, on its own threads; at intervals and after pauses."""

from __future__ import annotations

import contextvars
import heapq
import logging
import os
import queue
import random
import threading
import time
from collections.abc import Callable, Hashable
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any, TypeVar

from hybrid_memory.errors import DeadlineExceededError, HybridMemoryError, MemoryClosedError
from hybrid_memory.runtime.statistics import Statistics
from hybrid_memory.runtime.tasks import MODEL_KINDS, AnyJob, Condition, Job, Planned, PriorityQueue, Task
from hybrid_memory.validation import positive_seconds, whole

T = TypeVar("T")

JITTER = 0.1
"""The share of the interval by which a run may be earlier or later, so that many processes do not run at once."""

_log = logging.getLogger(__name__)

Run = Callable[[], AnyJob | None]
"""Queues a certain task, in the context of who asked for it; None when nothing is started any more."""


class Scheduler:
    """Runs tasks on its own threads, which start with the first task and do not keep the process alive.

    Higher priorities run first; among equals the earlier deadline, then arrival order decides.
    Interactive tasks, of priority 8 and above, have a reserved worker. At most ``concurrency`` tasks of a kind run at
    once, and ``workers`` of all: by default 4 plus one per core, at most 32. Work of a language model, which waits for
    the network, does not count: reasoning, summarization and learning.
    """

    def __init__(
        self,
        *,
        concurrency: int = 10,
        workers: int | None = None,
        statistics: Statistics | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.statistics = statistics or Statistics()
        self._concurrency = whole("concurrency", concurrency, 1)
        self._size = whole("workers", min(32, 4 + (os.cpu_count() or 1)) if workers is None else workers, 1)
        self._clock = clock
        self._lock = threading.RLock()
        self._queue = PriorityQueue()
        self._timer = Timer(clock)
        self._pausing: dict[Hashable, Planned | None] = {}
        self._active: dict[Hashable, Run | None] = {}  # by key, with what was asked for again since it began
        self._workers: list[_Worker] = []
        self._idle: dict[_Worker, None] = {}
        self._closed = False

    def schedule(self, task: Task[T]) -> Job[T]:
        """The future of the task, which may also be awaited; the task gets a copy of the caller's context variables.

        Raises:
            MemoryClosedError: after `close`.
        """
        job = Job(task, self._clock(), self._cancelled)
        with self._lock:
            if self._closed:
                raise MemoryClosedError
            self.statistics.count(task.kind, queued=1)
            if task.deadline is not None:
                seconds = task.deadline.total_seconds()
                job.expiry = self._timer.later(seconds, partial(self._cancelled, job, late=True))
            self._queue.put(job)
            self._wake()
        return job

    def every(self, interval: timedelta, task: Task[Any]) -> None:
        """Run the task again and again, this long after each end; first after one interval. Failures are logged.

        Each interval is shortened or lengthened by up to a tenth.
        """
        seconds = positive_seconds("interval", interval)
        run = partial(contextvars.copy_context().run, self._start, task)

        def plan() -> None:
            wait = seconds * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - no secret
            self._timer.later(wait, partial(self._begin, run, plan))

        plan()

    def debounced(self, key: Hashable, delay: timedelta, task: Task[Any]) -> None:
        """Run the task after a pause in requests for this key; the last requested task counts.

        Two tasks of one key never run at the same time. Failures are logged. After `close` nothing happens.
        """
        run = partial(contextvars.copy_context().run, self._start, task)
        with self._lock:
            self._timer.cancel(self._pausing.get(key))
            seconds = max(0.0, delay.total_seconds())
            self._pausing[key] = self._timer.later(seconds, partial(self._after_pause, key, run))

    def _after_pause(self, key: Hashable, run: Run) -> None:
        with self._lock:
            self._pausing.pop(key, None)
            waits = key in self._active
            self._active[key] = run if waits else None
        if not waits:
            self._begin(run, partial(self._once_more, key))

    def _once_more(self, key: Hashable) -> None:
        with self._lock:
            run = self._active.pop(key)
            if run is not None:
                self._active[key] = None
        if run is not None:
            self._begin(run, partial(self._once_more, key))

    def _begin(self, run: Run, then: Callable[[], None]) -> None:
        """Queue a task whose future nobody holds; call ``then`` when it has ended, or if it could not be queued."""

        def ended(job: AnyJob | Any) -> None:
            error = None if job.cancelled() else job.exception()
            if error is not None and not isinstance(error, MemoryClosedError):
                unforeseen = None if isinstance(error, HybridMemoryError) else error
                _log.warning("%s failed: %s; it will be retried next time", job.task.kind, error, exc_info=unforeseen)
            then()

        job = None
        try:
            job = run()
        finally:
            if job is None:
                then()
        if job is not None:
            job.add_done_callback(ended)

    def close(self, *, until: float | None = None) -> bool:
        """Cancel queued tasks and wait for running ones; False if some still run at this time of the clock."""
        with self._lock:
            self._closed = True
            jobs = self._queue.jobs()
            for worker in self._idle:
                worker.woken.put(None)
        self._timer.close()
        for job in jobs:
            job.cancel()
        # Waited for by the real clock, whatever the tasks go by; each of them, even if one hangs.
        threads = [self._timer.thread, *(worker.thread for worker in self._workers)]
        ended = [joined(thread, until) for thread in threads if thread is not None]
        return all(ended)

    def _start(self, task: Task[Any]) -> AnyJob | None:
        try:
            return self.schedule(task)
        except MemoryClosedError:
            return None

    def _wake(self) -> None:
        """Let one more thread look for work. The lock is held."""
        for worker in self._idle:
            if worker.woken.empty():
                worker.woken.put(None)
                return
        self._workers = [worker for worker in self._workers if worker.thread.is_alive()]
        # Whoever takes a job wakes the next, so one thread more than the jobs of a model that run is enough for those.
        waits = self._queue.first(lambda kind, interactive: kind in MODEL_KINDS and self._allowed(kind, interactive))
        of_models = sum(job.task.kind in MODEL_KINDS for job in self._running())
        if len(self._workers) < self._size + of_models + (waits is not None):
            worker = _Worker(f"hybrid-memory-{len(self._workers)}", self._work)
            self._workers.append(worker)  # one that an interrupt keeps from starting is not alive
            worker.thread.start()

    def _running(self) -> list[AnyJob]:
        return [worker.job for worker in self._workers if worker.job is not None]

    def _allowed(self, kind: str, interactive: bool) -> bool:
        """Whether one more job of this kind may start. The lock is held."""
        tasks = [job.task for job in self._running()]
        if sum(task.kind == kind for task in tasks) >= self._concurrency:
            return False
        if kind in MODEL_KINDS:
            return True
        others = [task for task in tasks if task.kind not in MODEL_KINDS]
        background = sum(not task.interactive for task in others)
        return len(others) < self._size and (interactive or self._size == 1 or background < self._size - 1)

    def _work(self, worker: _Worker) -> None:
        """What a thread does until the scheduler is closed."""
        while True:
            with self._lock:
                self._idle.pop(worker, None)
                worker.job = None
                if self._closed:
                    return
                worker.job = job = self._queue.first(self._allowed)
                if job is None:
                    self._idle[worker] = None
                elif self._queue.remove(job) and self._queue.first(self._allowed):
                    self._wake()
            if job is None:
                worker.woken.get()
            else:
                self._run(job)

    def _run(self, job: AnyJob) -> None:
        if not job.set_running_or_notify_cancel():
            self._count_cancelled(job)
            return
        kind, began = job.task.kind, self._clock()
        if job.expires <= began:
            self._fail_late(job)
            return
        self._timer.cancel(job.expiry)
        self.statistics.count(kind, queued=-1, running=1)
        try:
            result = job.run()
        except BaseException as error:  # noqa: BLE001 - it is the caller's, whatever it is
            self._count_ended(job, began, failed=True)
            job.set_exception(error)
        else:
            self._count_ended(job, began, failed=False)
            job.set_result(result)

    def _count_ended(self, job: AnyJob, began: float, *, failed: bool) -> None:
        ended = self._clock()
        self.statistics.ended(job.task.kind, ended - began, failed=failed, late=ended > job.expires)

    def _cancelled(self, job: AnyJob, *, late: bool = False) -> None:
        """End a job that is queued: its caller cancelled it, or it is too late for it."""
        with self._lock:
            if not self._queue.remove(job):
                return
        if job.set_running_or_notify_cancel() and late:
            self._fail_late(job)
        else:
            self._count_cancelled(job)

    def _count_cancelled(self, job: AnyJob) -> None:
        self._timer.cancel(job.expiry)
        self.statistics.count(job.task.kind, queued=-1, cancelled=1)

    def _fail_late(self, job: AnyJob) -> None:
        self._timer.cancel(job.expiry)
        self.statistics.count(job.task.kind, queued=-1, failed=1, missed=1)
        job.set_exception(
            DeadlineExceededError(
                f"the {job.task.kind} task did not begin within {job.task.deadline}: give it more time or a higher "
                "priority"
            )
        )


class _Worker:
    """One thread of a scheduler, with its current job, or what wakes it while it has none."""

    def __init__(self, name: str, work: Callable[[_Worker], None]) -> None:
        self.woken: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.job: AnyJob | None = None
        self.thread = threading.Thread(target=work, args=(self,), name=name, daemon=True)


class Timer:
    """Calls actions at given times, on one thread that starts with the first; they must be quick and never raise."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._heap: list[Planned] = []
        self._numbers = count()
        self._changed = Condition()
        self.thread: threading.Thread | None = None
        self._closed = False

    def later(self, seconds: float, action: Callable[[], object]) -> Planned | None:
        """The entry to pass to `cancel`; None after `close`, when nothing is called any more."""
        with self._changed:
            if self._closed:
                return None
            planned: Planned = [self._clock() + seconds, next(self._numbers), action]
            heapq.heappush(self._heap, planned)
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(target=self._run, name="hybrid-memory-timer", daemon=True)
                self.thread.start()
            self._changed.notify_all()
            return planned

    def cancel(self, planned: Planned | None) -> None:
        """Cancel the action, unless it was already called."""
        with self._changed:
            if planned is not None:
                planned[-1] = None

    def close(self) -> None:
        """Cancel all actions."""
        with self._changed:
            self._closed = True
            self._heap.clear()
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                now = self._clock()
                if not self._heap or self._heap[0][0] > now:
                    # At most an hour, as locks cannot wait as long as a timedelta.
                    self._changed.wait(min(self._heap[0][0] - now, 3600.0) if self._heap else None)
                    continue
                *_, action = heapq.heappop(self._heap)
            try:
                if action is not None:
                    action()
            except Exception:  # noqa: BLE001 - the next one is due all the same
                _log.exception("an action failed; the timer continues")


def joined(thread: threading.Thread, until: float | None) -> bool:
    """Wait for a thread until a time of `time.monotonic`, unless it is the caller's; returns whether it ended."""
    if thread is threading.current_thread():
        return True
    thread.join(None if until is None else max(0.0, until - time.monotonic()))
    return not thread.is_alive()
