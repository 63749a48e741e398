"""Readable reports: a self-contained page, and a table for a terminal."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from rich.table import Table
from rich.text import Text

from hybrid_memory.display import counted, finished
from hybrid_memory.errors import MissingDependencyError
from hybrid_memory_evaluation.judging.scores import CRITERIA, overall_score
from hybrid_memory_evaluation.probing.probe import ProbeKind
from hybrid_memory_evaluation.report import Figures, Outcome, Report

__all__ = ["html", "printable", "table"]


@dataclass(frozen=True, slots=True)
class Column:
    """A figure in the table.

    Attributes:
        name: its path in the JSON of a method.
        heading: the column heading; short: the heading in a narrow table.
        better: whether more or less is better.
        value: the value of a method, None if there was nothing to measure; shown: the value as text.
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
    """A share in [0, 1] as text."""
    return f"{100 * share:.1f} %"


def number(value: float) -> str:
    """A rounded number with commas; small ones have two significant digits."""
    if value and abs(value) < 10:  # noqa: PLR2004 - one digit
        return f"{value:.{1 - math.floor(math.log10(abs(value)))}f}".rstrip("0").rstrip(".")
    return f"{value:,.0f}"


def points(value: float) -> str:
    """A score in [0, 5] as text."""
    return f"{value:.2f}"


def overall(one: Figures) -> float | None:
    """The judge's overall score; None without a judge."""
    return one.scores.overall.mean if one.scores and one.scores.overall else None


KEPT = (
    Column(
        "survival", "Survival", "kept", "more", lambda one: one.survival, percent,
        "The share of an answer's key strings (a name, a path, a number) that are literally in the prompt for its "
        "question, not counting the question itself; the mean over all questions.",
    ),
    Column(
        "reach", "Reach", "reach", "more", lambda one: one.reach, percent,
        "The share of the messages behind the answer that are verbatim in the prompt, that a handle in the prompt "
        "leads to, or that a search for the question finds; the mean over all questions.",
    ),
    Column(
        "finished", "Finished", "done", "more", lambda one: one.finished, percent,
        "The share of the questions whose whole answer was in the prompt, or in what was fetched in addition.",
    ),
    Column(
        "in_answer", "Answer", "answer", "more", lambda one: one.in_answer, percent,
        "The share of an answer's key strings that were in the model's answer to that prompt; the mean over all "
        "questions that it answered.",
    ),
    Column(
        "scores.overall.mean", "Score", "score", "more", overall, points,
        "The judge's score of the answers, from 0 to 5: the mean of the dimensions, each of which is the weighted mean "
        "of its criteria; followed by the standard deviation between single grades.",
    ),
)  # fmt: skip
"""Columns about what a method keeps."""

COSTS = (
    Column(
        "ratio", "Ratio", "ratio", "more", lambda one: one.ratio, "{:.1f}".format,
        "Tokens of the whole conversation per token of a prompt; the mean over all questions.",
    ),
    Column(
        "context", "Prompt", "prompt", "less", lambda one: one.context, number,
        "Mean tokens of the prompt for a question.",
    ),
    Column(
        "task", "Tokens per finished task", "task", "less", lambda one: one.task, number,
        "Tokens of all prompts for questions and of everything fetched, divided by the number of finished questions.",
    ),
    Column(
        "reuse", "Prefix reuse", "reuse", "more", lambda one: one.reuse, percent,
        "The mean share of a prompt that the next prompt of the conversation starts with, so that a provider can serve "
        "it from its cache.",
    ),
    Column(
        "over", "Over budget", "over", "less", lambda one: one.over, number,
        "Prompts during the conversations that exceed the budget.",
    ),
    Column(
        "invalid", "Invalid", "invalid", "less", lambda one: one.invalid, number,
        "Prompts during the conversations that a provider would refuse, such as a tool result without its call.",
    ),
    Column(
        "calls", "Model calls", "calls", "less", lambda one: one.calls, number,
        "Calls of the model that writes summaries, over all conversations.",
    ),
    Column(
        "milliseconds", "Milliseconds", "ms", "less", lambda one: one.milliseconds, number,
        "The median time to store the messages since the last prompt and to make the next prompt.",
    ),
)  # fmt: skip
"""Columns about what a method costs."""


def measured(columns: Sequence[Column], report: Report) -> list[Column]:
    """The columns for which any method has a number."""
    return [column for column in columns if any(column.value(one) is not None for one in report.methods)]


def keeping(report: Report) -> list[Figures]:
    """The methods whose prompts all fit the budget and are valid for providers."""
    return [one for one in report.methods if not one.over and not one.invalid]


def best(column: Column, report: Report) -> set[str]:
    """The methods with the best number among those that keep the budget; empty if all have the same."""
    result = {one.method: value for one in keeping(report) if (value := column.value(one)) is not None}
    shown = {name: column.shown(value) for name, value in result.items()}
    if len(set(shown.values())) < 2:  # noqa: PLR2004 - nothing to choose between
        return set()
    choose = max if column.better == "more" else min
    top = choose(result, key=lambda name: result[name])
    return {name for name, text in shown.items() if text == shown[top]}


MARK = "*"
"""The mark after the best value of a column, so that it is visible without colours."""

_NAME_CELLS = 24
_LEFT_OUT = {"ratio": ("context",), "in_answer": ("finished",)}
"""Columns left out for the width if a more informative one is present."""


def table(report: Report) -> Table:
    """The most important figures, at most 100 cells wide; the best of each column is bold, followed by a star."""
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


PROBES = 300
"""How many questions the page lists; a phone opens it in a second."""

Cell: TypeAlias = tuple[float, str]
"""A number, and how it is shown."""


def html(report: Report) -> str:
    """The page as HTML.

    It has no scripts and loads nothing. Words of conversations and models are escaped; invisible characters and those
    that change the text direction are shown by their code points.

    Raises:
        MissingDependencyError: jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - optional
    except ImportError as error:
        raise MissingDependencyError("jinja2", extra="report") from error
    pages = Environment(
        loader=PackageLoader("hybrid_memory_evaluation", "reporting"),
        autoescape=True,
        finalize=finished,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters |= {"number": number, "percent": percent, "points": points, "overall": overall_score}
    kept, costs = measured(KEPT, report), measured(COSTS, report)
    page = pages.get_template("report.html.jinja").render(
        report=report,
        title=f"{counted(len(report.methods), 'method')} on {counted(len(report.transcripts), 'conversation')}",
        lead=_lead(report),
        kept=kept,
        costs=costs,
        best={column.name: best(column, report) for column in (*kept, *costs)},
        excluded=len(keeping(report)) < len(report.methods),
        breakdowns=_breakdowns(report),
        setting=_setting(report.setting),
        # The judge's questions for each dimension.
        dimensions=[
            (name.value, " ".join(criterion.question for criterion in CRITERIA if criterion.dimension is name))
            for name in report.dimensions
        ],
        cases=_cases(report, report.probes[:PROBES]),
        listed=PROBES,
    )
    return page.lstrip()


def _lead(report: Report) -> str:
    setting = report.setting
    at = datetime.fromisoformat(setting["at"])
    model = f"{setting['model']} wrote summaries and answers" if setting["model"] else "no model was used"
    judge = f", {setting['judge']} judged" if report.judging else ""
    return (
        f"{counted(len(report.probes), 'question')} about messages that no longer fit verbatim into a prompt of "
        f"{setting['max_tokens']:,} tokens; {model}{judge}. {at:%d %B %Y}, hybrid-agent-memory {setting['version']}."
    )


def _setting(setting: Mapping[str, Any]) -> list[tuple[str, str]]:
    lines = []
    for name, value in setting.items():
        text = f"{value:,}" if isinstance(value, int) else str(value)
        if isinstance(value, list):
            text = "; ".join(value)
        if value not in (None, []) and (name != "repeats" or setting.get("judge")):
            lines.append((name.replace("_", " "), text))
    return lines


def _cases(report: Report, chosen: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[tuple[Any, list[Outcome]]]]]:
    """The probes of each transcript with the outcome of each method."""
    outcomes: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in report.outcomes:
        outcomes.setdefault((outcome.transcript, outcome.probe), []).append(outcome)
    cases: dict[str, list[tuple[Any, list[Outcome]]]] = {}
    for probe in chosen:
        chat = probe["transcript"]
        cases.setdefault(chat, []).append((probe, outcomes.get((chat, probe["id"]), [])))
    return list(cases.items())


def _breakdowns(report: Report) -> list[dict[str, Any]]:
    """The judge's scores by dimension and by criterion, and survival by kind of question."""
    made = []
    if report.dimensions:
        for title, groups in (
            ("Scores by dimension", [dimension.value for dimension in report.dimensions]),
            ("Scores by criterion", [criterion.name for criterion in CRITERIA]),
        ):
            made.append(_breakdown(f"{title}, ± the deviation between grades", report, groups, _score))
    kinds = [kind.value for kind in ProbeKind]
    return [*made, _breakdown("Survival by kind of question", report, kinds, _survival)]


def _breakdown(
    title: str, report: Report, groups: Sequence[str], cell: Callable[[Figures, str], Cell | None]
) -> dict[str, Any]:
    """A table of the methods by group: the groups with a number for any method, and the cells of each method."""
    groups = [group for group in groups if any(cell(one, group) for one in report.methods)]
    cells = {one.method: [cell(one, group) for group in groups] for one in report.methods}
    return {"title": title, "groups": groups, "cells": cells}


def _score(one: Figures, group: str) -> Cell | None:
    if one.scores is None:
        return None
    means = {**{dimension.value: mean for dimension, mean in one.scores.dimensions.items()}, **one.scores.criteria}
    mean = means.get(group)
    return None if mean is None else (mean.mean, f"{points(mean.mean)} ± {points(mean.spread)}")


def _survival(one: Figures, group: str) -> Cell | None:
    share, number = one.by_kind.get(group, (0.0, 0))
    return (share, f"{percent(share)} of {number}") if number else None
