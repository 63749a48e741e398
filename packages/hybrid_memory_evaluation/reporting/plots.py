"""SVG plots to embed in a page whose style sheet sets the colours of methods, text and grid."""

from __future__ import annotations

import html
import io
import math
import re
import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure as Sheet
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

COLOURS = 8
"""How many colours the style sheet has; a ninth method has the first colour with another marker."""

_MARKERS = "osD^vPX*<>hp"
_INK, _GRID = "#01f0e0", "#01f0e1"
_NAMED = re.compile(r"#01f0([0-9a-f]{2})")
_NAMES = {"e0": "ink", "e1": "grid"}
_WIDTH = 4.7
"""Size in inches at 72 units each, so that a phone shows the text at about its natural size."""

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "report",
    "text.parse_math": False,
    "font.size": 10,
    "axes.titlesize": 9.8,
    "axes.edgecolor": _GRID,
    "axes.labelcolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "grid.color": _GRID,
    "grid.linewidth": 0.7,
    "lines.markersize": 6.5,
    "lines.linewidth": 1.6,
}


@dataclass(frozen=True, slots=True)
class Panel:
    """A small plot: for each method a value and its spread, 0 for none."""

    title: str
    values: Mapping[str, tuple[float, float]]


def panels(shown: Sequence[Panel], methods: Sequence[str], limit: float, told: str) -> str:
    """Small plots side by side, with a line for each method.

    Args:
        shown: the plots.
        methods: all methods of the report, which determine the colours.
        limit: the right end of every axis.
        told: the text for screen readers.
    """
    columns = min(2, len(shown))
    rows = math.ceil(len(shown) / columns)
    named = [method for method in methods if any(method in panel.values for panel in shown)]
    with rc_context(_STYLE):
        sheet = Sheet(figsize=(_WIDTH, rows * (0.21 * len(named) + 0.62)), layout="constrained")
        grid = sheet.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat
        for axes, panel in zip(grid, shown, strict=False):
            axes.set_title(panel.title, loc="left")
            for place, method in enumerate(named):
                if method in panel.values:
                    value, spread = panel.values[method]
                    ends = [[min(spread, value)], [min(spread, limit - value)]] if spread else None
                    axes.errorbar(value, place, xerr=ends, **_look(method, methods), capsize=2.5)
            axes.set_yticks(range(len(named)), [_short(name) for name in named])
            axes.tick_params("both", length=0)
            axes.grid(axis="x")
        first = sheet.axes[0]
        first.set_ylim(len(named) - 0.4, -0.6)
        first.set_xlim(-0.07 * limit, 1.07 * limit)
        if limit == 1:
            first.xaxis.set_major_formatter(FuncFormatter(_as_percent))
            first.set_xticks([0, 0.5, 1])
        else:
            first.set_xticks(range(int(limit) + 1))
        for axes in sheet.axes[len(shown) :]:
            axes.set_axis_off()
        return _svg(sheet, told)


def scatter(dots: Mapping[str, tuple[float, float]], methods: Sequence[str], labels: tuple[str, str], told: str) -> str:
    """A dot for each method, on a logarithmic horizontal axis.

    Args:
        dots: the position of each method; the horizontal value must be positive.
        methods: all methods of the report, which determine the colours.
        labels: the labels of the axes; a vertical label that ends in % is for shares.
        told: the text for screen readers.
    """
    with rc_context(_STYLE):
        sheet = Sheet(figsize=(_WIDTH, 3.0 + 0.2 * math.ceil(len(dots) / 2)), layout="constrained")
        axes = sheet.subplots()
        for method, (x, y) in dots.items():
            axes.plot(
                x, y, **_look(method, methods), linestyle="none", markersize=8, alpha=0.85, label=_short(method, 28)
            )
        most, least = max(x for x, _ in dots.values()), min(x for x, _ in dots.values())
        axes.set_xscale("log")
        margin = max(1.15, (most / least) ** 0.06)
        axes.set_xlim(least / margin, most * margin)
        axes.xaxis.set_major_locator(FixedLocator(_round_numbers(*axes.get_xlim())))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1])
        limit = 1.0 if labels[1].endswith("%") else 5.0
        axes.set_ylim(-0.05 * limit, 1.05 * limit)
        if limit == 1:
            axes.yaxis.set_major_formatter(FuncFormatter(_as_percent))
        axes.grid()
        axes.set_axisbelow(True)
        sheet.legend(
            loc="outside lower left", ncols=2, handletextpad=0.1, columnspacing=1.0, frameon=False, fontsize=9.5
        )
        return _svg(sheet, told)


def lines(
    values: Mapping[str, Mapping[str, float]], groups: Mapping[str, int], methods: Sequence[str], told: str
) -> str:
    """Shares over ordered groups: a small plot for each method, with the others faint in the background.

    Args:
        values: for each method the share of each group.
        groups: the size of each group, by its label on the axis.
        methods: all methods of the report, which determine the colours.
        told: the text for screen readers.
    """
    columns = min(2, len(values))
    rows = math.ceil(len(values) / columns)
    places = {group: place for place, group in enumerate(groups)}
    drawn = {
        method: ([places[group] for group in groups if group in own], [own[group] for group in groups if group in own])
        for method, own in values.items()
    }
    with rc_context(_STYLE):
        sheet = Sheet(figsize=(_WIDTH, 1.0 * rows + 0.5), layout="constrained")
        grid = sheet.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat
        for axes, method in zip(grid, values, strict=False):
            axes.set_title(_short(method, 28), loc="left")
            for other in values:
                axes.plot(*drawn[other], color=_GRID, linewidth=1)
            axes.plot(*drawn[method], **_look(method, methods), markersize=5, clip_on=False, zorder=3)
        first = sheet.axes[0]
        first.set_xticks(range(len(groups)), [f"{group}\n{count}" for group, count in groups.items()])
        first.set_xlim(-0.2, len(groups) - 0.8)
        first.set_ylim(0, 1)
        first.set_yticks([0, 0.5, 1])
        first.yaxis.set_major_formatter(FuncFormatter(_as_percent))
        for axes in sheet.axes:
            axes.tick_params("both", length=0)
        for axes in sheet.axes[len(values) :]:
            axes.set_axis_off()
            sheet.axes[len(values) - columns].tick_params(labelbottom=True)
        sheet.supxlabel("messages since then; below, the number of questions", fontsize=9.5)
        return _svg(sheet, told)


def _look(method: str, methods: Sequence[str]) -> dict[str, Any]:
    row = list(methods).index(method)
    return {"color": f"#01f0{row % COLOURS:02x}", "marker": _MARKERS[row % len(_MARKERS)]}


def _short(name: str, longest: int = 22) -> str:
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def _as_percent(value: float, _: Any) -> str:
    return f"{100 * value:.0f}"


def _round_numbers(left: float, right: float) -> list[float]:
    """1, 2, 5, 10 and so on between two ends; more of them if the ends are close."""
    steps = (1, 2, 5) if right / left > 8 else (1, 1.5, 2, 3, 4, 5, 6, 8)  # noqa: PLR2004 - so that numbers have room
    powers = range(math.floor(math.log10(left)), math.ceil(math.log10(right)) + 1)
    return [step * 10.0**power for power in powers for step in steps if left <= step * 10.0**power <= right]


def _svg(sheet: Sheet, told: str) -> str:
    """The SVG element alone, with named colours for the style sheet and ids that are unique on the page."""
    written = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)  # the browser has a font for it
        sheet.savefig(
            written, format="svg", transparent=True, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type"))
        )
    text = written.getvalue()
    text = text[text.index("<svg") :]
    text = _NAMED.sub(lambda found: f"var(--{_NAMES.get(found[1], f'method-{int(found[1], 16)}')})", text)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r" font-family: [^;]*;", "", text)
    prefix = f"p{zlib.crc32(told.encode())}"
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", text)
    text = re.sub(r'^<svg\b[^>]*?viewBox="([^"]*)"[^>]*>', _opening(told), text, count=1)
    return text.strip()


def _opening(told: str) -> str:
    spoken = html.escape(told, quote=True).replace("\\", r"\\")
    return rf'<svg xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="\1" role="img" aria-label="{spoken}">'
