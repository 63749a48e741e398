"""A circuit breaker: stops repeated calls to something that does not answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from enum import Enum
from typing import TypeVar

T = TypeVar("T")

SLOW_SECONDS = 0.5
"""A call that fails faster keeps nobody waiting, and does not count as a failure here."""


class Admission(Enum):
    """Whether to make a call.

    Attributes:
        YES: make it; NO: do not, it would fail like the last ones.
        PROBE: this caller alone tries, to see whether there is an answer again.
    """

    YES = "yes"
    NO = "no"
    PROBE = "probe"


class Breaker:
    """Counts consecutive slow failures; callable from any thread.

    A caller that `admit` does not refuse reports the outcome with `succeeded` or `failed`. If a probe never reports,
    because its thread was interrupted, another caller probes again after the longest pause.

    Args:
        failures: the number of consecutive failures after which calls are refused.
        pause: seconds until the first probe; doubled by each failed one, up to ``longest``.
        longest: the most seconds between two probes.
        clock: a monotonic clock, in seconds.

    Attributes:
        failure: the last failure, while calls are refused.
    """

    def __init__(
        self,
        *,
        failures: int = 1,
        pause: float = 1.0,
        longest: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.failure: Exception | None = None
        self._least = failures
        self._pause = pause
        self._longest = longest
        self._clock = clock
        self._lock = threading.Lock()
        self._failed = 0
        self._rounds = 0
        self._probing = False
        self._next_probe = 0.0

    @property
    def refusing(self) -> bool:
        """Whether calls are refused, except for an occasional probe."""
        return self._failed >= self._least

    def call(
        self,
        run: Callable[[], T],
        *,
        probe: Callable[[], object],
        refusal: Callable[[Exception | None], Exception],
        answered: Callable[[Exception], bool],
    ) -> T:
        """The result of the call; while calls are refused, an immediate error.

        Args:
            run: the call; a failure counts if it took `SLOW_SECONDS`.
            probe: quickly checks whether there would be an answer, and raises if not.
            refusal: makes the error from the last failure.
            answered: whether an error is an answer, which does not count as a failure however long it took.
        """
        admission = self.admit()
        if admission is Admission.NO:
            raise refusal(self.failure)
        if admission is Admission.PROBE:
            try:
                probe()
            except Exception as error:
                self.failed(error)
                raise refusal(error) from error
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

    def admit(self) -> Admission:
        """Whether to make a call now."""
        if self._failed < self._least:
            return Admission.YES
        with self._lock:
            if self._failed < self._least:  # meanwhile
                return Admission.YES
            if self._clock() < self._next_probe:
                return Admission.NO
            self._next_probe, self._probing = self._clock() + self._longest, True
            return Admission.PROBE

    def succeeded(self) -> None:
        """Record an answer: calls are made again."""
        if self._failed:
            with self._lock:
                self._failed, self._rounds, self._probing, self.failure = 0, 0, False, None

    def failed(self, error: Exception) -> None:
        """Record a failure."""
        with self._lock:
            if self.refusing and self._clock() < self._next_probe and not self._probing:
                return  # begun before the calls were refused: it says nothing new
            self._failed += 1
            self._probing = False
            if self.refusing:
                self.failure = error
                self._next_probe = self._clock() + min(self._pause * 2.0 ** min(self._rounds, 32), self._longest)
                self._rounds += 1
