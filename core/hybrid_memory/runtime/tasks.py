"""Work as it is scheduled: what to do, how urgent it is, and the future of its result."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeAlias, TypeVar

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.runtime.timer import Planned
from hybrid_memory.scope import Scope
from hybrid_memory.validation import positive_seconds, whole

T = TypeVar("T")

LOWEST, HIGHEST = 1, 10
INTERACTIVE = 8
"""From this priority on somebody is waiting for the answer."""

_priority: contextvars.ContextVar[int | None] = contextvars.ContextVar("priority", default=None)


@dataclass(frozen=True, slots=True)
class Task(Generic[T]):
    """Work to be scheduled.

    Args:
        work: called once, on a thread of the scheduler.
        kind: what it does; each kind has its own limit and figures. The library's own are embedding, recall, reasoning,
            summarization, learning, indexing and maintenance.
        priority: 1 to 10, 10 first; from 8 on it is interactive.
        deadline: how long after it was scheduled it must have begun.
        scope: whose work it is; scopes take turns.

    Raises:
        InvalidInputError: an argument is out of its range.
    """

    work: Callable[[], T]
    kind: str
    priority: int = 5
    deadline: timedelta | None = None
    scope: Scope | None = None

    def __post_init__(self) -> None:
        _check("work", self.work, callable(self.work), "callable without arguments")
        _check("kind", self.kind, _is_name(self.kind), "a name, such as 'recall'")
        whole("priority", self.priority, LOWEST, HIGHEST)
        if self.deadline is not None:
            positive_seconds("deadline", self.deadline)
        _check("scope", self.scope, self.scope is None or isinstance(self.scope, Scope), "a Scope")

    @property
    def interactive(self) -> bool:
        """Whether somebody is waiting for the answer."""
        return self.priority >= INTERACTIVE


def _is_name(kind: object) -> bool:
    return isinstance(kind, str) and kind != ""


def _check(label: str, value: object, fits: bool, wanted: str) -> None:
    if not fits:
        raise InvalidInputError(f"{label} must be {wanted}, got {value!r}")


@contextmanager
def at_priority(priority: int) -> Iterator[None]:
    """Whatever is asked of a `BatchingEmbedder` inside the block has this priority, 1 to 10.

    A task of the scheduler runs at its own priority without this.
    """
    token = _priority.set(whole("priority", priority, LOWEST, HIGHEST))
    try:
        yield
    finally:
        _priority.reset(token)


def current_priority(default: int) -> int:
    """The priority of the work that is being done here, where one was set."""
    priority = _priority.get()
    return default if priority is None else priority


class Job(Future[T]):
    """The future of a task; can be awaited too, on any event loop.

    To cancel it, or the asyncio task that awaits it, cancels a task that has not begun. One that has begun goes on.

    Attributes:
        task: what is done; since: when it was queued; expires: its deadline, both on the scheduler's clock.
        expiry: what ends it at its deadline.
    """

    def __init__(self, task: Task[T], now: float, drop: Callable[[Job[Any]], None]) -> None:
        super().__init__()
        self.task = task
        self.since = now
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
        return self._context.run(self._at_priority)

    def _at_priority(self) -> T:
        with at_priority(self.task.priority):
            return self.task.work()

    def __await__(self) -> Generator[Any, None, T]:
        return asyncio.wrap_future(self).__await__()


AnyJob: TypeAlias = Job[Any]
