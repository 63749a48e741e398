"""The pictures of how it works, made from the code."""

from __future__ import annotations

import ast
import re
import tomllib
from html import escape
from pathlib import Path

import drawing
import yaml

WIDTH = 480
LONG = 20
"""Letters of a name that only just fits a third of the width."""


def floors(pyproject: Path) -> str:
    """The floors of the contract that import-linter holds the code to, the highest first."""
    contracts = tomllib.loads(pyproject.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    content, y = "", 2.0
    for layer in layers:
        rooms = [_short(name) for name in re.split(r"\s*[|:]\s*", layer.strip("() "))]
        rows = [rooms[start : start + 3] for start in range(0, len(rooms), 3)]
        for row in rows:
            width = (WIDTH - 4 * (len(row) + 1)) / len(row)
            for place, room in enumerate(row):
                x = 4 + place * (width + 4)
                content += drawing.box(x, y, width, 22) + drawing.text(
                    x + width / 2, y + 15, room, "small" if len(room) < LONG else "tiny", "middle"
                )
            y += 25
        y += 7
    return drawing.svg(WIDTH, round(y), content, "The floors of the code; imports go down only")


def _short(name: str) -> str:
    return name.strip("() ").removeprefix("hybrid_memory.")


def path(source: Path, which: str) -> str:
    """The steps of a verb, one below the other; what a step reaches stands beside it."""
    steps = yaml.safe_load(source.read_text(encoding="utf-8"))[which]
    content, y, left = "", 2.0, 330
    for number, step in enumerate(steps):
        lines = drawing.wrapped(step["does"], 46)
        height = 26 + 15 * len(lines)
        content += drawing.box(2, y, left - 4, height) + drawing.text(12, y + 17, step["step"], "strong")
        for row, line in enumerate(lines):
            content += drawing.text(12, y + 34 + 15 * row, line, "small")
        if "reaches" in step:
            middle = y + height / 2
            content += f'<path d="M{left} {middle:g}h22" class="arrow"/>'
            content += drawing.box(left + 26, middle - 13, WIDTH - left - 28, 26, kind="port")
            content += drawing.text((left + 26 + WIDTH - 2) / 2, middle + 4, step["reaches"], "small", "middle")
        y += height
        if number + 1 < len(steps):
            content += f'<path d="M{left / 2:g} {y:g}v14" class="arrow"/>'
            y += 18
    return drawing.svg(WIDTH, round(y) + 2, content, f"The path of {which}")


def rooms(package: Path) -> str:
    """What each room is for, by the first line of its docstring."""
    lines = []
    for room in sorted(package.iterdir()):
        source = room / "__init__.py" if room.is_dir() else room
        if source.suffix != ".py" or not source.exists() or source.name == room.name == "__init__.py":
            continue
        told = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
        modules = len(list(room.rglob("*.py"))) if room.is_dir() else 1
        lines.append(f"| `{room.stem}` | {modules} | {told.splitlines()[0] if told else ''} |")
    return "\n".join(["| room | modules | what it is for |", "|---|---|---|", *lines])


def inline(picture: Path) -> str:
    """A picture of the assets, in the page itself, so that it follows the colours of the page."""
    drawn = re.sub(r"<style>.*?</style>", "", picture.read_text(encoding="utf-8"), flags=re.DOTALL).strip()
    return f'<figure class="drawn wide" title="{escape(picture.stem)}">{drawn}</figure>'
