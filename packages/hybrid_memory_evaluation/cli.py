"""``hybrid-memory eval``: methods compared on conversations from files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_memory.apps.cli.printing import agreed
from hybrid_memory.apps.cli.stores import AUTO, NAMED, embedder_name
from hybrid_memory.apps.cli.transfer import read_transcripts
from hybrid_memory.display import counted
from hybrid_memory.errors import MissingDependencyError

if TYPE_CHECKING:
    from hybrid_memory_evaluation import Evaluation, Report

app = typer.Typer(rich_markup_mode="markdown")
"""Registered under the entry point group ``hybrid_memory.commands``."""

MODELS, OUTPUT = "Models", "Output"
"""Panels of the help."""


def _list_methods(value: bool) -> None:
    if not value:
        return
    from hybrid_memory_evaluation import METHODS, found_methods  # noqa: PLC0415

    for name in found_methods():
        typer.echo(f"{name} (by default)" if name in METHODS else name)
    raise typer.Exit


Transcripts = Annotated[
    list[Path], typer.Argument(help="Files or folders: JSON or JSONL of chats.", show_default=False, metavar="FILE...")
]
Methods = Annotated[
    list[str] | None,
    typer.Option("--method", "-m", help="A method to compare; may be repeated.", metavar="NAME"),
]
Listed = Annotated[
    bool, typer.Option("--list-methods", callback=_list_methods, is_eager=True, help="Show all methods, and exit.")
]
MaxTokens = Annotated[int, typer.Option(min=100, help="Most tokens of every prompt.")]
Form = Annotated[
    str, typer.Option(help="Format of the files, such as openai or chatgpt; auto detects it.", metavar="NAME")
]
Embedder = Annotated[
    str,
    typer.Option(parser=embedder_name, metavar=NAMED, help="What makes vectors for recall; auto is the local one."),
]
Model = Annotated[
    str | None,
    typer.Option(help="Writes summaries and answers: provider:model, as LangChain names them.", rich_help_panel=MODELS),
]
Judge = Annotated[
    str | None, typer.Option(help="Grades the answers; by default the model itself.", rich_help_panel=MODELS)
]
Repeats = Annotated[int, typer.Option(min=1, help="How often each answer is graded.", rich_help_panel=MODELS)]
Out = Annotated[
    Path,
    typer.Option(help="Folder for the report; use the same one to continue.", rich_help_panel=OUTPUT),
]
Json = Annotated[bool, typer.Option("--json", help="Print the report as JSON.", rich_help_panel=OUTPUT)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Call models without confirmation.", rich_help_panel=OUTPUT)]


@app.command("eval", no_args_is_help=True, rich_help_panel="Measure")
def evaluate(
    transcripts: Transcripts,
    *,
    method: Methods = None,
    max_tokens: MaxTokens = 2000,
    form: Form = "auto",
    embedder: Embedder = AUTO,
    model: Model = None,
    judge: Judge = None,
    repeats: Repeats = 2,
    out: Out = Path("hybrid-memory-eval"),
    as_json: Json = False,
    yes: Yes = False,
    list_methods: Listed = False,  # noqa: ARG001 - its callback acts
) -> None:
    """Compare ways to keep long conversations within a budget, on your own chats.

    Without a model it measures what survives literally. With one, the model answers questions about what was
    compressed, and a judge grades the answers without knowing the method.

    Example: hybrid-memory eval chats/ --max-tokens 4000 --method anchored --method sliding-window
    """
    from hybrid_memory.models.named import embedder_of, language_model_of  # noqa: PLC0415
    from hybrid_memory_evaluation import METHODS, Evaluation  # noqa: PLC0415

    vectors: Any = None if embedder == AUTO else embedder
    if embedder == "hashing" or ":" in embedder:
        vectors = embedder_of(embedder)
    evaluation = Evaluation(
        read_transcripts(transcripts, form),
        method or METHODS,
        max_tokens=max_tokens,
        model=language_model_of(model),
        judge=language_model_of(judge),
        embedder=vectors,
        repeats=repeats,
        folder=out,
    )
    _announce(evaluation, out, asks=model is not None, yes=yes)
    try:
        report = evaluation.run()
    except KeyboardInterrupt:
        typer.echo(f"interrupted: run the same command to go on from {out}", err=True)
        raise typer.Exit(130) from None
    _show_report(report, out, as_json=as_json)
    if report.failures:
        raise typer.Exit(1)


def _announce(evaluation: Evaluation, out: Path, *, asks: bool, yes: bool) -> None:
    """Show the estimate; if models would be called, continue only after confirmation."""
    from hybrid_memory_evaluation.reporting import printable  # noqa: PLC0415

    journal = out / "journal.jsonl"
    done = sum(1 for line in journal.read_bytes().splitlines() if line) if journal.exists() else 0
    if done:
        typer.echo(f"{out} has {counted(done, 'result')} from before, which are not made again", err=True)
    for reason in evaluation.left_out:
        typer.echo(f"left out: {printable(reason)}", err=True)
    typer.echo(f"{evaluation!r}"[1:-1] + f": {evaluation.estimate()}", err=True)
    refusal = "a model would be called, and there is no terminal to confirm it: give --yes"
    if asks and not agreed("Continue?", refusal, yes=yes):
        raise typer.Exit(0)


def _show_report(report: Report, out: Path, *, as_json: bool) -> None:
    """Write the report and show it."""
    from rich.console import Console  # noqa: PLC0415

    from hybrid_memory_evaluation.reporting import html, printable, table  # noqa: PLC0415

    report.save(out / "report.json")
    written = ["report.json"]
    try:
        (out / "report.html").write_text(html(report), encoding="utf-8")
        written.append("report.html")
    except MissingDependencyError as error:
        typer.echo(f"no report.html: {error}", err=True)
    for failure in report.failures:
        typer.echo(f"failed: {printable(failure)}", err=True)
    if report.failures:
        typer.echo("run the same command to try again what failed", err=True)
    if as_json:
        typer.echo((out / "report.json").read_text(encoding="utf-8"), nl=False)
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=100)
    console.print(table(report))
    typer.echo("* the best of those that never break the budget or a provider's rules")
    typer.echo(f"written to {out}: {', '.join(written)}")
