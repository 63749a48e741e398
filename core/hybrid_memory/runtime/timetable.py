"""What is to happen at its time."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from itertools import count

TIDY = 64
"""Cancelled entries are swept out when they are this many, and the half of all."""
LONGEST_WAIT = 3600.0
"""Seconds after which the thread looks again: no lock waits for the times that a timedelta can tell."""


class Planned:
    """An action that waits for its time."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], object]) -> None:
        self.action: Callable[[], object] | None = action


class Timetable:
    """Actions by the time when they are due. Its owner locks it."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Planned]] = []
        self._numbers = count()
        self._cancelled = 0

    def plan(self, due: float, action: Callable[[], object]) -> Planned:
        """The entry, by which the action can be cancelled."""
        planned = Planned(action)
        heapq.heappush(self._heap, (due, next(self._numbers), planned))
        return planned

    def cancel(self, planned: Planned) -> None:
        """Forget the action, if it has not been taken yet."""
        if planned.action is None:
            return
        planned.action = None
        self._cancelled += 1
        if self._cancelled > max(TIDY, len(self._heap) // 2):
            self._heap = [entry for entry in self._heap if entry[2].action is not None]
            heapq.heapify(self._heap)
            self._cancelled = 0

    def take(self, now: float) -> Callable[[], object] | None:
        """The first action that is due, which leaves the table."""
        self._skip()
        if not self._heap or self._heap[0][0] > now:
            return None
        planned = heapq.heappop(self._heap)[2]
        action, planned.action = planned.action, None
        return action

    def first(self) -> float | None:
        """When the first action is due."""
        self._skip()
        return self._heap[0][0] if self._heap else None

    def clear(self) -> None:
        """Forget every action."""
        for _, _, planned in self._heap:
            planned.action = None
        self._heap.clear()
        self._cancelled = 0

    def _skip(self) -> None:
        while self._heap and self._heap[0][2].action is None:
            heapq.heappop(self._heap)
            self._cancelled -= 1


class Timer:
    """Calls actions at their time, on one thread, which starts with the first; they must be quick and never raise.

    Args:
        clock: seconds that never run backwards.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._timetable = Timetable()
        self._changed = threading.Condition(threading.Lock())
        self._thread: threading.Thread | None = None
        self._closed = False

    def later(self, seconds: float, action: Callable[[], object]) -> Planned | None:
        """The entry, by which `forget` takes it off; None after `close`, which calls nothing any more."""
        with self._changed:
            if self._closed:
                return None
            planned = self._timetable.plan(self._clock() + seconds, action)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="hybrid-memory-timer", daemon=True)
                self._thread.start()
            self._changed.notify()
            return planned

    def forget(self, planned: Planned) -> None:
        """The action is not called, if it was not yet."""
        with self._changed:
            self._timetable.cancel(planned)

    def close(self) -> None:
        """Forget every action."""
        with self._changed:
            self._closed = True
            self._timetable.clear()
            self._changed.notify()

    def join(self) -> None:
        """Wait until the action that is being called has ended."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while (action := self._next()) is not None:
            action()

    def _next(self) -> Callable[[], object] | None:
        """The action that is due, when one is; None after `close`."""
        with self._changed:
            while not self._closed:
                now = self._clock()
                if (action := self._timetable.take(now)) is not None:
                    return action
                first = self._timetable.first()
                self._changed.wait(None if first is None else min(first - now, LONGEST_WAIT))
            return None
