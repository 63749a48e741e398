"""Scheduled work: tasks, the futures of their results, and the order in which they start."""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import logging
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.validation import positive_seconds, shown, whole

T = TypeVar("T")

LOWEST, HIGHEST = 1, 10
INTERACTIVE = 8  # from this priority on, a caller is waiting for the answer
PATIENT = 5  # the priority of work whose caller waits until all of it is done, however long it takes
MODEL_KINDS = frozenset(("reasoning", "summarization", "learning"))  # kinds of work that may wait for a language model
ENGINE_SECONDS = 2.5  # how long to wait for a server while a caller is waiting; see `hurried`

_log = logging.getLogger(__name__)

_priority: contextvars.ContextVar[int | None] = contextvars.ContextVar("priority", default=None)


@dataclass(frozen=True, slots=True)
class Task(Generic[T]):
    """Work to be scheduled.

    Args:
        work: called once, on a thread of the scheduler.
        kind: each kind has its own limit and statistics. The library uses embedding, recall, reasoning, summarization,
            learning, indexing and maintenance.
        priority: 1 to 10, highest first; 8 and above is interactive.
        deadline: the longest time between scheduling and starting.

    Raises:
        InvalidInputError: an argument is out of range.
    """

    work: Callable[[], T]
    kind: str
    priority: int = 5
    deadline: timedelta | None = None

    def __post_init__(self) -> None:
        work, kind = cast("object", self.work), cast("object", self.kind)  # whatever was given
        if not callable(work):
            raise InvalidInputError(f"work must be callable without arguments, got {shown(work)}")
        if not isinstance(kind, str) or not kind:
            raise InvalidInputError(f"kind must be a name, such as 'recall', got {shown(kind)}")
        whole("priority", self.priority, LOWEST, HIGHEST)
        if self.deadline is not None:
            positive_seconds("deadline", self.deadline)

    @property
    def interactive(self) -> bool:
        """Whether a caller is waiting for the answer."""
        return self.priority >= INTERACTIVE


@contextmanager
def at_priority(priority: int) -> Iterator[None]:
    """Inside the block, requests to a `BatchingEmbedder` have this priority, 1 to 10.

    A scheduled task has its own priority without this.
    """
    token = _priority.set(whole("priority", priority, LOWEST, HIGHEST))
    try:
        yield
    finally:
        _priority.reset(token)


def current_priority(default: int) -> int:
    """The priority of the current work, if one was set."""
    priority = _priority.get()
    return default if priority is None else priority


def hurried() -> bool:
    """Whether a caller is waiting who can do without a part of the answer, as `recall` can."""
    return current_priority(PATIENT) >= INTERACTIVE


class Condition(threading.Condition):
    """A `threading.Condition` whose ``with`` acquires and releases the lock in C code.

    The original's methods are Python code: an asynchronous exception such as a `KeyboardInterrupt` may hit after the
    lock is acquired but before the block begins, or before it is released. The lock is an RLock, which refuses to be
    given back by a thread that lost it while it waited.
    """

    if not TYPE_CHECKING:
        # Looked up by ``with`` before anything is locked.
        __enter__ = property(attrgetter("_lock.__enter__"))
        __exit__ = property(attrgetter("_lock.__exit__"))

    def wait(self, timeout: float | None = None) -> Any:
        """Whether it was notified; if interrupted, raises the exception with the lock still held."""
        try:
            return super().wait(timeout)
        finally:
            if not self._is_owned():  # type: ignore[attr-defined]  # interrupted just after it was given back
                self._lock.acquire()  # type: ignore[attr-defined]


class Job(Future[T]):
    """The future of a task, which can also be awaited on any event loop.

    Cancelling it, or the asyncio task that awaits it, cancels a task that has not started. A started task continues.

    Attributes:
        task: the task; expires: its deadline, on the scheduler's clock.
        expiry: the timer of its deadline.
    """

    def __init__(self, task: Task[T], now: float, drop: Callable[[Job[Any]], None]) -> None:
        super().__init__()
        self._condition = Condition()  # so that it stays usable if a thread that waits for it is interrupted
        self.task = task
        self.expires = float("inf") if task.deadline is None else now + task.deadline.total_seconds()
        self.expiry: Planned | None = None
        self._context = contextvars.copy_context()
        self._drop = drop

    def cancel(self) -> bool:
        """Whether the task is cancelled."""
        cancelled = super().cancel()
        if cancelled:
            self._drop(self)
        return cancelled

    def run(self) -> T:
        """The result of the work, in the context that scheduled it."""

        def work() -> T:
            with at_priority(self.task.priority):
                return self.task.work()

        return self._context.run(work)

    def __await__(self) -> Generator[Any, None, T]:
        return asyncio.wrap_future(self).__await__()


AnyJob: TypeAlias = Job[Any]


Planned: TypeAlias = list[Any]
"""A scheduled action, behind its time and its number; None in its place if it was cancelled."""


Entry = tuple[int, float, int, AnyJob]  # a queued job in starting order: priority (negative), deadline, arrival
Allowed = Callable[[str, bool], bool]  # whether one more job of a kind, interactive or not, may start


class PriorityQueue:
    """Jobs in the order in which to start them. Its owner locks it.

    Higher priority first; then the earlier deadline, jobs without one last; then by arrival. A removed job stays in its
    heap until it would be the first.
    """

    def __init__(self) -> None:
        self._heaps: dict[tuple[str, bool], list[Entry]] = {}
        self._queued: dict[AnyJob, None] = {}
        self._numbers = count()

    def put(self, job: AnyJob) -> None:
        """Add the job to the queue."""
        task = job.task
        entry = (-task.priority, job.expires, next(self._numbers), job)
        heapq.heappush(self._heaps.setdefault((task.kind, task.interactive), []), entry)
        self._queued[job] = None

    def first(self, allowed: Allowed) -> AnyJob | None:
        """The next job among those that may start; it stays in the queue."""
        first: Entry | None = None
        for kind, heap in list(self._heaps.items()):
            while heap and heap[0][-1] not in self._queued:
                heapq.heappop(heap)
            if not heap:
                del self._heaps[kind]
            elif allowed(*kind) and (first is None or heap[0] < first):
                first = heap[0]
        return None if first is None else first[-1]

    def remove(self, job: AnyJob) -> bool:
        """Remove the job; returns whether it was queued."""
        if job not in self._queued:
            return False
        del self._queued[job]
        return True

    def jobs(self) -> list[AnyJob]:
        """All queued jobs."""
        return list(self._queued)
