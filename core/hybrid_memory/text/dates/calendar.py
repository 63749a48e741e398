"""Calendar ranges around a moment, half-open, in wall time, and the elements of a language's rules."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum, auto
from functools import partial
from typing import TypeAlias

Range: TypeAlias = tuple[datetime, datetime]

DAY = timedelta(days=1)
SPRING = 13  # the seasons are counted as periods after the twelve months

_STEPS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": DAY, "week": 7 * DAY, "weekend": 7 * DAY}
_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_HALVES = {"hour": (30, "minute"), "day": (12, "hour"), "week": (3, "day"), "month": (15, "day"), "year": (6, "month"),
           "decade": (5, "year")}  # fmt: skip
_FEW = (2, 5)  # the range of "a few" and 几


class Which(StrEnum):
    """Which one of a recurring unit is meant.

    Next begins after now, last is over, coming is not over yet, latest has begun, this is the current year's.
    """

    BEFORE_LAST = auto()
    LAST = auto()
    THIS = auto()
    NEXT = auto()
    AFTER_NEXT = auto()
    COMING = auto()
    LATEST = auto()


def floor(at: datetime, unit: str) -> datetime:
    """The start of the calendar unit that contains the instant; weeks begin on Monday, weekends on Saturday."""
    if unit in {"minute", "hour"}:
        return at.replace(minute=at.minute if unit == "minute" else 0, second=0, microsecond=0)
    at = at.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit in _STEPS:
        return at - {"day": 0, "week": at.weekday(), "weekend": at.weekday() - 5}[unit] * DAY
    months = at.year * 12 + at.month - 1
    months -= months % _MONTHS[unit]
    return at.replace(year=months // 12, month=months % 12 + 1, day=1)


def shift(at: datetime, unit: str, count: int) -> datetime:
    """The time this many units later; the last day of a month that has no such day."""
    if unit in _STEPS:
        return at + count * _STEPS[unit]
    months = at.year * 12 + at.month - 1 + count * _MONTHS[unit]
    year, month = months // 12, months % 12 + 1
    return at.replace(year=year, month=month, day=min(at.day, monthrange(year, month)[1]))


def whole_of(count: float | None) -> int:
    """The whole number; raises ValueError for a few (None) and for halves."""
    if count is None or count != int(count):
        raise ValueError(f"{count} is no whole number")
    return int(count)


def date_of(year: int, month: int, day: int = 1) -> Range:
    """The range of that day; raises ValueError if it does not exist."""
    begin = datetime(year, month, day)  # noqa: DTZ001 - wall time
    return begin, begin + DAY


def year_of(year: int) -> Range:
    """The range of that year."""
    return date_of(year, 1)[0], date_of(year + 1, 1)[0]


def period_of(year: int, number: int) -> Range:
    """The range of a month, or of a season, from `SPRING` on: three months, the winter's into the next year."""
    begin = date_of(year, number if number < SPRING else 3 + 3 * (number - SPRING))[0]
    return begin, shift(begin, "month", 1 if number < SPRING else 3)


def nth(whole: Range, unit: str | int, number: int) -> Range:
    """The first (0), second or last (-1) day, week, weekend or weekday (from 0) of a period.

    Raises ValueError if it has not as many of a weekday.
    """
    if unit in {"day", "week"}:
        begin, size = whole[number < 0], DAY if unit == "day" else 7 * DAY
        return begin + number * size, begin + (number + 1) * size
    weekday = 5 if unit == "weekend" else unit
    days = (whole[0] + step * DAY for step in range((whole[1] - whole[0]).days))
    named = [day for day in days if day.weekday() == weekday]
    if number >= len(named):
        raise ValueError(f"a month has no {number + 1} of a weekday")
    return named[number], named[number] + (2 * DAY if unit == "weekend" else DAY)


@dataclass(frozen=True, slots=True)
class Moment:
    """When a text was written, in wall time, and whether the words around an expression are about the past."""

    now: datetime
    past: bool = False

    @property
    def near(self) -> Which:
        """The one meant if only the context decides: the latest, or else the coming one."""
        return Which.LATEST if self.past else Which.COMING

    def unit(self, unit: str, steps: int | None = None) -> Range:
        """The calendar unit so many after the current one; by default the current one, or the weekend that is near."""
        if steps is None:
            return self.pick(self.near, partial(self.unit, unit)) if unit == "weekend" else self.unit(unit, 0)
        begin = shift(floor(self.now, unit), unit, steps)
        return begin, begin + 2 * DAY if unit == "weekend" else shift(begin, unit, 1)

    def weekday(self, day: int, week: int | None) -> Range:
        """A day, from Monday (0), of the ISO week so many after the current one, or of one that the context decides."""
        if week is None:
            return self.pick(Which.LAST if self.past else Which.NEXT, partial(self.weekday, day))
        begin = self.unit("week", week)[0] + day * DAY
        return begin, begin + DAY

    def same_day(self, count: int, unit: str) -> Range:
        """The day that lies so many units from today."""
        begin = shift(floor(self.now, "day"), unit, count)
        return begin, begin + DAY

    def away(self, count: float | None, unit: str, sign: int) -> Range:
        """This many units ahead (one day) or, with the sign -1, ago (the whole unit); None is a few.

        Hours count from now.
        """
        if count is None:
            first, last = sorted(sign * few for few in _FEW)
            return self.unit(unit, first)[0], shift(floor(self.now, unit), unit, last + 1)
        steps, unit = _whole(sign * count, unit)
        if unit in {"minute", "hour"}:
            begin = shift(floor(self.now, "minute"), unit, steps)
            return begin, shift(begin, unit, 1)
        return self.unit(unit, steps) if steps < 0 or unit == "weekend" else self.same_day(steps, unit)

    def stretch(self, count: float, unit: str) -> Range:
        """From now on for this many units, or back if negative."""
        steps, unit = _whole(count, unit)
        end = shift(self.now, unit, steps)
        return (self.now, end) if steps > 0 else (end, self.now)

    def pick(self, which: Which, of: Callable[[int], Range]) -> Range:
        """The requested one of ``of(steps)``, where 0 is the one of the current year, month or week."""
        if which is Which.THIS:
            return of(-1) if of(-1)[1] > self.now else of(0)
        ahead = which in {Which.NEXT, Which.AFTER_NEXT, Which.COMING}
        side = int(which in {Which.COMING, Which.LAST, Which.BEFORE_LAST})
        others = int(which in {Which.BEFORE_LAST, Which.AFTER_NEXT})
        for step in range(-2, 10) if ahead else range(2, -10, -1):
            with suppress(ValueError):  # leap days can be eight years apart
                if ((each := of(step))[side] > self.now) is ahead:
                    if not others:
                        return each
                    others -= 1
        raise ValueError(f"{which} has none near {self.now}")

    def yearly(self, of: Callable[[int], Range], year: int | None, which: Which) -> Range:
        """What ``of`` makes of that year, or of the one that ``which`` means."""
        return of(year) if year is not None else self.pick(which, lambda steps: of(self.now.year + steps))

    def period(self, number: int, year: int | None = None, which: Which = Which.LATEST) -> Range:
        """That month, or season from `SPRING` on."""
        return self.yearly(lambda year: period_of(year, number), year, which)

    def date(self, month: int, day: int, year: int | None = None) -> Range:
        """That day; without a year, of one that the context decides."""
        return self.yearly(lambda year: date_of(year, month, day), year, self.near)

    def nth_of(self, period: int, unit: str | int, number: int, year: int | None) -> Range:
        """The first Friday or the last week of a month: without a year, a weekday's is this month or near."""
        which = Which.LATEST if isinstance(unit, str) else Which.THIS if period == self.now.month else self.near
        return self.yearly(lambda year: nth(period_of(year, period), unit, number), year, which)

    def day_of_month(self, day: int, steps: int | None) -> Range:
        """That day of the month so many months ahead, or of one that the context decides."""

        def of(steps: int) -> Range:
            first = self.unit("month", steps)[0]
            return date_of(first.year, first.month, day)

        return self.pick(self.near, of) if steps is None else of(steps)


class Part(StrEnum):
    """A part of a period, first and second halves; its end is its last day, unless it is over and nothing is due."""

    FIRST = auto()
    SECOND = auto()
    START = auto()
    MIDDLE = auto()
    END = auto()

    @classmethod
    def named_by(cls, match: re.Match[str]) -> Part:
        """The one whose group has matched."""
        return next(part for part in cls if match.groupdict().get(part) is not None)


def part_of(whole: Range, part: Part, *, last_day: bool) -> Range:
    """A half or a third, in months where possible, else in days; the start and the end of a year are two months."""
    begin, end = whole
    if (part is Part.END and last_day) or end - begin <= DAY:
        return max(begin, end - DAY), end
    parts = 2 if part in {Part.FIRST, Part.SECOND} else 3
    months = (end.year - begin.year) * 12 + end.month - begin.month
    if months == 12 and part in {Part.START, Part.END}:  # noqa: PLR2004 - a year
        return (begin, shift(begin, "month", 2)) if part is Part.START else (shift(end, "month", -2), end)
    if months >= parts and months % parts == 0:
        cuts = [shift(begin, "month", months // parts * number) for number in range(parts + 1)]
    else:
        cuts = [begin + (end - begin).days * number // parts * DAY for number in range(parts)] + [end]
    number = {Part.FIRST: 0, Part.START: 0, Part.SECOND: 1, Part.MIDDLE: 1, Part.END: 2}[part]
    return cuts[number], cuts[number + 1]


def _whole(count: float, unit: str) -> tuple[int, str]:
    """The duration in whole units; halves are converted to a smaller unit."""
    if count == int(count):
        return int(count), unit
    if unit not in _HALVES:
        raise ValueError(f"half a {unit} is no whole number of a smaller unit")
    size, smaller = _HALVES[unit]
    return int(count * 2) * size, smaller


Reading: TypeAlias = Callable[[re.Match[str], Moment], Range | None]
"""None if the words name no time after all; raises ValueError or OverflowError for impossible dates."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern and how to read it; any match contains one of the cues, in lower case with 0 for digits.

    A match with a group "weak" only counts next to another part of a time expression.
    """

    cues: tuple[str, ...]
    pattern: re.Pattern[str]
    read: Reading
    weekday: bool = False


_NOWHERE = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class Language:
    """The rules of a language.

    Attributes:
        link: what may come between two parts of one expression; to: between the ends of a range.
        since: what precedes an expression that extends until now; onward: what follows one.
        reaches: whether these words before and after an expression, either possibly empty, extend it until now.
        part: what before a period names a part of it, by a group named as in `Part`, and by ``due`` that something is
            due then; part_behind: the same after it.
        past, future: words that show the tense of a sentence; the future takes precedence.
    """

    rules: tuple[Rule, ...]
    link: re.Pattern[str]
    to: re.Pattern[str]
    since: re.Pattern[str]
    past: re.Pattern[str]
    future: re.Pattern[str]
    onward: re.Pattern[str] = _NOWHERE
    reaches: Callable[[str, str], bool] = lambda before, behind: bool(before or behind)
    part: re.Pattern[str] = _NOWHERE
    part_behind: re.Pattern[str] = _NOWHERE


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A time expression and the instants it names, ``since <= instant < until``, in the asker's time zone."""

    start: int
    end: int
    text: str
    since: datetime
    until: datetime
