"""A circuit breaker: what does not answer is not asked by everybody, again and again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from enum import Enum
from typing import TypeVar

T = TypeVar("T")

SLOW_SECONDS = 0.5
"""A call that fails sooner makes nobody wait, and counts as no failure here."""


class Admission(Enum):
    """Whether a call is to be made.

    Attributes:
        YES: as ever; NO: it would fail, as the last ones did.
        PROBE: by this caller alone, to see whether there is an answer again.
    """

    YES = "yes"
    NO = "no"
    PROBE = "probe"


class Breaker:
    """Counts the failures in a row of something slow to fail; callable from any thread.

    Who asks `admit` and is not refused tells how it went: `succeeded` or `failed`. A probe that never tells, as its
    thread was interrupted, is made again by another caller after the longest pause.

    Args:
        failures: in a row, after which calls are refused.
        pause: seconds until the first probe; each one that fails doubles them, up to ``longest``.
        longest: seconds between two probes at most.
        clock: seconds that never run backwards.

    Attributes:
        failure: the last one, while calls are refused.
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
        """Whether calls are refused, but for a probe now and then."""
        return self._failed >= self._least

    def call(
        self, run: Callable[[], T], *, probe: Callable[[], object], refusal: Callable[[Exception | None], Exception]
    ) -> T:
        """What the call returns, unless calls are refused: then an error at once.

        Args:
            run: the call; a failure counts if it took `SLOW_SECONDS`.
            probe: tries in short time whether there would be an answer, and raises if not.
            refusal: makes the error of the last failure.
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
            if self._clock() - began >= SLOW_SECONDS:
                self.failed(error)
            else:
                self.succeeded()
            raise
        self.succeeded()
        return answer

    def admit(self) -> Admission:
        """Whether a call is to be made now."""
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
        """There was an answer: calls are made as ever."""
        if self._failed:
            with self._lock:
                self._failed, self._rounds, self._probing, self.failure = 0, 0, False, None

    def failed(self, error: Exception) -> None:
        """There was none."""
        with self._lock:
            if self.refusing and self._clock() < self._next_probe and not self._probing:
                return  # begun before the calls were refused: it says nothing new
            self._failed += 1
            self._probing = False
            if self.refusing:
                self.failure = error
                self._next_probe = self._clock() + min(self._pause * 2.0 ** min(self._rounds, 32), self._longest)
                self._rounds += 1
