# How the plots look: SVG in the colours of Okabe and Ito, with hatches for print and grey screens, and a description
# for readers who cannot see them. The page turns dark where the reader's screen is dark.
import io
import re
from html import escape
from typing import Any

from IPython.display import publish_display_data
from matplotlib import rcParams
from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PINK, SKY, VERMILION, GREY = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#808080",
)  # fmt: skip
INK, GRID, GROUND = "#1f2328", "#8a9199", "#ffffff"
DARK = {INK: ("ink", "#e8ebee"), GRID: ("grid", "#78818a"), GROUND: ("ground", "#111315")}

rcParams.update(dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "hatch.color", "legend.labelcolor"), INK))
rcParams.update(dict.fromkeys(("patch.edgecolor", "text.color", "xtick.color", "ytick.color"), INK))
rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True, "legend.frameon": False})
rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "notebooks", "axes.facecolor": "none", "grid.color": GRID})
rcParams.update({"font.size": 11, "axes.titlesize": 11, "axes.titleweight": "bold", "axes.titlelocation": "left"})
rcParams.update({"patch.force_edgecolor": True, "patch.linewidth": 0.6, "hatch.linewidth": 0.5, "lines.linewidth": 2})
rcParams.update({"text.parse_math": False, "lines.markeredgecolor": INK, "lines.markeredgewidth": 0.6})
rcParams["axes.prop_cycle"] = f"cycler('color', {[BLUE, ORANGE, GREEN, PINK, SKY, VERMILION, GREY]})"


def figure(rows: int = 1, columns: int = 1, *, width: float = 8, height: float = 3, **options: Any) -> tuple[Any, Any]:
    """A figure of this size in inches, and its axes."""
    made = Figure(figsize=(width, height), layout="constrained")
    return made, made.subplots(rows, columns, **options)


def show(made: Figure, description: str) -> None:
    """Show a figure as SVG, and its description where pictures are not shown."""
    page = io.StringIO()
    made.savefig(page, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    drawn = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->|font-family: [^;\"]*; ?", "", page.getvalue(), flags=re.DOTALL)
    drawn = re.sub(r"\s*\n\s*", " ", drawn[drawn.index("<svg") :])
    places = r' (?:d|x|y|transform)="[^"]*"'  # no eye sees more than two decimals
    drawn = re.sub(places, lambda found: re.sub(r"(\.\d\d)\d+", r"\1", found[0]), drawn)
    for colour, (name, _) in DARK.items():
        drawn = drawn.replace(colour, f"var(--{name},{colour})")
    bright = "".join(f"--{name}:{colour};" for colour, (name, _) in DARK.items())
    dark = "".join(f"--{name}:{colour};" for name, colour in DARK.values())
    style = (
        f"svg.plot{{{bright}}}@media screen and (prefers-color-scheme:dark){{svg.plot{{{dark}}}}}"
        "svg.plot text{font-family:system-ui,'Noto Sans','DejaVu Sans',sans-serif}"
    )
    label = escape(description)
    opened = f'<svg class="plot" role="img" aria-label="{label}"{drawn[4:].split(">", 1)[0]}><title>{label}</title>'
    drawn = f"{opened}<style>{style}</style>{drawn.split('>', 1)[1]}"
    publish_display_data({"image/svg+xml": drawn, "text/plain": description})  # type: ignore[no-untyped-call]


def stacked(axes: Any, names: list[str], parts: dict[str, list[float]], looks: dict[str, tuple[str, str]]) -> None:
    """A horizontal bar for each name, from the top down; each part has a colour and a hatch."""
    start = [0.0] * len(names)
    for part, lengths in parts.items():
        colour, hatch = looks[part]
        axes.barh(range(len(names)), lengths, left=start, color=colour, hatch=hatch, label=part, height=0.62)
        start = [left + length for left, length in zip(start, lengths, strict=True)]
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.tick_params("y", length=0)
