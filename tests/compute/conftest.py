import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hybrid_memory import Task
from hybrid_memory.runtime.scheduler import Scheduler

Make = Callable[..., Scheduler]
Holding = Callable[..., "Hold"]


class Hold:
    """Tasks that keep workers busy until they are released."""

    def __init__(self, scheduler: Scheduler, count: int, **fields: Any) -> None:
        self.released = threading.Event()
        begun = threading.Semaphore(0)

        def work() -> None:
            begun.release()
            assert self.released.wait(60)

        task = Task(work, **{"kind": "hold", "priority": 10, **fields})
        self.jobs = [scheduler.schedule(task) for _ in range(count)]
        for _ in range(count):
            assert begun.acquire(timeout=60)

    def release(self) -> None:
        self.released.set()


class Clock:
    """Stands still until it is told; then the scheduler's timer looks at it."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.scheduler: Scheduler | None = None

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds
        if self.scheduler is not None:
            with self.scheduler._timer._changed:
                self.scheduler._timer._changed.notify()


@pytest.fixture
def make() -> Iterator[Make]:
    """Makes schedulers that are closed after the test."""
    made: list[Scheduler] = []

    def make_one(**settings: Any) -> Scheduler:
        made.append(Scheduler(**settings))
        if isinstance(clock := settings.get("clock"), Clock):
            clock.scheduler = made[-1]
        return made[-1]

    yield make_one
    for scheduler in made:
        scheduler.close()


@pytest.fixture
def hold() -> Iterator[Holding]:
    """Keeps workers busy until it is released, at the latest at the end of the test."""
    held: list[Hold] = []

    def hold_some(scheduler: Scheduler, count: int = 1, **fields: Any) -> Hold:
        held.append(Hold(scheduler, count, **fields))
        return held[-1]

    yield hold_some
    for one in held:
        one.release()


@pytest.fixture
def clock() -> Clock:
    return Clock()
