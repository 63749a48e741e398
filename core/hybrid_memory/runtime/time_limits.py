"""Calls that are waited for only so long."""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

MAX_HANGING = 4
"""Calls beyond their time limit that may be left behind; until one of them ends, nothing is called any more."""


class NoResultError(Exception):
    """A call failed, with what it raised as the cause; or took too long, without one. Says so in words."""


class TimeLimit:
    """Calls that are waited for only so long; the caller's context variables go along.

    Args:
        name: of what is called, for errors.
        timeout: of each call; positive.
    """

    def __init__(self, name: str, timeout: timedelta) -> None:
        self._name = name
        self._seconds = min(timeout.total_seconds(), threading.TIMEOUT_MAX)
        self._lock = threading.Lock()
        self._left: list[threading.Thread] = []

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """The result of the function.

        Raises:
            NoResultError: it failed, took too long, or could not be called.
        """
        with self._lock:
            self._left = [thread for thread in self._left if thread.is_alive()]
            if len(self._left) >= MAX_HANGING:
                raise NoResultError(f"{self._name} hangs: {MAX_HANGING} calls have not come back yet")
        outcome: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        context = contextvars.copy_context()

        def run() -> None:
            try:
                outcome.put((context.run(function, *args), None))
            except BaseException as error:  # noqa: BLE001 - even SystemExit is its failure, not ours
                outcome.put((None, error))

        # A call cannot be stopped, only left behind. In a pool those left behind would take up all workers, and the
        # pool would wait for them at exit; a daemon thread of its own holds up neither the next call nor the exit.
        thread = threading.Thread(target=run, name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise NoResultError(f"{self._name} cannot be called: {error}") from error
        try:
            value, problem = outcome.get(timeout=self._seconds)
        except queue.Empty:
            with self._lock:
                self._left.append(thread)
            raise NoResultError(f"{self._name} took longer than {self._seconds:g} s") from None
        if problem is not None:
            raise NoResultError(f"{self._name} failed: {described(problem)}") from problem
        return value


def described(problem: BaseException) -> str:
    """The error as Python shows it, or its kind where it cannot be shown."""
    try:
        return repr(problem)
    except Exception:  # noqa: BLE001 - whatever a foreign error does
        return type(problem).__name__
