"""Small SVG pictures that take their colours from the page, so that they are legible in light and in dark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from unicodedata import east_asian_width

# Okabe and Ito: told apart by colour-blind readers, on white and on black.
HUES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")

LINE = 14
LABEL = 175


@dataclass(frozen=True, slots=True)
class Series:
    """The bars of one colour.

    Attributes:
        name: in the legend.
        values: one for each group; None where there is none.
    """

    name: str
    values: tuple[float | None, ...]


def svg(width: int, height: int, content: str, title: str) -> str:
    """A picture that is as wide as there is room, but no wider than it was made for."""
    return (
        f'<figure class="drawn"><svg viewBox="0 0 {width} {height}" style="max-width:{width}px" role="img" '
        f'aria-label="{escape(title)}" xmlns="http://www.w3.org/2000/svg">{content}</svg></figure>'
    )


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """One line of text."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, *, kind: str = "box", fill: str = "") -> str:
    """A rectangle; of the page's colours unless one is given."""
    style = f' style="fill:{fill}"' if fill else ""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" class="{kind}" rx="3"{style}/>'


def wrapped(words: str, room: int) -> list[str]:
    """Lines of at most so many columns; a Chinese character takes two."""
    lines, line, taken = [], "", 0
    for word in words.split(" "):
        width = sum(2 if east_asian_width(char) in "WF" else 1 for char in word)
        if line and taken + 1 + width > room:
            lines.append(line)
            line, taken = word, width
        else:
            line, taken = f"{line} {word}".strip(), taken + width + (1 if line else 0)
    return [*lines, line]


def bars(title: str, groups: Sequence[str], series: Sequence[Series], *, most: float = 1.0, form: str = ".2f") -> str:
    """Groups of horizontal bars, each with its value beside it."""
    width, content, y = 480, "", 8.0
    for number, one in enumerate(series):
        content += box(LABEL, y, 10, 10, kind="", fill=HUES[number % len(HUES)]) + text(
            LABEL + 16, y + 9, one.name, "small"
        )
        y += 16
    y += 6
    for row, group in enumerate(groups):
        drawn = [(number, value) for number, one in enumerate(series) if (value := one.values[row]) is not None]
        lines = wrapped(group, 24)
        height = max(14 * len(drawn), LINE * len(lines))
        for line, words in enumerate(lines):
            content += text(LABEL - 8, y + height / 2 + (line + 0.5 - len(lines) / 2) * LINE + 4, words, "small", "end")
        place = y + (height - 14 * len(drawn)) / 2
        for number, value in drawn:
            length = max(1.0, value / most * 260)
            content += box(LABEL, place, length, 11, kind="", fill=HUES[number % len(HUES)])
            content += text(LABEL + length + 5, place + 9.5, format(value, form), "tiny")
            place += 14
        y += height + 10
    return svg(width, round(y), content, title)
