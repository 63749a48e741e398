"""Work that waits for a pause: asked for often, done once."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

_log = logging.getLogger(__name__)


class Debounced(Generic[K]):
    """Does a job for a key on a thread of its own, once nobody has asked for that key for a while.

    Args:
        job: may raise; then the failure is logged, and the job done again when it is asked for again.
        delay: the pause, in seconds.
    """

    def __init__(self, job: Callable[[K], object], delay: float) -> None:
        self._job = job
        self._delay = delay
        self._due: dict[K, float] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def ask(self, key: K) -> None:
        """Have the job done after the next pause; the thread starts with the first call."""
        with self._changed:
            if self._closed:
                return
            self._due[key] = time.monotonic() + self._delay
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="hybrid-memory-learning", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """Wait for the job that runs; those that wait are dropped."""
        with self._changed:
            self._closed = True
            thread = self._thread
            self._changed.notify()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        while (key := self._next()) is not None:
            try:
                self._job(key)
            except Exception as error:  # noqa: BLE001 - whatever a model does, the thread goes on
                _log.warning("%s; it will be tried again after the next turn", error)

    def _next(self) -> K | None:
        """The key whose pause is over, when it is; None after `close`."""
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                first = min(self._due, key=lambda key: self._due[key], default=None)
                if first is not None and self._due[first] <= now:
                    del self._due[first]
                    return first
                self._changed.wait(None if first is None else self._due[first] - now)
            return None
