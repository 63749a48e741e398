"""The report as one HTML page that loads nothing from a network."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from hybrid_memory.errors import MissingDependencyError
from hybrid_memory_evaluation.judging.rubric import CRITERIA, overall_score
from hybrid_memory_evaluation.probing.probe import ProbeKind
from hybrid_memory_evaluation.report import Figures, Outcome, Report
from hybrid_memory_evaluation.reporting import columns

if TYPE_CHECKING:
    from markupsafe import Markup

PROBES = 300
"""How many questions the page lists; a phone opens it in a second."""

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_JOINERS = "\n\t\u200c\u200d\ufe0f"

Cell: TypeAlias = tuple[float, str]
"""A number, and how it is shown."""


class Breakdown(NamedTuple):
    """A table of the methods by group."""

    title: str
    groups: list[str]
    cells: dict[str, list[Cell | None]]


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
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters |= {
        "visible": visible,
        "number": columns.number,
        "percent": columns.percent,
        "points": columns.points,
        "overall": overall_score,
    }
    kept, costs = columns.measured(columns.KEPT, report), columns.measured(columns.COSTS, report)
    chosen = report.probes[:PROBES]
    page = pages.get_template("report.html.jinja").render(
        report=report,
        title=f"{_many(len(report.methods), 'method')} on {_many(len(report.transcripts), 'conversation')}",
        lead=_lead(report),
        kept=kept,
        costs=costs,
        best={column.name: columns.best(column, report) for column in (*kept, *costs)},
        excluded=len(columns.keeping(report)) < len(report.methods),
        breakdowns=_breakdowns(report),
        setting=_setting(report.setting),
        dimensions=_meanings(report),
        cases=_cases(report, chosen),
        shown_probes=len(chosen),
        left_out=len(chosen) < len(report.probes),
    )
    return page.lstrip()


def visible(text: str) -> Markup:
    """The escaped text; invisible characters and those that change the text direction appear as code points."""
    from markupsafe import Markup, escape  # noqa: PLC0415 - comes with jinja2

    parts = []
    for hidden, several in groupby(
        str(text), lambda char: char not in _JOINERS and unicodedata.category(char) in _HIDDEN
    ):
        if hidden:
            parts += [f'<span class="control">U+{ord(char):04X}</span>' for char in several]
        else:
            parts.append(str(escape("".join(several))))
    return Markup("".join(parts))  # noqa: S704 - every part was escaped


def _lead(report: Report) -> str:
    setting = report.setting
    at = datetime.fromisoformat(setting["at"])
    model = f"{setting['model']} wrote summaries and answers" if setting["model"] else "no model was used"
    judge = f", {setting['judge']} judged" if report.judging else ""
    return (
        f"{_many(len(report.probes), 'question')} about messages that no longer fit verbatim into a prompt of "
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


def _meanings(report: Report) -> list[tuple[str, str]]:
    """The judge's questions for each dimension."""
    asked = {
        dimension: [criterion.question for criterion in CRITERIA if criterion.dimension is dimension]
        for dimension in report.dimensions
    }
    return [(name.value, " ".join(questions)) for name, questions in asked.items()]


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


def _breakdowns(report: Report) -> list[Breakdown]:
    """The judge's scores by dimension and by criterion, and survival by kind of question."""
    made = []
    if report.dimensions:
        for title, groups in (
            ("Scores by dimension", [dimension.value for dimension in report.dimensions]),
            ("Scores by criterion", [criterion.name for criterion in CRITERIA]),
        ):
            made.append(Breakdown(f"{title}, ± the deviation between grades", *_filled(report, groups, _score)))
    kinds = [kind.value for kind in ProbeKind]
    made.append(Breakdown("Survival by kind of question", *_filled(report, kinds, _survival)))
    return made


def _filled(
    report: Report, groups: Sequence[str], cell: Callable[[Figures, str], Cell | None]
) -> tuple[list[str], dict[str, list[Cell | None]]]:
    """The groups with a number for any method, and the cells of each method."""
    groups = [group for group in groups if any(cell(one, group) for one in report.methods)]
    return groups, {one.method: [cell(one, group) for group in groups] for one in report.methods}


def _score(one: Figures, group: str) -> Cell | None:
    if one.scores is None:
        return None
    means = {**{dimension.value: mean for dimension, mean in one.scores.dimensions.items()}, **one.scores.criteria}
    mean = means.get(group)
    return None if mean is None else (mean.mean, f"{columns.points(mean.mean)} ± {columns.points(mean.spread)}")


def _survival(one: Figures, group: str) -> Cell | None:
    share, number = one.by_kind.get(group, (0.0, 0))
    return (share, f"{columns.percent(share)} of {number}") if number else None


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
