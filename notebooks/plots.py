"""The look of the plots: SVG that is legible on light and dark ground and in print, in colours for the colour-blind.

A picture brings its own ground and turns it dark where the reader's screen is, so that its contrast never depends
on the page around it. Colours are those of Okabe and Ito, the ones that the displays of the library use; bars also have
hatches and outlines, lines have markers, and the picture says in words what it shows.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from html import escape
from typing import Any

from IPython.display import publish_display_data as publish
from matplotlib import rcParams
from matplotlib.figure import Figure

INK, GRID, GROUND = "#1f2328", "#8a9199", "#ffffff"
"""Of words and outlines, of rules, and behind all of it; each has a twin for dark screens."""

DARK = {INK: "#e8ebee", GRID: "#78818a", GROUND: "#111315"}

BLUE, ORANGE, GREEN, PINK, SKY, VERMILION, GREY, OLIVE = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#808080", "#968200",
)  # fmt: skip

COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, VERMILION, GREY, OLIVE)
HATCHES = ("", "//", "--", "xx", "\\\\", "||", "++", "////")
MARKERS = "os^DvPX*"

TIERS = {"L1 context": BLUE, "L2 semantic": GREEN, "L3 episodic": ORANGE}
"""The colour of each tier, as in the displays."""

SIGNALS = {
    "vector": (BLUE, ""),
    "text": (ORANGE, "//"),
    "neighbours": (GREEN, "--"),
    "segment": (SKY, "\\\\"),
    "recency": (PINK, "xx"),
    "importance": (VERMILION, "||"),
    "use": (OLIVE, "++"),
    "current": (GREY, "////"),
    "exact": ("#aa3c6e", "\\\\\\\\"),
    "temporal": ("#5a5ac8", "--||"),
    "similarity": ("#5a3ca0", "/"),
    "coverage": ("#be9600", "-"),
    "alike": ("#00788c", "|"),
    "statement": ("#3c783c", "x"),
    "speaker": ("#785a3c", "\\"),
    "kind": ("#c85050", "+"),
}
"""Colour and hatch of each signal of a score, in the colours of the displays."""

rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "notebooks",
        "text.parse_math": False,
        "font.family": "sans-serif",
        "font.size": 11,
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.axisbelow": True,
        "axes.edgecolor": INK,
        "axes.facecolor": "none",
        "axes.labelcolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.prop_cycle": "cycler('color', [" + ", ".join(map(repr, COLOURS)) + "])",
        "figure.facecolor": GROUND,
        "grid.color": GRID,
        "grid.linewidth": 0.6,
        "hatch.color": INK,
        "hatch.linewidth": 0.5,
        "legend.frameon": False,
        "legend.labelcolor": INK,
        "lines.linewidth": 2,
        "lines.markersize": 7,
        "lines.markeredgecolor": INK,
        "lines.markeredgewidth": 0.6,
        "patch.edgecolor": INK,
        "patch.force_edgecolor": True,
        "patch.linewidth": 0.6,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
    }
)

_PLACES = re.compile(r' (?:d|x|y|transform)="[^"]*"')
_LONG = re.compile(r"(\.\d\d)\d+")
"""Digits that no eye can see, of places."""

_FONTS = re.compile(r"font-family: [^;\"]*; ?")

_NAMES = {INK: "ink", GRID: "grid", GROUND: "ground"}
_SHEET = "".join(
    [
        "svg.plot{",
        *(f"--{_NAMES[colour]}:{colour};" for colour in DARK),
        "}@media screen and (prefers-color-scheme:dark){svg.plot{",
        *(f"--{_NAMES[colour]}:{twin};" for colour, twin in DARK.items()),
        "}}svg.plot text{font-family:system-ui,'Noto Sans','DejaVu Sans',sans-serif}",
    ]
)


def figure(rows: int = 1, columns: int = 1, *, width: float = 8, height: float = 3, **options: Any) -> tuple[Any, Any]:
    """A figure and its axes, as `matplotlib.figure.Figure.subplots` gives them.

    Args:
        rows: of small plots.
        columns: of small plots.
        width: in inches, of the whole.
        height: in inches, of the whole.
        options: of ``subplots``, such as ``sharey=True``.
    """
    made = Figure(figsize=(width, height), layout="constrained")
    return made, made.subplots(rows, columns, **options)


def show(made: Figure, told: str) -> None:
    """Show a figure as SVG.

    Args:
        made: by `figure`.
        told: what a reader hears who cannot see it, and reads where pictures are not shown.
    """
    publish({"image/svg+xml": svg(made, told), "text/plain": told})  # type: ignore[no-untyped-call]


def svg(made: Figure, told: str) -> str:
    """The figure as SVG with this description; its ink, grid and ground follow the reader's screen."""
    page = io.StringIO()
    made.savefig(page, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    drawn = page.getvalue()
    drawn = drawn[drawn.index("<svg") :]
    drawn = re.sub(r"<metadata>.*?</metadata>\s*|<!--.*?-->\s*", "", drawn, flags=re.DOTALL)
    drawn = _FONTS.sub("", re.sub(r"\s*\n\s*", " ", drawn))
    drawn = _PLACES.sub(lambda found: _LONG.sub(r"\1", found[0]), drawn)
    for colour, name in _NAMES.items():
        drawn = drawn.replace(colour, f"var(--{name},{colour})")
    head, rest = drawn.split(">", 1)
    label = escape(told)
    opened = f'{head} class="plot" role="img" aria-label="{label}"><title>{label}</title>'
    return f"{opened}<style>{_SHEET}</style>{rest}"


def stacked(
    axes: Any, names: Sequence[str], parts: dict[str, Sequence[float]], looks: dict[str, tuple[str, str]]
) -> None:
    """Horizontal bars, one for each name from the top down, of parts side by side.

    Args:
        axes: to draw into.
        names: of the bars.
        parts: by its name, how long the part is in each bar.
        looks: by its name, colour and hatch of a part.
    """
    start = [0.0] * len(names)
    rows = range(len(names))
    for name, lengths in parts.items():
        colour, hatch = looks[name]
        axes.barh(rows, lengths, left=start, color=colour, hatch=hatch, label=name, height=0.62)
        start = [left + length for left, length in zip(start, lengths, strict=True)]
    axes.set_yticks(rows, names)
    axes.invert_yaxis()
    axes.tick_params("y", length=0)


def name_ends(axes: Any, ends: dict[str, float], at: float, gap: float) -> None:
    """Names beside the right ends of lines, moved apart where they would lie on one another.

    Args:
        axes: to draw into.
        ends: by its name, the height of the end of a line.
        at: where on the horizontal axis the lines end.
        gap: the least distance between two names, in units of the vertical axis.
    """
    floor = -float("inf")
    for name, height in sorted(ends.items(), key=lambda end: end[1]):
        floor = max(height, floor + gap)
        axes.annotate(name, (at, floor), xytext=(9, 0), textcoords="offset points", va="center", annotation_clip=False)
