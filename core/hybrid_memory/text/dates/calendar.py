"""Ranges of the calendar around a moment, half-open, in wall time, and what the rules of a language consist of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum, auto
from typing import TypeAlias

Range: TypeAlias = tuple[datetime, datetime]

DAY = timedelta(days=1)
_STEPS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": DAY, "week": 7 * DAY, "weekend": 7 * DAY}
_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_HALVES = {"hour": (30, "minute"), "day": (12, "hour"), "month": (15, "day"), "year": (6, "month"), "week": (3, "day")}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_FEW = (2, 5)
"""What "a few" and 几 stand for."""

PARTS = {
    "small hours": (0, 6),
    "morning": (6, 12),
    "noon": (11, 14),
    "afternoon": (12, 18),
    "evening": (18, 24),
    "night": (18, 30),
}
"""Hours after midnight."""


class Which(StrEnum):
    """Which one is meant of those that come again and again.

    Next begins after now, last is over, coming is not over yet, latest has begun; this is the current year's.
    """

    NEXT = auto()
    LAST = auto()
    COMING = auto()
    LATEST = auto()
    THIS = auto()


def floor(at: datetime, unit: str) -> datetime:
    """The begin of the calendar unit that holds the instant; weeks begin on Monday, weekends on Saturday."""
    at = at.replace(second=0, microsecond=0)
    if unit == "minute":
        return at
    if unit == "hour":
        return at.replace(minute=0)
    at = at.replace(hour=0, minute=0)
    if unit == "day":
        return at
    if unit in _STEPS:
        return at - at.weekday() * DAY + (5 * DAY if unit == "weekend" else 0 * DAY)
    first = at.replace(day=1)
    if unit == "decade":
        return first.replace(year=at.year - at.year % 10, month=1)
    return first.replace(month=at.month - (at.month - 1) % _MONTHS[unit])


def shift(at: datetime, unit: str, count: int) -> datetime:
    """So many units later; the last day of a month where it has no such day."""
    if unit in _STEPS:
        return at + count * _STEPS[unit]
    months = at.year * 12 + at.month - 1 + count * _MONTHS[unit]
    first = at.replace(year=months // 12, month=months % 12 + 1, day=1)
    return first + min(at.day - 1, (_next_month(first) - first).days - 1) * DAY


def _next_month(first: datetime) -> datetime:
    return (first + 31 * DAY).replace(day=1)


def day_of(year: int, month: int, day: int) -> Range:
    """That day; a ValueError where there is none."""
    begin = datetime(year, month, day)  # noqa: DTZ001 - wall time
    return begin, begin + DAY


def month_of(year: int, month: int) -> Range:
    """That month."""
    begin = datetime(year, month, 1)  # noqa: DTZ001 - wall time
    return begin, shift(begin, "month", 1)


def year_of(year: int) -> Range:
    """That year."""
    return month_of(year, 1)[0], month_of(year + 1, 1)[0]


def season_of(year: int, season: str) -> Range:
    """Three months of the northern year; its winter ends in the next year."""
    begin = month_of(year, _SEASONS[season])[0]
    return begin, shift(begin, "month", 3)


@dataclass(frozen=True, slots=True)
class Moment:
    """When a text was written, in wall time, and whether the words around an expression tell of the past."""

    now: datetime
    past: bool = False

    def unit(self, unit: str, steps: int = 0) -> Range:
        """The calendar unit that lies so many units after the current one."""
        begin = shift(floor(self.now, unit), unit, steps)
        return begin, begin + 2 * DAY if unit == "weekend" else shift(begin, unit, 1)

    def day(self, steps: int) -> Range:
        """The day so many days after today."""
        return self.unit("day", steps)

    def weekday(self, day: int, week: int) -> Range:
        """A day of the ISO week so many weeks after this one; Monday is 0."""
        begin = self.unit("week", week)[0] + day * DAY
        return begin, begin + DAY

    def away(self, count: float | None, unit: str) -> Range:
        """So many units ahead (one day) or, if negative, back (the whole unit); None is a few; hours count from now."""
        if count is None:
            return shift(floor(self.now, unit), unit, _FEW[0]), shift(floor(self.now, unit), unit, _FEW[1] + 1)
        steps, unit = _whole(count, unit)
        if unit in {"minute", "hour"}:
            begin = shift(floor(self.now, "minute"), unit, steps)
            return begin, shift(begin, unit, 1)
        if steps < 0:
            return self.unit(unit, steps)
        begin = shift(floor(self.now, "day"), unit, steps)
        return begin, begin + DAY

    def back(self, count: float | None, unit: str) -> Found:
        """So many units ago; None is a few."""
        if count is None:
            begin = floor(self.now, unit)
            return Found(Kind.RANGE, (shift(begin, unit, -_FEW[1]), shift(begin, unit, 1 - _FEW[0])))
        return Found(Kind.DAY if unit == "day" else Kind.RANGE, self.away(-count, unit))

    def ahead(self, count: float | None, unit: str) -> Found:
        """In so many units; None is a few."""
        below_day = unit in {"minute", "hour"}
        return Found(Kind.RANGE if count is None or below_day else Kind.DAY, self.away(count, unit))

    def stretch(self, count: float | None, unit: str) -> Range:
        """From now on for so many units, or back if negative; None is a few."""
        steps, unit = _whole(_FEW[1] if count is None else count, unit)
        end = shift(self.now, unit, steps)
        return (self.now, end) if steps > 0 else (end, self.now)

    def pick(self, which: Which, of: Callable[[int], Range]) -> Range | None:
        """That one of ``of(steps)``, where 0 is the one of the current year, month or week."""
        if which is Which.THIS:
            return of(-1) if of(-1)[1] > self.now else of(0)
        if which in {Which.NEXT, Which.COMING}:
            begun = which is Which.COMING
            return next((each for each in _each(of, range(-2, 10)) if (each[1] if begun else each[0]) > self.now), None)
        over = which is Which.LAST
        back = _each(of, range(2, -10, -1))
        return next((each for each in back if (each[1] if over else each[0]) <= self.now), None)

    @property
    def near(self) -> Which:
        """The one that is meant where nothing but the words around tells: the latest, or else the coming one."""
        return Which.LATEST if self.past else Which.COMING


def _each(of: Callable[[int], Range], steps: Iterable[int]) -> Iterator[Range]:
    """Those that there are; leap days can be eight years apart."""
    for step in steps:
        try:
            yield of(step)
        except ValueError:
            continue


def _whole(count: float, unit: str) -> tuple[int, str]:
    """A half is counted in a smaller unit."""
    if count == int(count):
        return int(count), unit
    size, smaller = _HALVES[unit]
    return int(count * 2) * size, smaller


def third(whole: Range, number: int) -> Range:
    """The first, second or third part, in whole days where it has three."""
    begin, end = whole
    days = (end - begin) // DAY
    cuts = [begin + days * each // 3 * DAY for each in range(4)]
    return cuts[number], cuts[number + 1]


class Kind(StrEnum):
    """What a part of a time expression names; parts of a day go together, and so do a range and a third of it."""

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
        part: a part of the day, in hours after midnight; third: 0, 1 or 2.
        hour, minute: as written; ``afternoon`` is None where that was not.
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
    """Words and how they are read; a text with the pattern has one of the cues, in lower case with 0 for digits."""

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
