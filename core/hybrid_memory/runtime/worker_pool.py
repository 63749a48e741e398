"""A pool of worker threads."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from hybrid_memory.runtime.tasks import MODEL_KINDS, Allowed, AnyJob, Claim
from hybrid_memory.runtime.timer import joined


class _Worker:
    """One thread of a pool.

    Attributes:
        woken: what it waits for while idle.
        job: its current job; set before the job leaves the queue, so that an interrupt cannot lose it.
    """

    def __init__(self, name: str, work: Callable[[_Worker], None]) -> None:
        self.woken: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.job: AnyJob | None = None
        self.thread = threading.Thread(target=work, args=(self,), name=name, daemon=True)

    def claim(self, job: AnyJob) -> None:
        self.job = job


class WorkerPool:
    """Threads that start on demand and do not keep the process alive.

    An asynchronous exception thrown into a thread ends its job, not the thread.

    Args:
        workers: how many jobs run at once; if more than one, one of them is reserved for interactive jobs. Jobs of
            `MODEL_KINDS`, which wait for the network, do not count.
        limit: how many jobs of one kind run at once.
        lock: held by callers of `wake`, and while ``take`` and ``more`` are called.
        take: returns the next allowed job, and claims it before it leaves the queue.
        more: whether there is another job.
        run: runs a job; never raises.
        failed: ends or requeues a job whose worker was hit by an asynchronous exception.
    """

    def __init__(
        self,
        workers: int,
        limit: int,
        lock: threading.RLock,
        *,
        take: Callable[[Allowed, Claim], AnyJob | None],
        more: Callable[[Allowed], bool],
        run: Callable[[AnyJob], None],
        failed: Callable[[AnyJob, BaseException], None],
    ) -> None:
        self._size = workers
        self._limit = limit
        self._lock = lock
        self._take = take
        self._more = more
        self._run = run
        self._failed = failed
        self._workers: list[_Worker] = []
        self._idle: dict[_Worker, None] = {}
        self._closed = False

    def __contains__(self, thread: threading.Thread) -> bool:
        return any(worker.thread is thread for worker in self._workers)

    def wake(self) -> None:
        """Let one more thread look for work."""
        for worker in self._idle:
            if worker.woken.empty():
                worker.woken.put(None)
                return
        self._workers = [worker for worker in self._workers if worker.thread.is_alive()]
        # Whoever takes a job wakes the next, so one thread more than the jobs of a model that run is enough for those.
        waits = self._more(lambda kind, interactive: kind in MODEL_KINDS and self._allowed(kind, interactive))
        if len(self._workers) < self._size + len(self._of_models()) + waits:
            worker = _Worker(f"hybrid-memory-{len(self._workers)}", self._work)
            self._workers.append(worker)  # one that an interrupt keeps from starting is not alive
            worker.thread.start()

    def close(self) -> None:
        """Start no further job. The lock is held."""
        self._closed = True
        for worker in self._idle:
            worker.woken.put(None)

    def join(self, until: float | None = None) -> bool:
        """Wait for running jobs, except one that calls this; returns whether all have ended."""
        ended = [joined(worker.thread, until) for worker in self._workers]  # each of them is waited for
        return all(ended)

    def _of_models(self) -> list[AnyJob]:
        jobs = [worker.job for worker in self._workers if worker.job is not None]
        return [job for job in jobs if job.task.kind in MODEL_KINDS]

    def _allowed(self, kind: str, interactive: bool) -> bool:
        tasks = [worker.job.task for worker in self._workers if worker.job is not None]
        if sum(task.kind == kind for task in tasks) >= self._limit:
            return False
        if kind in MODEL_KINDS:
            return True
        others = [task for task in tasks if task.kind not in MODEL_KINDS]
        background = sum(not task.interactive for task in others)
        return len(others) < self._size and (interactive or self._size == 1 or background < self._size - 1)

    def _work(self, worker: _Worker) -> None:
        while True:
            try:
                while not self._closed:
                    self._step(worker)
            except BaseException as error:  # noqa: BLE001 - from outside: what the job raises is in its future
                job, worker.job = worker.job, None
                if job is not None:
                    self._failed(job, error)
            else:
                return

    def _step(self, worker: _Worker) -> None:
        """Run the next job, or wait until there may be one."""
        with self._lock:
            self._idle.pop(worker, None)
            worker.job = None
            job = None if self._closed else self._take(self._allowed, worker.claim)
            if job is None and not self._closed:
                self._idle[worker] = None
            elif job is not None and self._more(self._allowed):
                self.wake()
        if job is not None:
            self._run(job)
        elif not self._closed:
            worker.woken.get()
