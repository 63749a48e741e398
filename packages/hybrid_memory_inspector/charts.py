"""Counts over time as bars, in percent of the space that they are drawn in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

UNITS = {1: "day", 7: "week", 28: "4 weeks", 91: "13 weeks", 364: "52 weeks", 3640: "10 years"}
"""Days that a bar may stand for, with their name."""

LEAST_HEIGHT = 6
"""Percent; a bar of one is still seen."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A count of some days; place and size in percent.

    Attributes:
        since, until: the first of the days, and the first after them.
    """

    since: date
    until: date
    count: int
    x: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """Bars of equal width, oldest first, from the first day to the last.

    Attributes:
        unit: of time that a bar stands for.
        most: the greatest count.
    """

    bars: tuple[Bar, ...]
    unit: str
    since: date
    until: date
    most: int


def histogram(counts: Mapping[date, int], since: date, until: date, *, most_bars: int = 60) -> Histogram:
    """The counts of the days from ``since`` to ``until``, both included, in at most so many bars."""
    whole = (until - since).days + 1
    days = next((days for days in UNITS if -(-whole // days) <= most_bars), max(UNITS))
    number = -(-whole // days)
    sums = [0] * number
    for day, count in counts.items():
        if since <= day <= until:
            sums[(day - since).days // days] += count
    most = max(sums)
    width = 100 / number
    bars = tuple(
        Bar(
            since=since + timedelta(row * days),
            until=since + timedelta((row + 1) * days) if row + 1 < number else until + timedelta(1),
            count=count,
            x=width * row,
            width=width,
            height=LEAST_HEIGHT + (100 - LEAST_HEIGHT) * count / most if count else 0.0,
        )
        for row, count in enumerate(sums)
    )
    return Histogram(bars, UNITS[days], since, until, most)
