"""Times at which an agent is woken."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import Any

from cronsim import CronSim, CronSimError

from hybrid_memory.errors import HybridMemoryError, InvalidInputError
from hybrid_memory.memory.runtime import Runtime
from hybrid_memory.runtime.tasks import Task
from hybrid_memory.runtime.timer import Timer
from hybrid_memory.validation import shown

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
CRON_FIELDS = 5
LEAST = timedelta(seconds=1)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Times that come again and again.

    Attributes:
        name: the same for all processes that mean the same times.
        after: the first time after an instant, both aware.
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
    """The times of a cron expression; raises `InvalidInputError` if it is none, or has no time."""

    def after(now: datetime) -> datetime:
        return next(CronSim(expression, now.astimezone(timezone or UTC)))

    if not isinstance(expression, str) or len(expression.split()) != CRON_FIELDS:
        raise InvalidInputError(
            f"a cron expression has {CRON_FIELDS} fields, such as '0 9 * * 1-5'; got {shown(expression)}"
        )
    try:
        after(BEGINNING)
    except (CronSimError, StopIteration, TypeError, AttributeError) as error:
        problem = str(error) or "it has no time"
        raise InvalidInputError(
            f"{shown(expression)} is no cron expression, such as '0 9 * * 1-5': {problem}"
        ) from None
    return Rhythm(f"cron {expression} {timezone or UTC}", after)


class Alarm:
    """Wakes an agent at the times of a rhythm, until it is cancelled.

    Attributes:
        text: that the agent is woken with.
        due: the next time.
    """

    def __init__(self, rhythm: Rhythm, text: str, runtime: Runtime, wake: Callable[[str, str], None]) -> None:
        self.text = text
        self._rhythm = rhythm
        self._runtime = runtime
        self._wake = wake
        self._timer = Timer(time.monotonic)
        self._name = hashlib.blake2b(f"{rhythm.name}\n{text}".encode(), digest_size=6).hexdigest()
        self.due = self._plan(runtime.services.clock())

    def cancel(self) -> None:
        """The agent is not woken any more."""
        self._timer.close()

    def _plan(self, after: datetime) -> datetime:
        self.due = self._rhythm.after(after)
        wait = (self.due - self._runtime.services.clock()).total_seconds()
        self._timer.later(max(wait, 0.0), self._ring)
        return self.due

    def _ring(self) -> None:
        """Called by the timer, which must not wait: the agent works on a thread of the scheduler."""
        name = f"timer-{self._name}-{self.due.astimezone(UTC):%Y%m%dT%H%M%S}"
        task = Task(partial(self._wake, name, self.text), kind="reasoning")
        try:
            job = self._runtime.scheduler.schedule(task, timeout=0)
            job.add_done_callback(lambda done: _tell(done.exception() if not done.cancelled() else None))
            self._plan(max(self.due, self._runtime.services.clock()))
        except HybridMemoryError as error:
            _tell(error)

    def __repr__(self) -> str:
        return f"<Alarm {self._rhythm.name}, next at {self.due:%Y-%m-%d %H:%M:%S %Z}: {shown(self.text)}>"


def _tell(error: BaseException | None) -> None:
    if error is not None:
        _log.warning("an agent could not be woken, or failed: %s", error)
