"""Calls of what may not answer: a circuit breaker, and time limits for foreign code."""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from typing import ParamSpec, TypeVar

from hybrid_memory.errors import ModelError, StoreUnavailableError
from hybrid_memory.runtime.tasks import INTERACTIVE, current_priority

P = ParamSpec("P")
T = TypeVar("T")

SLOW_SECONDS = 0.5  # a call that fails faster keeps nobody waiting, and does not count as a failure here


class Admission(Enum):
    """Whether to make a call; after failures one caller alone tries whether there is an answer again, with a probe."""

    YES, NO, PROBE = "yes", "no", "probe"


class Breaker:
    """Refuses calls after one that failed slowly, until there is an answer again; callable from any thread.

    A caller that `admit` does not refuse reports the outcome with `succeeded` or `failed`. If a probe never reports,
    because its thread was interrupted, another caller probes again after the longest pause. ``pause`` are the seconds
    from the first failure until a probe, doubled by each failed one; ``failure`` is the last one, while calls are
    refused.
    """

    def __init__(
        self, place: str = "", *, pause: float = 1.0, longest: float = 30.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.failure: Exception | None = None
        self._place = place
        self._pause = pause
        self._longest = longest
        self._clock = clock
        self._lock = threading.Lock()
        self._rounds = 0
        self._probing = False
        self._next_probe = 0.0

    def call(self, run: Callable[[], T], *, probe: Callable[[], object], answered: Callable[[Exception], bool]) -> T:
        """The result of the call; while calls are refused, an immediate `StoreUnavailableError`.

        Args:
            run: the call; a failure counts if it took `SLOW_SECONDS`.
            probe: quickly checks whether there would be an answer, and raises if not.
            answered: whether an error is an answer, which does not count as a failure however long it took.
        """
        admission = self.admit()
        if admission is Admission.NO:
            raise self._refusal(self.failure)
        if admission is Admission.PROBE:
            try:
                probe()
            except Exception as error:
                self.failed(error)
                raise self._refusal(error) from error
        began = self._clock()
        try:
            answer = run()
        except Exception as error:
            if self._clock() - began >= SLOW_SECONDS and not answered(error):
                self.failed(error)
            else:
                self.succeeded()
            raise
        self.succeeded()
        return answer

    def _refusal(self, failure: Exception | None) -> StoreUnavailableError:
        return StoreUnavailableError(f"{self._place} is not asked, as it did not answer lately: {failure}")

    def admit(self) -> Admission:
        """Whether to make a call now."""
        with self._lock:
            if self.failure is None:
                return Admission.YES
            if self._clock() < self._next_probe:
                return Admission.NO
            self._next_probe, self._probing = self._clock() + self._longest, True
            return Admission.PROBE

    def succeeded(self) -> None:
        """Record an answer: calls are made again."""
        with self._lock:
            self._rounds, self._probing, self.failure = 0, False, None

    def failed(self, error: Exception) -> None:
        """Record a failure."""
        with self._lock:
            if self.failure is not None and self._clock() < self._next_probe and not self._probing:
                return  # begun before the calls were refused: it says nothing new
            self._probing, self.failure = False, error
            self._next_probe = self._clock() + min(self._pause * 2.0 ** min(self._rounds, 32), self._longest)
            self._rounds += 1


MAX_HANGING = 4  # the most abandoned calls beyond their time limit; until one of them ends, no further call is made
PROBE_SECONDS = 1.0  # how long the caller waits whose call probes whether there is an answer again


class TimeLimit:
    """Calls functions with a time limit; they get a copy of the caller's context variables.

    ``patience`` is the limit if nobody is waiting, as in background work, and ``usual`` the priority of calls if none
    was set with `at_priority`. The breaker is opened by calls that take too long, and closed by any that returns, even
    late.
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

    def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:  # noqa: C901 - each way to fail
        """The result of the function; raises its error, or `ModelError`.

        Raises:
            ModelError: it took too long, could not be called, or was not called because the last calls took too long.
        """
        with self._lock:
            self._left = [thread for thread in self._left if thread.is_alive()]
            if len(self._left) >= MAX_HANGING:
                raise ModelError(f"{self._name} hangs: {MAX_HANGING} calls have not returned")
        admission = Admission.YES if self._breaker is None else self._breaker.admit()
        if self._breaker is not None and admission is Admission.NO:
            raise ModelError(f"{self._breaker.failure}; it will be retried later")
        seconds = min(self.seconds, PROBE_SECONDS) if admission is Admission.PROBE else self.seconds
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
            raise ModelError(f"{self._name} cannot be called: {error}") from error
        try:
            value, problem = outcome.get(timeout=seconds)
        except queue.Empty:
            late = ModelError(f"{self._name} took longer than {seconds:g} s")
            with self._lock:
                self._left.append(thread)
            if self._breaker is not None:
                self._breaker.failed(late)
            raise late from None
        if isinstance(problem, Exception):
            raise problem
        if problem is not None:  # such as SystemExit, which is the function's own
            raise ModelError(f"{self._name} failed: {described(problem)}") from problem
        return value  # type: ignore[return-value]

    def answer(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """As `call`, but every error is a `ModelError`."""
        try:
            return self.call(function, *args, **kwargs)
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(f"{self._name} failed: {described(error)}") from error


def described(problem: BaseException) -> str:
    """The error as Python shows it, or its type if that fails."""
    try:
        return repr(problem)
    except Exception:  # noqa: BLE001 - whatever a foreign error does
        return type(problem).__name__


PATIENCE = 6  # how many times longer background work waits for a model


def model_limit(name: str, timeout: timedelta) -> TimeLimit:
    """The time limit of a model; after a call that took too long, only a probe is made."""
    return TimeLimit(name, timeout, patience=PATIENCE * timeout, breaker=Breaker())
