"""Time limits for calls of foreign code."""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import ParamSpec, TypeVar

from hybrid_memory.runtime.breaker import Admission, Breaker
from hybrid_memory.runtime.tasks import INTERACTIVE, current_priority

P = ParamSpec("P")
T = TypeVar("T")

MAX_HANGING = 4
"""The most abandoned calls beyond their time limit; until one of them ends, no further call is made."""

PROBE_SECONDS = 1.0
"""How long the caller waits whose call probes whether there is an answer again."""


class NoResultError(Exception):
    """A call failed, with the exception as its cause, or took too long, without one; the message says which."""


class TimeLimit:
    """Calls functions with a time limit; they get a copy of the caller's context variables.

    Args:
        name: the name in error messages.
        timeout: the limit of each call, in seconds; positive.
        patience: the limit if nobody is waiting, as in background work; by default the same.
        breaker: opened by calls that take too long, and closed by any that returns, even late; without one, every call
            is made.
        usual: the priority of calls if none was set with `at_priority`.
    """

    def __init__(
        self,
        name: str,
        timeout: timedelta,
        *,
        patience: timedelta | None = None,
        breaker: Breaker | None = None,
        usual: int = INTERACTIVE,
    ) -> None:
        self._name = name
        self._timeout = timeout
        self._patience = timeout if patience is None else patience
        self._breaker = breaker
        self._usual = usual
        self._lock = threading.Lock()
        self._left: list[threading.Thread] = []

    @property
    def seconds(self) -> float:
        """The limit that would apply here and now."""
        hurried = current_priority(self._usual) >= INTERACTIVE
        return min((self._timeout if hurried else self._patience).total_seconds(), threading.TIMEOUT_MAX)

    def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of the function.

        Raises:
            NoResultError: it failed, took too long, could not be called, or was not called because the last calls took
                too long.
        """
        seconds = self._admitted()
        outcome: queue.SimpleQueue[tuple[T, None] | tuple[None, BaseException]] = queue.SimpleQueue()
        context = contextvars.copy_context()

        def run() -> None:
            try:
                outcome.put((context.run(function, *args, **kwargs), None))
            except BaseException as error:  # noqa: BLE001 - even SystemExit is its failure, not ours
                outcome.put((None, error))
            if self._breaker is not None:
                self._breaker.succeeded()

        # A call cannot be stopped, only left behind. In a pool those left behind would take up all workers, and the
        # pool would wait for them at exit; a daemon thread of its own holds up neither the next call nor the exit.
        thread = threading.Thread(target=run, name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise NoResultError(f"{self._name} cannot be called: {error}") from error
        try:
            value, problem = outcome.get(timeout=seconds)
        except queue.Empty:
            raise self._left_behind(thread, seconds) from None
        if problem is not None:
            raise NoResultError(f"{self._name} failed: {described(problem)}") from problem
        return value  # type: ignore[return-value]

    def _admitted(self) -> float:
        """The limit of the call, in seconds; raises if it should not be made."""
        with self._lock:
            self._left = [thread for thread in self._left if thread.is_alive()]
            if len(self._left) >= MAX_HANGING:
                raise NoResultError(f"{self._name} hangs: {MAX_HANGING} calls have not returned")
        admission = Admission.YES if self._breaker is None else self._breaker.admit()
        if self._breaker is not None and admission is Admission.NO:
            raise NoResultError(f"{self._breaker.failure}; it will be retried later")
        return min(self.seconds, PROBE_SECONDS) if admission is Admission.PROBE else self.seconds

    def _left_behind(self, thread: threading.Thread, seconds: float) -> NoResultError:
        """The error for a call that exceeded its limit."""
        with self._lock:
            self._left.append(thread)
        error = NoResultError(f"{self._name} took longer than {seconds:g} s")
        if self._breaker is not None:
            self._breaker.failed(error)
        return error


def described(problem: BaseException) -> str:
    """The error as Python shows it, or its type if that fails."""
    try:
        return repr(problem)
    except Exception:  # noqa: BLE001 - whatever a foreign error does
        return type(problem).__name__
