"""The figures that are shown of every method, and a table of them for a terminal."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.table import Table
from rich.text import Text

from hybrid_memory.apps.evaluation.report import Figures, Report


@dataclass(frozen=True, slots=True)
class Column:
    """One figure.

    Attributes:
        name: where the JSON has it, behind the method.
        heading: above the column; short: in a narrow table.
        better: whether more or less of it is better.
        value: of a method, None where there was nothing to measure; shown: that number for a reader.
        meaning: its definition.
    """

    name: str
    heading: str
    short: str
    better: Literal["more", "less"]
    value: Callable[[Figures], float | None]
    shown: Callable[[float], str]
    meaning: str


def percent(share: float) -> str:
    """A share in [0, 1] for a reader."""
    return f"{100 * share:.1f} %"


def number(value: float) -> str:
    """Rounded, with commas; small ones with two significant digits."""
    if value and abs(value) < 10:  # noqa: PLR2004 - one digit
        return f"{value:.{1 - math.floor(math.log10(abs(value)))}f}".rstrip("0").rstrip(".")
    return f"{value:,.0f}"


def times(value: float) -> str:
    """A ratio for a reader."""
    return f"{value:.1f}"


def points(value: float) -> str:
    """A score in [0, 5] for a reader."""
    return f"{value:.2f}"


def overall(one: Figures) -> float | None:
    """What the judge gave in all; None without one."""
    return one.scores.overall.mean if one.scores and one.scores.overall else None


KEPT = (
    Column(
        "survival", "Survival", "kept", "more", lambda one: one.survival, percent,
        "The share of an answer's key strings (a name, a path, a number) that stand literally in the prompt for its "
        "question, the question itself aside; the mean over all questions.",
    ),
    Column(
        "reach", "Reach", "reach", "more", lambda one: one.reach, percent,
        "The share of the messages from which the answer follows that stand in the prompt word by word, to which a "
        "name in the prompt leads, or that looking for the question's words brings; the mean over all questions.",
    ),
    Column(
        "finished", "Finished", "done", "more", lambda one: one.finished, percent,
        "The share of the questions whose whole answer was in the prompt, or in what was fetched beside it.",
    ),
    Column(
        "told", "Told", "told", "more", lambda one: one.told, percent,
        "The share of an answer's key strings that the model told when it was asked with that prompt; the mean over "
        "all questions that it answered.",
    ),
    Column(
        "scores.overall.mean", "Score", "score", "more", overall, points,
        "What the judge gave to the answers, from 0 to 5: the mean of the dimensions, each of which is the weighted "
        "mean of its criteria. Behind it the standard deviation between single grades.",
    ),
)  # fmt: skip
"""What a method keeps."""

COSTS = (
    Column(
        "ratio", "Ratio", "ratio", "more", lambda one: one.ratio, times,
        "Tokens of the whole conversation for each token of a prompt; the mean over all questions.",
    ),
    Column(
        "context", "Prompt", "prompt", "less", lambda one: one.context, number,
        "Tokens of the prompt for a question; the mean.",
    ),
    Column(
        "task", "Tokens per finished task", "task", "less", lambda one: one.task, number,
        "Tokens of all prompts for questions and of all that was fetched, divided by the questions that were finished.",
    ),
    Column(
        "reuse", "Prefix reuse", "reuse", "more", lambda one: one.reuse, percent,
        "The share of a prompt with which the next prompt of the conversation begins again, so that a provider's cache "
        "need not read it anew; the mean.",
    ),
    Column(
        "over", "Over budget", "over", "less", lambda one: one.over, number,
        "Prompts along the conversations with more tokens than the budget.",
    ),
    Column(
        "invalid", "Invalid", "invalid", "less", lambda one: one.invalid, number,
        "Prompts along the conversations that a provider would refuse, such as a tool's result without its call.",
    ),
    Column(
        "calls", "Model calls", "calls", "less", lambda one: one.calls, number,
        "Calls of the model that writes summaries, along all conversations.",
    ),
    Column(
        "milliseconds", "Milliseconds", "ms", "less", lambda one: one.milliseconds, number,
        "The median time to write down what was said since the last prompt and to make the next one.",
    ),
    Column(
        "cost", "Cost", "cost", "less", lambda one: one.cost, number,
        "Of the prompts along the conversations and of the summaries, at the prices given; what begins as before at "
        "the price of cached tokens.",
    ),
)  # fmt: skip
"""What it takes."""


def measured(columns: Sequence[Column], report: Report) -> list[Column]:
    """Those for which any method has a number."""
    return [column for column in columns if any(column.value(one) is not None for one in report.methods)]


def keeping(report: Report) -> list[Figures]:
    """The methods whose prompts all kept within the budget in a form that providers take."""
    return [one for one in report.methods if not one.over and not one.invalid]


def best(column: Column, report: Report) -> set[str]:
    """The methods with the best number among those that keep the budget; none where all have the same."""
    result = {one.method: value for one in keeping(report) if (value := column.value(one)) is not None}
    shown = {name: column.shown(value) for name, value in result.items()}
    if len(set(shown.values())) < 2:  # noqa: PLR2004 - nothing to choose between
        return set()
    top = (
        max(result, key=lambda name: result[name]) if column.better == "more" else min(result, key=lambda n: result[n])
    )
    return {name for name, text in shown.items() if text == shown[top]}


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
