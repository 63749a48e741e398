"""Timed actions, and tasks that schedule themselves: at intervals, and after a pause."""

from __future__ import annotations

import contextvars
import heapq
import logging
import random
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

from hybrid_memory.errors import HybridMemoryError, MemoryClosedError
from hybrid_memory.runtime.condition import Condition
from hybrid_memory.runtime.tasks import AnyJob, Planned, Task

SWEPT = 64
"""Cancelled entries are removed when there are more than this, and more than half of all."""
LONGEST_WAIT = 3600.0
"""Seconds after which the thread checks again, as locks cannot wait as long as a timedelta."""


JITTER = 0.1
"""The share of the interval by which a run may be earlier or later, so that many processes do not run at once."""

_log = logging.getLogger(__name__)

Start = Callable[[Task[Any]], AnyJob | None]
"""Queues a task, even beyond the capacity; None when nothing is started any more."""


class Timer:
    """Calls actions at given times, on one thread that starts with the first; they must be quick and never raise.

    Args:
        clock: a monotonic clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, Planned]] = []
        self._numbers = count()
        self._cancelled = 0
        self._changed = Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def later(self, seconds: float, action: Callable[[], object]) -> Planned | None:
        """The entry to pass to `cancel`; None after `close`, when nothing is called any more."""
        with self._changed:
            if self._closed:
                return None
            planned = Planned(action)
            heapq.heappush(self._heap, (self._clock() + seconds, next(self._numbers), planned))
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="hybrid-memory-timer", daemon=True)
                self._thread.start()
            self._changed.notify_all()
            return planned

    def cancel(self, planned: Planned | None) -> None:
        """Cancel the action, unless it was already called."""
        with self._changed:
            if planned is None or planned.action is None:
                return
            planned.action = None
            self._cancelled += 1
            if self._cancelled > max(SWEPT, len(self._heap) // 2):
                self._heap = [entry for entry in self._heap if entry[2].action is not None]
                heapq.heapify(self._heap)
                self._cancelled = 0

    def close(self) -> None:
        """Cancel all actions."""
        with self._changed:
            self._closed = True
            self._heap.clear()
            self._changed.notify_all()

    def join(self, until: float | None = None) -> bool:
        """Wait for the running action to end; returns whether it did."""
        return self._thread is None or joined(self._thread, until)

    def _run(self) -> None:
        while True:
            try:
                while (action := self._next()) is not None:
                    action()
            except BaseException:  # noqa: BLE001 - from outside
                _log.exception("the timer was interrupted; it continues")
            else:
                return

    def _next(self) -> Callable[[], object] | None:
        """The next action, once it is due; None after `close`."""
        with self._changed:
            while not self._closed:
                now = self._clock()
                if self._heap and self._heap[0][0] <= now:
                    planned = heapq.heappop(self._heap)[2]
                    action, planned.action = planned.action, None
                    if action is not None:
                        return action
                    self._cancelled -= 1
                else:
                    self._changed.wait(min(self._heap[0][0] - now, LONGEST_WAIT) if self._heap else None)
            return None


def joined(thread: threading.Thread, until: float | None) -> bool:
    """Wait for a thread until a time of `time.monotonic`, unless it is the caller's; returns whether it ended."""
    if thread is threading.current_thread():
        return True
    thread.join(None if until is None else max(0.0, until - time.monotonic()))
    return not thread.is_alive()


class Periodic:
    """A repeating task; failures are logged and do not stop it."""

    def __init__(self, task: Task[Any], interval: float, timer: Timer, start: Start) -> None:
        self._task = task
        self._interval = interval
        self._timer = timer
        self._start = start
        self._context = contextvars.copy_context()
        self._planned: Planned | None = None
        self._job: AnyJob | None = None
        self._cancelled = False
        self._plan()

    def cancel(self) -> None:
        """Start no further run; a running one continues."""
        self._cancelled = True
        self._timer.cancel(self._planned)
        if (job := self._job) is not None:
            job.cancel()

    def _plan(self) -> None:
        pause = self._interval * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - no secret
        self._planned = self._timer.later(pause, self._begin)

    def _begin(self) -> None:
        try:
            job = None if self._cancelled else self._context.run(self._start, self._task)
        except BaseException:
            self._plan()
            raise
        if job is not None:
            self._job = job
            if self._cancelled:  # meanwhile, by another thread, which did not see the job
                job.cancel()
            job.add_done_callback(self._ended)

    def _ended(self, job: AnyJob | Any) -> None:
        _log_failure(job)
        if not self._cancelled:
            self._plan()


class _Key:
    """The pending work of one key.

    Attributes:
        active: whether a job is queued or running; again: whether it became due again since that job started.
    """

    def __init__(self, task: Task[Any]) -> None:
        self.task = task
        self.context = contextvars.copy_context()
        self.planned: Planned | None = None
        self.active = False
        self.again = False


class Debounced:
    """Tasks that wait for a pause in requests for their key; two of one key never run at the same time."""

    def __init__(self, timer: Timer, start: Start) -> None:
        self._timer = timer
        self._start = start
        self._keys: dict[Hashable, _Key] = {}
        self._lock = threading.Lock()

    def ask(self, name: Hashable, delay: float, task: Task[Any]) -> None:
        """Request the task after the next pause; of several for one key, the last counts."""
        with self._lock:
            key = self._keys.setdefault(name, _Key(task))
            key.task, key.context = task, contextvars.copy_context()
            self._timer.cancel(key.planned)
            key.planned = self._timer.later(delay, partial(self._due, name, key, task))

    def _due(self, name: Hashable, key: _Key, task: Task[Any]) -> None:
        with self._lock:
            if key.task is not task:  # asked for again at the moment when the pause was over
                return
            key.planned = None
            key.again = key.active
            if key.active:
                return
            key.active = True
        self._begin(name, key)

    def _begin(self, name: Hashable, key: _Key) -> None:
        job = None
        try:
            job = key.context.run(self._start, replace(key.task, work=partial(self._work, key)))
        finally:
            if job is None:
                key.active = False
        if job is not None:
            job.add_done_callback(partial(self._ended, name, key))

    def _work(self, key: _Key) -> Any:
        with self._lock:
            key.again, task = False, key.task
        return task.work()

    def _ended(self, name: Hashable, key: _Key, job: AnyJob | Any) -> None:
        _log_failure(job)
        with self._lock:
            key.active = key.again
            if not key.active and key.planned is None:
                self._keys.pop(name, None)
        if key.active:
            self._begin(name, key)


def _log_failure(job: AnyJob) -> None:
    """Log the failure of a job whose future nobody holds, unless the memory was closed in the meantime."""
    error = None if job.cancelled() else job.exception()
    if error is not None and not isinstance(error, MemoryClosedError):
        unforeseen = None if isinstance(error, HybridMemoryError) else error
        _log.warning("%s failed: %s; it will be retried next time", job.task.kind, error, exc_info=unforeseen)
