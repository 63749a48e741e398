"""What the rules of a language consist of, and what one of them finds."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum, auto
from typing import TypeAlias

from hybrid_memory.text.dates.calendar import Moment, Range


class Kind(StrEnum):
    """What a part of a time expression names.

    A day, a weekday, a part of the day and a clock time go together; so do a range and a third of it.
    """

    RANGE = auto()
    THIRD = auto()
    DAY = auto()
    WEEKDAY = auto()
    PART = auto()
    CLOCK = auto()


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule finds.

    Attributes:
        range: of a range, a day or a weekday; of a third, what it is a third of when it stands alone.
        part: a part of the day, in hours after midnight.
        hour, minute: of a clock time as said; ``afternoon`` is None where that was not said.
        third: 0, 1 or 2.
        weak: counts only beside another part.
    """

    kind: Kind
    range: Range | None = None
    part: tuple[int, int] | None = None
    hour: int = 0
    minute: int | None = None
    afternoon: bool | None = None
    third: int = 0
    weak: bool = False


Reading: TypeAlias = Callable[[re.Match[str], Moment], Found | None]
"""None where the words name no time after all; a ValueError or OverflowError where the calendar has no such day."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Words, and how they are read.

    Attributes:
        cues: one of them stands in every text that the pattern is found in; in lower case, with 0 for any digit.
    """

    cues: tuple[str, ...]
    pattern: re.Pattern[str]
    read: Reading


@dataclass(frozen=True, slots=True)
class Language:
    """The rules of a language.

    Attributes:
        link: what may stand between two parts of one expression; to: between the ends of a range.
        since: what stands before an expression that reaches until now; onward: what stands behind such a one.
        reaches: whether these words before and behind an expression, either of them empty, are such.
        past, future: words that tell when a sentence plays; the future is stronger.
    """

    rules: tuple[Rule, ...]
    link: re.Pattern[str]
    to: re.Pattern[str]
    since: re.Pattern[str]
    onward: re.Pattern[str]
    reaches: Callable[[str, str], bool]
    past: re.Pattern[str]
    future: re.Pattern[str]


def clock(hour: int, minute: int | None, *, afternoon: bool | None = None, weak: bool = False) -> Found | None:
    """A clock time as said; None where no clock shows it."""
    if hour > 24 or (minute or 0) > 59 or (afternoon is not None and not 0 < hour <= 12):  # noqa: PLR2004 - clock faces
        return None
    return Found(Kind.CLOCK, hour=hour, minute=minute, afternoon=afternoon, weak=weak)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A time expression and the instants that it names, ``since <= instant < until``, in the asker's time zone."""

    start: int
    end: int
    text: str
    since: datetime
    until: datetime
