"""A plot for each measure; runs where matplotlib is, in the environment of the peers."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.systems import SYSTEMS

OWN, OTHER = "#d1495b", "#b7b7a4"
OTHERS = ("#0072b2", "#e69f00", "#009e73", "#56b4e9", "#cc79a7", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P")
BY_WORK = {"hybrid": "#30638e", "vector": "#8d99ae", "text": "#edae49"}
Table = dict[str, Any]


def draw(report: dict[str, Any], folder: Path) -> None:
    """Write the plots of the parts that were run."""
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    plt: Any = importlib.import_module("matplotlib.pyplot")
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"quality": _quality, "speed": _speed, "prompts": _prompts}
    for part, tables in report["results"].items():
        filled = [table for table in tables if table["rows"]]
        for name, figure in (parts[part](plt, filled) if filled else {}).items():
            figure.savefig(folder / f"{name}.png", dpi=110, bbox_inches="tight")
            figure.savefig(folder / f"{name}.svg", bbox_inches="tight")
            plt.close(figure)


def _quality(plt: Any, tables: Sequence[Table]) -> dict[str, Any]:
    """Recall at 10 and strict recall at 10, a panel for each set."""
    return {
        f"recall_{key.replace('@', '_at_')}": _panels(
            plt, [(table["title"].removeprefix("Recall "), _bars(table["rows"], key)) for table in tables], key
        )
        for key in ("r@10", "all@10", "hit@1")
    }


def _speed(plt: Any, tables: Sequence[Table]) -> dict[str, Any]:
    """Search by size for each kind of work; writing and memory at the largest size."""
    figures = {"search": _search(plt, tables)}
    for name, key in (("bulk", "bulk/s"), ("single", "single ms"), ("memory", "memory MB")):
        panels = [(table["title"].removeprefix("Speed over "), _bars(table["rows"], key)) for table in tables]
        figures[name] = _panels(plt, panels, key, log=name != "memory")
    return figures


def _bars(rows: Sequence[dict[str, Any]], key: str) -> list[tuple[str, float, str]]:
    """Name, figure and colour, the largest first."""
    known = [row for row in rows if row.get(key) is not None]
    return [
        (
            row["memory"],
            float(row[key]),
            OWN if row["memory"].startswith("ours") else BY_WORK.get(row.get("work", ""), OTHER),
        )
        for row in sorted(known, key=lambda row: -float(row[key]))
    ]


def _panels(
    plt: Any, panels: Sequence[tuple[str, list[tuple[str, float, str]]]], label: str, *, log: bool = False
) -> Any:
    """Horizontal bars, two panels beside each other."""
    rows, columns = (len(panels) + 1) // 2, min(2, len(panels))
    bars = max(len(found) for _, found in panels)
    figure, axes = plt.subplots(rows, columns, figsize=(8.5 * columns, (0.34 * bars + 1.1) * rows), squeeze=False)
    for axis, (title, found) in zip(axes.flat, panels, strict=False):
        names, figures, colours = zip(*reversed(found), strict=True)
        drawn = axis.barh(names, figures, color=colours)
        axis.bar_label(drawn, [_short(figure) for figure in figures], padding=3, fontsize=8)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(label)
        axis.margins(x=0.12)
        if log:
            axis.set_xscale("log")
            axis.xaxis.set_minor_formatter(plt.NullFormatter())
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    drawn_in = {colour for _, found in panels for _, _, colour in found}
    _legend(plt, figure, drawn_in)
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    return figure


def _legend(plt: Any, figure: Any, colours: set[str]) -> None:
    names = {"ours": OWN, "vector and words": BY_WORK["hybrid"], "vector": BY_WORK["vector"], "words": BY_WORK["text"]}
    names = {name: colour for name, colour in names.items() if colour in colours}
    patches = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in names.values()]
    figure.legend(patches, names, loc="lower center", ncols=len(names), frameon=False, fontsize=9)


def _search(plt: Any, tables: Sequence[Table]) -> Any:
    """Median search by size, a panel for each kind of work, ours in front."""
    figure, axes = plt.subplots(1, len(BY_WORK), figsize=(6.2 * len(BY_WORK), 5.6), sharey=True)
    sizes = [int(table["title"].split()[2].replace(",", "")) for table in tables]
    for axis, work in zip(axes, BY_WORK, strict=True):
        axis.set_prop_cycle(color=OTHERS, marker=MARKERS)
        for entry in SYSTEMS:
            points = [
                (size, row["search p50 ms"])
                for size, table in zip(sizes, tables, strict=True)
                for row in table["rows"]
                if row["memory"] == entry.name and entry.work == work
            ]
            if points:
                style = {"color": OWN, "marker": "*", "markersize": 12, "zorder": 5} if entry.ours else {}
                axis.plot(*zip(*points, strict=True), label=entry.name, **style)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_title(f"{work}: milliseconds of a search, median", fontsize=10)
        axis.set_xlabel("turns stored")
        axis.grid(visible=True, which="major", alpha=0.3)
        axis.legend(fontsize=8, loc="upper left")
    axes[0].set_ylabel("ms, the query's vector known")
    axes[0].set_ylim(top=axes[0].get_ylim()[1] * 12)  # room for the legends
    figure.tight_layout()
    return figure


def _prompts(plt: Any, tables: Sequence[Table]) -> dict[str, Any]:
    """Reuse against answers, and what is wrong with prompts."""
    figures: dict[str, Any] = {}
    for number, table in enumerate(tables, 1):
        rows = table["rows"]
        short = table["title"].removeprefix("Prompts along ")
        if rows[0]["answers"] is not None:
            panels = [(f"{key}: {short}", _bars(rows, key)) for key in ("reuse", "answers")]
            figures[f"prompts_{number}_kept"] = _panels(plt, panels, "share")
        panels = [(f"{key}: of {rows[0]['prompts']} prompts", _bars(rows, key)) for key in ("over", "orphans")]
        figures[f"prompts_{number}_wrong"] = _panels(plt, panels, "prompts")
    return figures


def _short(figure: float) -> str:
    if figure >= 100 or figure == int(figure):
        return f"{figure:,.0f}"
    return f"{figure:.3f}" if figure < 10 else f"{figure:.1f}"
