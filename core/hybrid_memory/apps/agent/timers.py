"""Timers that start an agent."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import Any

from cronsim import CronSim, CronSimError

from hybrid_memory import HybridMemory, Task
from hybrid_memory.errors import HybridMemoryError, InvalidInputError
from hybrid_memory.validation import shown

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
CRON_FIELDS = 5
LEAST = timedelta(seconds=1)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Recurring times.

    Attributes:
        name: the same in all processes for the same times.
        after: returns the first time after an instant, both with a time zone.
    """

    name: str
    after: Callable[[datetime], datetime]


def steady_rhythm(interval: timedelta) -> Rhythm:
    """Every multiple of the interval since 1970; raises `InvalidInputError` for less than a second."""
    if interval < LEAST:
        raise InvalidInputError(f"the interval must be a timedelta of {LEAST} or more, got {shown(interval)}")

    def after(now: datetime) -> datetime:
        return BEGINNING + ((now - BEGINNING) // interval + 1) * interval

    return Rhythm(f"every {interval}", after)


def cron_rhythm(expression: Any, timezone: tzinfo | None = None) -> Rhythm:
    """The times of a cron expression; raises `InvalidInputError` if it is invalid or never occurs."""

    def after(now: datetime) -> datetime:
        return next(CronSim(expression, now.astimezone(timezone or UTC)))

    if not isinstance(expression, str) or len(expression.split()) != CRON_FIELDS:
        raise InvalidInputError(
            f"a cron expression has {CRON_FIELDS} fields, such as '0 9 * * 1-5'; got {shown(expression)}"
        )
    try:
        after(BEGINNING)
    except (CronSimError, StopIteration, TypeError, AttributeError) as error:
        problem = str(error) or "it never occurs"
        raise InvalidInputError(
            f"{shown(expression)} is not a cron expression such as '0 9 * * 1-5': {problem}"
        ) from None
    return Rhythm(f"cron {expression} {timezone or UTC}", after)


class Alarm:
    """A timer that starts an agent at recurring times, until it is cancelled.

    Attributes:
        text: the message that the agent gets.
        due: the next time.
    """

    def __init__(self, rhythm: Rhythm, text: str, memory: HybridMemory, wake: Callable[[str, str], None]) -> None:
        self.text = text
        self.due = rhythm.after(memory.now())
        self._rhythm = rhythm
        self._memory = memory
        self._wake = wake
        self._cancelled = threading.Event()
        self._name = hashlib.blake2b(f"{rhythm.name}\n{text}".encode(), digest_size=6).hexdigest()
        threading.Thread(target=self._run, name="hybrid-memory-alarm", daemon=True).start()

    def cancel(self) -> None:
        """Stop the timer."""
        self._cancelled.set()

    def _run(self) -> None:
        try:
            while not self._cancelled.wait(self._wait()):
                self._ring()
                self.due = self._rhythm.after(max(self.due, self._memory.now()))
        except HybridMemoryError as error:
            _tell(error)

    def _wait(self) -> float:
        return min(max((self.due - self._memory.now()).total_seconds(), 0.0), threading.TIMEOUT_MAX)

    def _ring(self) -> None:
        """Run the agent on a thread of the scheduler."""
        name = f"timer-{self._name}-{self.due.astimezone(UTC):%Y%m%dT%H%M%S}"
        job = self._memory.schedule(Task(partial(self._wake, name, self.text), kind="reasoning"))
        job.add_done_callback(lambda done: _tell(done.exception() if not done.cancelled() else None))

    def __repr__(self) -> str:
        return f"<Alarm {self._rhythm.name}, next at {self.due:%Y-%m-%d %H:%M:%S %Z}: {shown(self.text)}>"


def _tell(error: BaseException | None) -> None:
    if error is not None:
        _log.warning("an agent could not be started, or failed: %s", error)
