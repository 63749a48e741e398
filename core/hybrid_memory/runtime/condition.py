"""Conditions and futures that an interrupt cannot leave locked."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Condition(threading.Condition):
    """A `threading.Condition` whose ``with`` acquires and releases the lock in C code.

    The original's methods are Python code: an asynchronous exception such as a `KeyboardInterrupt` may hit after the
    lock is acquired but before the block begins, or before it is released.
    """

    def __init__(self, lock: threading.RLock | None = None) -> None:
        super().__init__(lock)  # an RLock, which refuses to be given back by a thread that lost it while it waited

    if not TYPE_CHECKING:
        # Looked up by ``with`` before anything is locked.
        __enter__ = property(lambda self: self._lock.__enter__)
        __exit__ = property(lambda self: self._lock.__exit__)

    def wait(self, timeout: float | None = None) -> Any:
        """Whether it was notified; if interrupted, raises the exception with the lock still held."""
        try:
            return super().wait(timeout)
        finally:
            if not self._is_owned():  # type: ignore[attr-defined]  # interrupted just after it was given back
                self._lock.acquire()  # type: ignore[attr-defined]


class Promise(Future[T]):
    """A future that stays usable if a thread waiting for it is interrupted."""

    def __init__(self) -> None:
        super().__init__()
        self._condition = Condition()

    def announce(self) -> None:
        """Notify the waiters again, if an interrupt came in between."""
        with self._condition:
            self._condition.notify_all()
        self._invoke_callbacks()

    def _invoke_callbacks(self) -> None:
        while self._done_callbacks:  # type: ignore[attr-defined]
            callback = self._done_callbacks.pop(0)  # type: ignore[attr-defined]  # each once
            try:
                callback(self)
            except Exception:  # noqa: BLE001 - whatever a caller has it do
                _log.exception("%r failed", callback)
