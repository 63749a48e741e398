"""The figures of every method for a terminal."""

from __future__ import annotations

import unicodedata

from rich.table import Table
from rich.text import Text

from hybrid_memory.apps.evaluation.report import Report
from hybrid_memory.apps.evaluation.reporting.columns import COSTS, KEPT, best, measured, percent

MARK = "*"
"""Behind the best value of a column, so that it is known without colours."""

_NAME_CELLS = 24
_LEFT_OUT = {"ratio": ("context",), "cost": ("calls",), "told": ("finished",)}
"""What gives way, for the width, where there is something that tells more."""


def table(report: Report) -> Table:
    """The most important figures, at most 100 cells wide; the best of each column bold, with a star behind it."""
    columns = measured((*KEPT, *COSTS), report)
    gone = {name for column in columns for name in _LEFT_OUT.get(column.name, ())}
    columns = [column for column in columns if column.name not in gone]
    marked = {column.name: best(column, report) for column in columns}
    made = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    made.add_column("method", no_wrap=True, overflow="ellipsis", max_width=_NAME_CELLS)
    for column in columns:
        made.add_column(f"{column.short}{'%' if column.shown is percent else ' '}", justify="right", no_wrap=True)
    for one in report.methods:
        cells = []
        for column in columns:
            value = column.value(one)
            top = one.method in marked[column.name]
            text = "-" if value is None else column.shown(value).removesuffix(" %")
            cells.append(Text(f"{text}{MARK if top else ' '}", style="bold green" if top else ""))
        made.add_row(Text(printable(one.method)), *cells)
    return made


def printable(text: str) -> str:
    """The text without characters that a terminal would act on."""
    return "".join(char if unicodedata.category(char)[0] != "C" else "\N{REPLACEMENT CHARACTER}" for char in text)
