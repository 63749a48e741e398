"""Calendar ranges around a moment, half-open, in wall time, and the elements of a language's rules."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
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
"""The range of "a few" and 几."""


class Which(StrEnum):
    """Which one of a recurring unit is meant.

    Next begins after now, last is over, coming is not over yet, latest has begun, this is the current year's.
    """

    NEXT = auto()
    LAST = auto()
    COMING = auto()
    LATEST = auto()
    THIS = auto()


def floor(at: datetime, unit: str) -> datetime:
    """The start of the calendar unit that contains the instant; weeks begin on Monday, weekends on Saturday."""
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
    """The time this many units later; the last day of a month that has no such day."""
    if unit in _STEPS:
        return at + count * _STEPS[unit]
    months = at.year * 12 + at.month - 1 + count * _MONTHS[unit]
    first = at.replace(year=months // 12, month=months % 12 + 1, day=1)
    return first + min(at.day - 1, ((first + 31 * DAY).replace(day=1) - first).days - 1) * DAY


def day_of(year: int, month: int, day: int) -> Range:
    """The range of that day; raises ValueError if it does not exist."""
    begin = datetime(year, month, day)  # noqa: DTZ001 - wall time
    return begin, begin + DAY


def month_of(year: int, month: int) -> Range:
    """The range of that month."""
    begin = datetime(year, month, 1)  # noqa: DTZ001 - wall time
    return begin, shift(begin, "month", 1)


def year_of(year: int) -> Range:
    """The range of that year."""
    return month_of(year, 1)[0], month_of(year + 1, 1)[0]


@dataclass(frozen=True, slots=True)
class Moment:
    """When a text was written, in wall time, and whether the words around an expression are about the past."""

    now: datetime
    past: bool = False

    def unit(self, unit: str, steps: int = 0) -> Range:
        """The calendar unit this many units after the current one."""
        begin = shift(floor(self.now, unit), unit, steps)
        return begin, begin + 2 * DAY if unit == "weekend" else shift(begin, unit, 1)

    def weekday(self, day: int, week: int) -> Range:
        """A day of the ISO week this many weeks after the current one; Monday is 0."""
        begin = self.unit("week", week)[0] + day * DAY
        return begin, begin + DAY

    def away(self, count: float | None, unit: str) -> Range:
        """This many units ahead (one day) or, if negative, back (the whole unit); None is a few.

        Hours count from now.
        """
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
        """This many units ago; None is a few."""
        if count is None:
            begin = floor(self.now, unit)
            return Found(Kind.RANGE, (shift(begin, unit, -_FEW[1]), shift(begin, unit, 1 - _FEW[0])))
        return Found(Kind.DAY if unit == "day" else Kind.RANGE, self.away(-count, unit))

    def ahead(self, count: float | None, unit: str) -> Found:
        """In this many units; None is a few."""
        below_day = unit in {"minute", "hour"}
        return Found(Kind.RANGE if count is None or below_day else Kind.DAY, self.away(count, unit))

    def stretch(self, count: float | None, unit: str) -> Range:
        """From now on for this many units, or back if negative; None is a few."""
        steps, unit = _whole(_FEW[1] if count is None else count, unit)
        end = shift(self.now, unit, steps)
        return (self.now, end) if steps > 0 else (end, self.now)

    def pick(self, which: Which, of: Callable[[int], Range]) -> Range | None:
        """The requested one of ``of(steps)``, where 0 is the one of the current year, month or week."""
        if which is Which.THIS:
            return of(-1) if of(-1)[1] > self.now else of(0)
        ahead, side = which in {Which.NEXT, Which.COMING}, int(which in {Which.COMING, Which.LAST})
        for step in range(-2, 10) if ahead else range(2, -10, -1):
            with suppress(ValueError):  # leap days can be eight years apart
                if ((each := of(step))[side] > self.now) is ahead:
                    return each
        return None

    @property
    def near(self) -> Which:
        """The day meant if only the context decides: the latest, or else the coming one."""
        return Which.LATEST if self.past else Which.COMING

    def yearly(self, of: Callable[[int], Range], year: int | None, which: Which) -> Range | None:
        """What ``of`` makes of that year, or of the one that ``which`` means."""
        return of(year) if year is not None else self.pick(which, lambda steps: of(self.now.year + steps))

    def month(self, number: int, year: int | None = None, which: Which = Which.LATEST) -> Range | None:
        """That month; 1 is January."""
        return self.yearly(lambda year: month_of(year, number), year, which)

    def season(self, name: str, year: int | None = None, which: Which = Which.LATEST) -> Range | None:
        """That season, by its English name: three months of the northern year; its winter ends in the next year."""

        def of(year: int) -> Range:
            begin = month_of(year, _SEASONS[name])[0]
            return begin, shift(begin, "month", 3)

        return self.yearly(of, year, which)

    def date(self, month: int, day: int, year: int | None = None) -> Range | None:
        """That day; without a year, of one that the context decides."""
        return self.yearly(lambda year: day_of(year, month, day), year, self.near)

    def of_month(
        self, number: int, of: Callable[[Range], Range], year: int | None, which: Which | None = None
    ) -> Range | None:
        """A part of that month; by default of a year that the context decides, in the month that is now this year's."""
        which = which or (Which.THIS if number == self.now.month else self.near)
        return self.yearly(lambda year: of(month_of(year, number)), year, which)

    def day_of_month(self, day: int, steps: int | None) -> Range | None:
        """That day of the month so many months ahead, or of one that the context decides."""

        def of(steps: int) -> Range:
            first = self.unit("month", steps)[0]
            return day_of(first.year, first.month, day)

        return self.pick(self.near, of) if steps is None else of(steps)

    def same_day(self, count: int, unit: str, day: int = 0) -> Range:
        """The day that lies so many units from the one that lies ``day`` days from today."""
        begin = shift(floor(self.now, "day") + day * DAY, unit, count)
        return begin, begin + DAY


class Part(StrEnum):
    """A part of a period; its end is its last day, unless the period is over and nothing is due by then."""

    FIRST_HALF = auto()
    SECOND_HALF = auto()
    START = auto()
    MIDDLE = auto()
    END = auto()


def part_of(whole: Range, part: Part, *, last_day: bool) -> Range:
    """A half or a third, in months where possible, else in days; the start and the end of a year are two months."""
    begin, end = whole
    if part is Part.END and last_day:
        return max(begin, end - DAY), end
    parts = 2 if part in {Part.FIRST_HALF, Part.SECOND_HALF} else 3
    months = (end.year - begin.year) * 12 + end.month - begin.month
    if months == 12 and part in {Part.START, Part.END}:  # noqa: PLR2004 - a year
        return (begin, shift(begin, "month", 2)) if part is Part.START else (shift(end, "month", -2), end)
    if months >= parts and months % parts == 0:
        cuts = [shift(begin, "month", months // parts * number) for number in range(parts + 1)]
    else:
        cuts = [begin + (end - begin).days * number // parts * DAY for number in range(parts)] + [end]
    number = {Part.FIRST_HALF: 0, Part.START: 0, Part.SECOND_HALF: 1, Part.MIDDLE: 1, Part.END: 2}[part]
    return cuts[number], cuts[number + 1]


def weekday_of(whole: Range, weekday: int, number: int) -> Range:
    """The first (0), second or last (-1) such weekday of a period; raises ValueError if it has not as many."""
    days = (whole[0] + step * DAY for step in range((whole[1] - whole[0]).days))
    named = [day for day in days if day.weekday() == weekday]
    if number >= len(named):
        raise ValueError(f"a month has no {number + 1} of a weekday")
    return named[number], named[number] + DAY


def _whole(count: float, unit: str) -> tuple[int, str]:
    """The duration in whole units; halves are converted to a smaller unit."""
    if count == int(count):
        return int(count), unit
    size, smaller = _HALVES[unit]
    return int(count * 2) * size, smaller


class Kind(StrEnum):
    """What a part of a time expression names; a day and its weekday combine."""

    RANGE = auto()
    DAY = auto()
    WEEKDAY = auto()


@dataclass(frozen=True, slots=True)
class Found:
    """The match of a rule.

    Attributes:
        range: of instants.
        weak: whether it only counts next to another part.
    """

    kind: Kind
    range: Range | None = None
    weak: bool = False


Reading: TypeAlias = Callable[[re.Match[str], Moment], Found | None]
"""None if the words name no time after all; raises ValueError or OverflowError for impossible dates."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern and how to read it; any match contains one of the cues, in lower case with 0 for digits."""

    cues: tuple[str, ...]
    pattern: re.Pattern[str]
    read: Reading


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
