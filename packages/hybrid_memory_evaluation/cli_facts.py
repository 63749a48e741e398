"""``hybrid-memory eval facts``: what is learned from labelled sentences, compared with their labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_memory.apps.cli.chatting import chat_model
from hybrid_memory.apps.cli.printing import agreed, print_json, show, show_rows
from hybrid_memory.apps.cli.stores import NAMED, EmbedderName
from hybrid_memory.display import counted, progress_bar
from hybrid_memory_evaluation.cli import MODELS, OUTPUT, app, embedder_named

if TYPE_CHECKING:
    from hybrid_memory.analysis import Example
    from hybrid_memory_evaluation.learning import Dialogue, Report, Share

READERS = ("statements",)

Lines = Annotated[
    list[Path] | None,
    typer.Option("--file", "-f", help="Labelled sentences, or a folder of *.tsv; by default those of the package."),
]
Dialogues = Annotated[
    list[Path] | None,
    typer.Option("--dialogues", "-d", help="Labelled dialogues, JSONL; by default those of the package."),
]
Readers = Annotated[
    list[str] | None,
    typer.Option(
        "--reader", "-r", metavar="NAME", help="An extractor of facts; may be repeated. By default statements."
    ),
]
Embedder = Annotated[
    EmbedderName,
    typer.Option(parser=EmbedderName.parsed, metavar=NAMED, help="The embedder for sentences; auto is the local one."),
]
Model = Annotated[
    str | None,
    typer.Option(help="A model that reads too: provider:model, as LangChain names them.", rich_help_panel=MODELS),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(help="An OpenAI-compatible endpoint for the model.", rich_help_panel=MODELS, metavar="URL"),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print JSON, with every sentence and its facts.", rich_help_panel=OUTPUT)
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Call the model without confirmation.", rich_help_panel=OUTPUT)]


@app.command("eval facts", rich_help_panel="Measure")
def evaluate_facts(
    *,
    file: Lines = None,
    dialogues: Dialogues = None,
    reader: Readers = None,
    embedder: Embedder = EmbedderName.AUTO,
    model: Model = None,
    base_url: BaseUrl = None,
    as_json: Json = False,
    yes: Yes = False,
) -> None:
    """Measure how well facts are learned, with and without your model, from labelled sentences and dialogues.

    Each sentence is a turn of a separate user. The tables show how many labelled claims are known afterwards, how much
    of what is known is right, how many traps (questions, quotes, fiction) were taken for facts, and how reliable
    confidence is; for dialogues, how many end right, and how many with something false.

    Example: hybrid-memory eval facts --model openai:gpt-4.1-mini
    """
    from hybrid_memory_evaluation.learning import SAMPLES, Learner, read_dialogues, read_lines  # noqa: PLC0415

    given = file or dialogues
    examples = read_lines(file or [SAMPLES]) if file or not given else []
    talks = read_dialogues(dialogues or [SAMPLES]) if dialogues or not given else []
    asked = chat_model(model, base_url=base_url)
    readers: list[tuple[str, Any]] = [(name, None) for name in dict.fromkeys(reader or READERS)]
    if asked is not None:
        readers.append((readers[0][0], asked))
    _announce(examples, talks, asks=asked is not None, yes=yes)
    reports = []
    for name, reading in readers:
        with (
            Learner(name, embedder=embedder_named(embedder), model=reading) as learner,
            progress_bar(learner.name, shown=None, unit="line") as advance,
        ):
            reports.append(learner.report(examples, talks, advance))
    if as_json:
        print_json(reports)
    else:
        _show(reports)
    if any(report.failures for report in reports):
        raise typer.Exit(1)


def _announce(examples: Sequence[Example], dialogues: Sequence[Dialogue], *, asks: bool, yes: bool) -> None:
    """Show how much there is to read; if a model would be called, continue only after confirmation."""
    typer.echo(f"{counted(len(examples), 'sentence')}, {counted(len(dialogues), 'dialogue')}", err=True)
    calls = len(examples) + len(dialogues)
    refusal = "a model would be called, and there is no terminal to confirm it: give --yes"
    if asks and not agreed(f"Ask the model about {calls} times?", refusal, yes=yes):
        raise typer.Exit(0)


def _show(reports: Sequence[Report]) -> None:
    _show_figures(reports)
    _show_kinds(reports)
    _show_calibration(reports)
    _show_dialogues(reports)
    for report in reports:
        for failure in report.failures[:1]:
            show(f"{report.reader}: the model failed {len(report.failures)} times: {failure}", err=True)


def _show_figures(reports: Sequence[Report]) -> None:
    heads = ("reader", "", "lines", "claims found", "right attribute", "facts right", "traps claimed")
    rows = [
        (
            report.reader,
            one.language or "all",
            f"{one.lines}",
            *map(_share, (one.recall, one.placed, one.precision, one.traps)),
        )
        for report in reports
        for one in report.figures
    ]
    if rows:
        show_rows(rows, heads=heads, right=(2,))


def _show_kinds(reports: Sequence[Report]) -> None:
    kinds = [report.figures[0].kinds for report in reports if report.figures]
    rows = [(name, *(f"{of[name].count} of {of[name].total}" for of in kinds)) for name in (kinds[0] if kinds else ())]
    if rows:
        typer.echo("\nTraps claimed, by kind.")
        show_rows(rows, heads=("", *(report.reader for report in reports)))


def _show_calibration(reports: Sequence[Report]) -> None:
    tenths = [{one.low: f"{one.right} of {one.facts}" for one in report.calibration} for report in reports]
    rows = [(f"{low:.1f} to {low + 0.1:.1f}", *(of.get(low, "") for of in tenths)) for low in sorted({*chain(*tenths)})]
    if rows:
        typer.echo("\nFacts right, by confidence.")
        show_rows(rows, heads=("", *(report.reader for report in reports)))


def _show_dialogues(reports: Sequence[Report]) -> None:
    rows = [
        (ends[0].language, ends[0].kind, f"{ends[0].dialogues}", *(f"{end.right}, {end.false}" for end in ends))
        for ends in zip(*(report.dialogues for report in reports), strict=True)
    ]
    if rows:
        typer.echo("\nDialogues: how many end right, and how many with something false.")
        show_rows(rows, heads=("", "", "in all", *(report.reader for report in reports)), right=(2,))


def _share(share: Share) -> str:
    """Like ``80 % (75 to 85)``."""
    value = share.value
    return "-" if value is None else f"{value:.0%} ({100 * share.low:.0f} to {100 * share.high:.0f})".replace("%", " %")
