"""Conditions and futures that no interrupt leaves locked."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")


class Condition(threading.Condition):
    """A `threading.Condition` whose ``with`` takes and gives back the lock in C code.

    The methods of the original are Python code: an exception that comes from outside, such as a `KeyboardInterrupt`,
    may stop them when the lock is taken and the block has not begun, or before it is given back.
    """

    def __init__(self, lock: threading.RLock | None = None) -> None:
        super().__init__(lock)  # an RLock, which refuses to be given back by a thread that lost it while it waited

    if not TYPE_CHECKING:
        # Looked up by ``with`` before anything is locked.
        __enter__ = property(lambda self: self._lock.__enter__)
        __exit__ = property(lambda self: self._lock.__exit__)

    def wait(self, timeout: float | None = None) -> Any:
        """Whether it was notified; raises what interrupts the wait, and holds the lock then as before."""
        try:
            return super().wait(timeout)
        finally:
            if not self._is_owned():  # type: ignore[attr-defined]  # interrupted just after it was given back
                self._lock.acquire()  # type: ignore[attr-defined]


class Promise(Future[T]):
    """A future that no interrupt of who waits for it leaves locked, so that it can be fulfilled all the same."""

    def __init__(self) -> None:
        super().__init__()
        self._condition = Condition()
