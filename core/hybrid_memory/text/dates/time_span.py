"""A stretch of time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A time expression and the instants that it names, ``since <= instant < until``, in the asker's time zone."""

    start: int
    end: int
    text: str
    since: datetime
    until: datetime
