"""Actions that are called at their time."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable
from itertools import count

SWEPT = 64
"""Cancelled entries are swept out when there are more than this, and more than half of all."""
LONGEST_WAIT = 3600.0
"""Seconds after which the thread looks again: no lock waits for as long as a timedelta can be."""


class Planned:
    """An action that waits for its time."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], object]) -> None:
        self.action: Callable[[], object] | None = action


class Timer:
    """Calls actions at their time, on one thread, which starts with the first; they must be quick and never raise.

    Args:
        clock: seconds that never run backwards.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, Planned]] = []
        self._numbers = count()
        self._cancelled = 0
        self._changed = threading.Condition(threading.Lock())
        self._thread: threading.Thread | None = None
        self._closed = False

    def later(self, seconds: float, action: Callable[[], object]) -> Planned | None:
        """The entry, by which `cancel` takes it off; None after `close`, which calls nothing any more."""
        with self._changed:
            if self._closed:
                return None
            planned = Planned(action)
            heapq.heappush(self._heap, (self._clock() + seconds, next(self._numbers), planned))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="hybrid-memory-timer", daemon=True)
                self._thread.start()
            self._changed.notify()
            return planned

    def cancel(self, planned: Planned | None) -> None:
        """The action is not called, unless it was already."""
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
        """Cancel every action."""
        with self._changed:
            self._closed = True
            self._heap.clear()
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
                if self._heap and self._heap[0][0] <= now:
                    planned = heapq.heappop(self._heap)[2]
                    action, planned.action = planned.action, None
                    if action is not None:
                        return action
                    self._cancelled -= 1
                else:
                    self._changed.wait(min(self._heap[0][0] - now, LONGEST_WAIT) if self._heap else None)
            return None
