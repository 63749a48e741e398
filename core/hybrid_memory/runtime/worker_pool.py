"""Threads: those that do jobs, and those of calls that have a time limit."""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from hybrid_memory.runtime.tasks import Allowed, AnyJob

MAX_HANGING = 4
"""Calls beyond their time limit that may be left behind; until one of them ends, nothing is called any more."""


class WorkerPool:
    """Threads that start as they are needed and do not keep the process alive.

    Args:
        workers: how many jobs run at once; where it is more than one, one of them runs interactive jobs only.
        limit: how many of one kind.
        lock: held by whoever calls `wake`, and while ``take`` and ``more`` are called.
        take: gives the next job among those that are allowed; more: whether there is another.
        run: does a job; never raises.
    """

    def __init__(
        self,
        workers: int,
        limit: int,
        lock: threading.Lock,
        *,
        take: Callable[[Allowed], AnyJob | None],
        more: Callable[[Allowed], bool],
        run: Callable[[AnyJob], None],
    ) -> None:
        self._workers = workers
        self._limit = limit
        self._changed = threading.Condition(lock)
        self._take = take
        self._more = more
        self._run = run
        self._threads: list[threading.Thread] = []
        self._running: dict[str, int] = {}
        self._in_background = 0
        self._idle = 0
        self._closed = False

    def __contains__(self, thread: threading.Thread) -> bool:
        return thread in self._threads

    def wake(self) -> None:
        """Have one more thread look for work."""
        if self._idle:
            self._idle -= 1
            self._changed.notify()
        elif len(self._threads) < self._workers:
            name = f"hybrid-memory-{len(self._threads)}"
            self._threads.append(threading.Thread(target=self._work, name=name, daemon=True))
            self._threads[-1].start()

    def close(self) -> None:
        """Begin no further job. The lock is held."""
        self._closed = True
        self._changed.notify_all()

    def join(self) -> None:
        """Wait for the jobs that run, except for one that calls this."""
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def _allowed(self, kind: str, interactive: bool) -> bool:
        if self._running.get(kind, 0) >= self._limit:
            return False
        return interactive or self._workers == 1 or self._in_background < self._workers - 1

    def _work(self) -> None:
        job = self._next(None)
        while job is not None:
            self._run(job)
            done, job = (job.task.kind, job.task.interactive), None  # an idle thread keeps no result
            job = self._next(done)

    def _next(self, done: tuple[str, bool] | None) -> AnyJob | None:
        """The next job, when there is one; None after `close`."""
        with self._changed:
            if done is not None:
                self._count(*done, -1)
            while not self._closed:
                job = self._take(self._allowed)
                if job is not None:
                    self._count(job.task.kind, job.task.interactive, 1)
                    if self._more(self._allowed):
                        self.wake()
                    return job
                self._idle += 1
                self._changed.wait()
            return None

    def _count(self, kind: str, interactive: bool, change: int) -> None:
        running = self._running.get(kind, 0) + change
        if running:
            self._running[kind] = running
        else:
            del self._running[kind]
        self._in_background += 0 if interactive else change


class NoResultError(Exception):
    """A call failed, with what it raised as the cause; or took too long, without one. Says so in words."""


class TimeLimit:
    """Calls that are waited for only so long; the caller's context variables go along.

    Args:
        name: of what is called, for errors.
        timeout: of each call; positive.
    """

    def __init__(self, name: str, timeout: timedelta) -> None:
        self._name = name
        self._seconds = min(timeout.total_seconds(), threading.TIMEOUT_MAX)
        self._lock = threading.Lock()
        self._left: list[threading.Thread] = []

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """The result of the function.

        Raises:
            NoResultError: it failed, took too long, or could not be called.
        """
        with self._lock:
            self._left = [thread for thread in self._left if thread.is_alive()]
            if len(self._left) >= MAX_HANGING:
                raise NoResultError(f"{self._name} hangs: {MAX_HANGING} calls have not come back yet")
        outcome: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        context = contextvars.copy_context()

        def run() -> None:
            try:
                outcome.put((context.run(function, *args), None))
            except BaseException as error:  # noqa: BLE001 - even SystemExit is its failure, not ours
                outcome.put((None, error))

        # A call cannot be stopped, only left behind. In a pool those left behind would take up all workers, and the
        # pool would wait for them at exit; a daemon thread of its own holds up neither the next call nor the exit.
        thread = threading.Thread(target=run, name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise NoResultError(f"{self._name} cannot be called: {error}") from error
        try:
            value, problem = outcome.get(timeout=self._seconds)
        except queue.Empty:
            with self._lock:
                self._left.append(thread)
            raise NoResultError(f"{self._name} took longer than {self._seconds:g} s") from None
        if problem is not None:
            raise NoResultError(f"{self._name} failed: {described(problem)}") from problem
        return value


def described(problem: BaseException) -> str:
    """The error as Python shows it, or its kind where it cannot be shown."""
    try:
        return repr(problem)
    except Exception:  # noqa: BLE001 - whatever a foreign error does
        return type(problem).__name__
