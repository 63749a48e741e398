"""What tests of every folder make of the world: tables of wordings, pages as a browser reads them, files of a store."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent


def rows(name: str, kind: str | None = None) -> list[tuple[str, ...]]:
    r"""The rows of a table below ``tests``, or those of a kind, without it; ``\n`` and ``\t`` are what they say."""
    lines = (TESTS / name).read_text("utf-8").splitlines()
    cells = [tuple(cell.replace(r"\n", "\n").replace(r"\t", "\t") for cell in line.split("\t")) for line in lines]
    return cells if kind is None else [row[1:] for row in cells if row[0] == kind]


def column(name: str, kind: str | None = None) -> list[str]:
    """The same of a table, or a kind of rows, of one column."""
    return [cell for (cell,) in rows(name, kind)]
