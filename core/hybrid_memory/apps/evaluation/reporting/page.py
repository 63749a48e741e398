"""The report as one page of HTML that asks nothing of a network."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from hybrid_memory.apps.evaluation.judging.rubric import BEST, CRITERIA, overall_score
from hybrid_memory.apps.evaluation.probing.probe import ProbeKind
from hybrid_memory.apps.evaluation.report import Figures, Outcome, Report
from hybrid_memory.apps.evaluation.reporting import columns
from hybrid_memory.apps.evaluation.reporting.findings import findings
from hybrid_memory.errors import MissingDependencyError

if TYPE_CHECKING:
    from markupsafe import Markup

PROBES = 300
"""The page shows that many questions one by one; a telephone opens it in a second."""

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_JOINERS = "\n\t\u200c\u200d\ufe0f"

Cell = Callable[[Figures, str], tuple[float, str] | None]


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot, and what it shows as numbers: for each method and group a value and that value for a reader."""

    title: str
    caption: str
    svg: str
    groups: Sequence[str] = ()
    cell: Cell | None = None


def html(report: Report) -> str:
    """The page, as text.

    It has no script, and loads nothing. Whatever a conversation or a model said stands in it as text; characters that
    would hide in it or turn its direction are shown by their number.

    Raises:
        MissingDependencyError: jinja2 or matplotlib is not installed.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - optional
    except ImportError as error:
        raise MissingDependencyError("jinja2", extra="report") from error
    pages = Environment(
        loader=PackageLoader("hybrid_memory.apps.evaluation", "reporting"),
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
    """The text, escaped; a character that is not seen, or that turns the direction of others, as its number."""
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
    model = f"{setting['model']} wrote summaries and answers" if setting["model"] else "no model was asked"
    judge = f", {setting['judge']} judged" if report.judging else ""
    return (
        f"{_many(len(report.probes), 'question')} about what a prompt of {setting['max_tokens']:,} tokens no longer "
        f"shows word by word; {model}{judge}. {at:%d %B %Y}, hybrid-agent-memory {setting['version']}."
    )


def _setting(setting: Mapping[str, Any]) -> list[tuple[str, str]]:
    words = {
        "max_tokens": "Budget of a prompt, tokens",
        "model": "Model",
        "judge": "Judge",
        "embedder": "Embedder",
        "repeats": "Grades for each answer",
        "seed": "Seed",
        "left_out": "Left out",
        "prices": "Prices for a million tokens",
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
    """What the judge was asked for each dimension."""
    asked = {
        dimension: [criterion.question for criterion in CRITERIA if criterion.dimension is dimension]
        for dimension in report.dimensions
    }
    return [(name.value, " ".join(questions)) for name, questions in asked.items()]


def _cases(report: Report, chosen: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[tuple[Any, list[Outcome]]]]]:
    """The probes of each transcript with what each method made of them."""
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
        from hybrid_memory.apps.evaluation.reporting import plots  # noqa: PLC0415 - matplotlib is optional
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
        f"From 0 to {BEST}; the line is one standard deviation between grades to either side.",
        plots.panels(shown, names, BEST, "The judge's scores of each method for each dimension."),
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
        "Higher is better, and so is further right, where the scale is logarithmic.",
        plots.scatter(
            dots, names, ("tokens of the conversation for one of a prompt", what),
            f"The ratio of compression of each method against its {word}.",
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
        "In percent: of answers that were given so many messages ago, what stood in the prompt. Each method beside all "
        "others, which are grey.",
        plots.lines(values, counts, names, "Survival of each method by the age of the answer."),
        ages,
        cell,
    )


def _from(age: str) -> str:
    """The lower end of a group, for which there is room."""
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
        "In percent; behind each kind how many questions of it there are.",
        plots.panels(shown, names, 1, "Survival of each method for each kind of question."),
        kinds,
        cell,
    )


def _longest_first(report: Report) -> list[Figures]:
    """So that groups of ages come in their order, whichever a method lacks."""
    return sorted(report.methods, key=lambda one: -len(one.by_age))


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
