"""HTML for notebooks: tables, stacked bars, details, and escaped texts.

Colours are translucent and text has the page's colour, so that everything is legible on light and dark backgrounds and
in print. Tiers and signals have the hues of Okabe and Ito (https://jfly.uni-koeln.de/color/), which colour-blind people
can distinguish; each is also labelled.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

CONTEXT, SEMANTIC, EPISODIC, PLAIN = "0,114,178", "0,158,115", "230,159,0", "128,128,128"
"""The hues of the tiers, and of parts without a tier."""

STRONG, FAINT = 0.75, 0.16  # the opacity of a hue: in a bar, and behind text

_TABLE = "border-collapse:collapse;text-align:left;margin:.3em 0"
_CELL = "text-align:left;vertical-align:top;padding:.2em .7em .2em 0;border-bottom:1px solid rgba(128,128,128,.35)"


@dataclass(frozen=True, slots=True)
class Part:
    """A segment of a bar: its label, its share of the bar in [0, 1], its hue, and a note."""

    label: str
    share: float
    hue: str
    note: str = ""


def counted(number: int, noun: str) -> str:
    """A count with its noun: ``1 hit``, ``2,000 hits``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


_PLURAL = re.compile(r"(ie)?s\b")


def amount(number: int, nouns: str) -> str:
    """A count of what is given in the plural: ``1 summary rewritten``, ``2 summaries rewritten``."""
    names = nouns if number != 1 else _PLURAL.sub(lambda ending: "y" if ending[1] else "", nouns, count=1)
    return f"{number:,} {names}"


def text(words: object) -> str:
    """The words as HTML that shows all of them: markup escaped, invisible characters named, such as ``⟨U+202E⟩``."""
    return f"<bdi>{escape(visible(str(words)))}</bdi>"


_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180e"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ue000-\uf8ff\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\U000f0000-\U0010ffff]"
)
"""Controls, marks of direction, fillers, tags, private use; not the joiners, which Persian and emoji are made of."""


def visible(text: str) -> str:
    """The text with what nobody would see made visible, such as ``⟨U+202E⟩`` for a mark of direction."""
    return _UNSEEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


def finished(value: Any) -> Any:
    """What a template prints in the place of a value: every text passes here, before it is escaped."""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows of cells; the head is text, the cells are HTML."""
    named = "".join(f'<th scope="col" style="{_CELL}">{escape(name)}</th>' for name in head)
    top = f"<thead><tr>{named}</tr></thead>" if head else ""
    cells = ("".join(f'<td style="{_CELL}">{cell}</td>' for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f'<table style="{_TABLE}">{top}<tbody>{body}</tbody></table>'


def bar(parts: Iterable[Part], *, width: str = "12em") -> str:
    """The parts side by side, in proportion."""
    kept = [(part, f"{part.label} {part.note}".strip()) for part in parts if part.share > 0]
    label = ", ".join(words for _, words in kept)
    drawn = "".join(
        f'<span title="{escape(words)}" style="display:inline-block;height:.9em;width:{100 * part.share:.2f}%;'
        f'background-color:rgba({part.hue},{STRONG});print-color-adjust:exact"></span>'
        for part, words in kept
    )
    return (
        f'<span role="img" aria-label="{escape(label)}" style="display:inline-block;width:{width};max-width:100%;'
        f'line-height:0;white-space:nowrap;border:1px solid rgba(128,128,128,.6)">{drawn}</span>'
    )


def legend(parts: Iterable[Part]) -> str:
    """The names of the parts next to their hues."""
    return " ".join(
        f'<span style="white-space:nowrap;margin-right:.8em"><span style="display:inline-block;width:.8em;height:.8em;'
        f'background-color:rgba({part.hue},{STRONG});print-color-adjust:exact"></span> '
        f"{escape(part.label)} {escape(part.note)}</span>"
        for part in parts
    )


def under(hue: str, inner: str, label: str) -> str:
    """HTML on a background of this hue, with a label."""
    return (
        f'<div style="background:rgba({hue},{FAINT});border-left:.3em solid rgba({hue},{STRONG});padding:.3em .6em;'
        f'margin:.25em 0;white-space:pre-wrap;overflow-wrap:anywhere"><small>{label}</small><br>{inner}</div>'
    )


def details(summary: str, inner: str) -> str:
    """HTML that opens on click."""
    return f"<details><summary>{summary}</summary>{inner}</details>"


def card(title: str, inner: str) -> str:
    """A block with a heading."""
    return f'<div style="max-width:64em"><div><strong>{title}</strong></div>{inner}</div>'


Progress = Callable[[int, int], None]  # called with (done, total) while long work runs


@contextmanager
def progress_bar(label: str, *, shown: bool | None, unit: str = "turn") -> Iterator[Progress]:
    """A callback that updates a progress bar; by default (None) it is shown if stderr is a terminal."""
    if not (sys.stderr.isatty() if shown is None else shown):
        yield lambda *_: None
        return
    from tqdm import tqdm  # noqa: PLC0415 - 50 ms that an import of the package need not pay

    class Bar(tqdm):  # type: ignore[type-arg]
        # The lock of tqdm belongs to all processes that were forked: one that is killed would keep it for ever.
        _lock = threading.RLock()

    with Bar(desc=label, unit=f" {unit}s", leave=False) as bar:

        def advance(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield advance
