"""The report as one HTML page that loads nothing from a network."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from hybrid_memory.errors import MissingDependencyError
from hybrid_memory_evaluation.judging.rubric import BEST, CRITERIA, overall_score
from hybrid_memory_evaluation.probing.probe import ProbeKind
from hybrid_memory_evaluation.report import Figures, Outcome, Report
from hybrid_memory_evaluation.reporting import columns
from hybrid_memory_evaluation.reporting.findings import findings

if TYPE_CHECKING:
    from markupsafe import Markup

PROBES = 300
"""How many questions the page lists; a phone opens it in a second."""

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_JOINERS = "\n\t\u200c\u200d\ufe0f"

Cell = Callable[[Figures, str], tuple[float, str] | None]


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot and its numbers: for each method and group the value and its text."""

    title: str
    caption: str
    svg: str
    groups: Sequence[str] = ()
    cell: Cell | None = None


def html(report: Report) -> str:
    """The page as HTML.

    It has no scripts and loads nothing. Words of conversations and models are escaped; invisible characters and those
    that change the text direction are shown by their code points.

    Raises:
        MissingDependencyError: jinja2 or matplotlib is not installed.
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
        findings=[sentence.replace(" %", "\N{NO-BREAK SPACE}%") for sentence in findings(report)],
        kept=kept,
        costs=costs,
        best={column.name: columns.best(column, report) for column in (*kept, *costs)},
        excluded=len(columns.keeping(report)) < len(report.methods),
        plots=_plots(report),
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
    words = {
        "max_tokens": "Prompt budget, tokens",
        "model": "Model",
        "judge": "Judge",
        "embedder": "Embedder",
        "repeats": "Grades per answer",
        "seed": "Seed",
        "left_out": "Left out",
        "prices": "Prices per million tokens",
        "version": "Version",
        "python": "Python",
        "at": "Time",
    }
    lines = []
    for name, value in setting.items():
        text = f"{value:,}" if isinstance(value, int) else str(value)
        if isinstance(value, Mapping):
            text = ", ".join(f"{part} {price}" for part, price in value.items() if price is not None)
        if isinstance(value, list):
            text = "; ".join(value)
        if value not in (None, []) and (name != "repeats" or setting.get("judge")):
            lines.append((words.get(name, name), text))
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


def _plots(report: Report) -> list[Plot]:
    try:
        from hybrid_memory_evaluation.reporting import plots  # noqa: PLC0415 - matplotlib is optional
    except ImportError as error:
        raise MissingDependencyError("matplotlib", extra="report") from error
    if not report.methods:
        return []
    names = [one.method for one in report.methods]
    made = [_judged(report, names, plots)] if report.dimensions else []
    made.append(_ratios(report, names, plots))
    ages = list({age: None for one in _longest_first(report) for age in one.by_age})
    if len(ages) > 1:
        made.append(_aged(report, names, ages, plots))
    kinds = [kind.value for kind in ProbeKind if any(kind in one.by_kind for one in report.methods)]
    made.append(_kinds(report, names, kinds, plots))
    return made


def _judged(report: Report, names: Sequence[str], plots: Any) -> Plot:
    scores = {one.method: one.scores for one in report.methods if one.scores}

    def cell(one: Figures, group: str) -> tuple[float, str] | None:
        if one.scores is None:
            return None
        estimates = {**{name.value: of for name, of in one.scores.dimensions.items()}, **one.scores.criteria}
        result = estimates.get(group)
        return (
            None
            if result is None
            else (result.mean, f"{columns.points(result.mean)} ± {columns.points(result.spread)}")
        )

    shown = [
        plots.Panel(
            dimension.value,
            {
                name: (of.dimensions[dimension].mean, of.dimensions[dimension].spread)
                for name, of in scores.items()
                if dimension in of.dimensions
            },
        )
        for dimension in report.dimensions
    ]
    criteria = [one.name for one in CRITERIA if any(one.name in of.criteria for of in scores.values())]
    return Plot(
        "Scores by dimension",
        f"From 0 to {BEST}; lines show one standard deviation between grades in both directions.",
        plots.panels(shown, names, BEST, "The judge's scores by method and dimension."),
        [*(dimension.value for dimension in report.dimensions), *criteria],
        cell,
    )


def _ratios(report: Report, names: Sequence[str], plots: Any) -> Plot:
    judged = any(columns.overall(one) is not None for one in report.methods)
    value = columns.overall if judged else _survival
    dots = {one.method: (one.ratio, result) for one in report.methods if (result := value(one)) is not None}
    what = "score" if judged else "survival, %"
    word = what.partition(",")[0]
    return Plot(
        f"Compression against {word}",
        "Higher is better, and further right is better; the horizontal scale is logarithmic.",
        plots.scatter(
            dots, names, ("conversation tokens per prompt token", what),
            f"The compression ratio of each method against its {word}.",
        ),
    )  # fmt: skip


def _survival(one: Figures) -> float | None:
    return one.survival


def _aged(report: Report, names: Sequence[str], ages: Sequence[str], plots: Any) -> Plot:
    values = {one.method: {_from(age): share for age, (share, _) in one.by_age.items()} for one in report.methods}
    counts = {_from(age): max(one.by_age[age][1] for one in report.methods if age in one.by_age) for age in ages}

    def cell(one: Figures, group: str) -> tuple[float, str] | None:
        result = one.by_age.get(group)
        return None if result is None else (result[0], f"{columns.percent(result[0])} of {result[1]}")

    return Plot(
        "Survival by age",
        "In percent: how much of the answers given this many messages ago was in the prompt. The other methods are "
        "shown in grey.",
        plots.lines(values, counts, names, "Survival by method and age of the answer."),
        ages,
        cell,
    )


def _from(age: str) -> str:
    """The lower end of a group, which is short enough for the axis."""
    return age if age.endswith("+") else age.partition("-")[0]


def _kinds(report: Report, names: Sequence[str], kinds: Sequence[str], plots: Any) -> Plot:
    def cell(one: Figures, group: str) -> tuple[float, str] | None:
        result = one.by_kind.get(group)
        return None if result is None else (result[0], f"{columns.percent(result[0])} of {result[1]}")

    shown = [
        plots.Panel(
            f"{kind} · {max(one.by_kind[kind][1] for one in report.methods if kind in one.by_kind)}",
            {one.method: (one.by_kind[kind][0], 0.0) for one in report.methods if kind in one.by_kind},
        )
        for kind in kinds
    ]
    return Plot(
        "Survival by kind of question",
        "In percent, with the number of questions of each kind.",
        plots.panels(shown, names, 1, "Survival by method and kind of question."),
        kinds,
        cell,
    )


def _longest_first(report: Report) -> list[Figures]:
    """The longest group list first, so that age groups stay in order even if a method lacks some."""
    return sorted(report.methods, key=lambda one: -len(one.by_age))


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
