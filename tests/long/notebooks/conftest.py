import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nbformat
import pytest

from notebooks.run import execute, read

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"
MOST_BYTES = 300_000

NEEDS = "needs-"
"""Begins the tag of a cell that shows less without a package: ``needs-chdb``."""

PICTURE = re.compile(r"<svg.*?</svg>", re.DOTALL)
TAG = re.compile(r"<[^>]+>")
FIGURE = re.compile(r"\d[\d.,:]*")

Checked = Callable[[str], Any]
"""Runs the notebook of this name, checks what holds for all of them, and gives it as it was run."""


@pytest.fixture
def notebook(tmp_path: Path) -> Checked:
    return lambda name: _checked(NOTEBOOKS / name, tmp_path)


def _checked(path: Path, folder: Path) -> Any:
    stored = read(path)
    nbformat.validate(stored)
    run = execute(path, folder)
    for cell in code(run):
        kinds = {output.get("name", output.output_type) for output in cell.outputs}
        assert not kinds & {"stderr", "error"}, f"{path.name} warns or fails:\n{cell.source}\n{cell.outputs}"
    here = [row for row, cell in enumerate(code(run)) if _installed(cell)]
    assert [seen(code(stored)[row]) for row in here] == [seen(code(run)[row]) for row in here], (
        f"{path.name} does not hold what it shows now: python notebooks/run.py {path.name}"
    )
    assert run.metadata == stored.metadata
    assert path.stat().st_size < MOST_BYTES
    assert str(folder) not in path.read_text(encoding="utf-8")
    return run


def _installed(cell: Any) -> bool:
    """Whether the packages are here that its tags name; without them it says so, and shows less."""
    needed = [tag.removeprefix(NEEDS) for tag in cell.metadata.get("tags", ()) if tag.startswith(NEEDS)]
    return all(map(find_spec, needed))


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def seen(cell: Any) -> list[dict[str, str]]:
    """What a cell shows: its words; figures may differ a little between machines, and pictures with their fonts."""
    shown = []
    for output in cell.outputs:
        forms = {output.name: output.text} if output.output_type == "stream" else output.data
        shown.append({form: _words(words) for form, words in forms.items() if form != "image/svg+xml"})
    return shown


def _words(words: str) -> str:
    return " ".join(FIGURE.sub("0", TAG.sub(" ", PICTURE.sub("", words))).split())
