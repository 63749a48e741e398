"""Threads that do jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from hybrid_memory.runtime.tasks import Allowed, AnyJob
from hybrid_memory.runtime.timer import joined


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

    def join(self, until: float | None = None) -> bool:
        """Wait for the jobs that run, except for one that calls this; whether all have ended by then."""
        return all(list(map(partial(joined, until=until), self._threads)))

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
