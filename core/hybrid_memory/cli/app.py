"""The command: its verbs, its version, and how errors are told."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from hybrid_memory import __version__
from hybrid_memory.cli.evaluating import evaluate
from hybrid_memory.errors import HybridMemoryError, InvalidInputError, MissingDependencyError

NAME = "hybrid-memory"
BAD_INPUT = 2
FAILED = 1

app = typer.Typer(
    name=NAME,
    help="Three-tier memory for LLM agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("eval", no_args_is_help=True)(evaluate)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{NAME} {__version__}")
        raise typer.Exit


@app.callback()
def _command(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command, and exit.

    Args:
        arguments: by default those of the process.

    Raises:
        SystemExit: always; 0 when all was done, 1 when something failed, 2 when the input was wrong.
    """
    with warnings.catch_warnings():
        warnings.showwarning = _warned
        try:
            app(args=None if arguments is None else list(arguments), prog_name=NAME)
        except HybridMemoryError as error:
            _say(error)
            callers = isinstance(error, (InvalidInputError, MissingDependencyError))
            raise SystemExit(BAD_INPUT if callers else FAILED) from None


def _warned(message: Warning | str, *_: Any, **__: Any) -> None:
    _say(message)


def _say(problem: object) -> None:
    """On one line, without what a terminal would act on: it may repeat words of a file."""
    text = " ".join(str(problem).split())
    typer.echo(f"{NAME}: {''.join(char if char.isprintable() else '?' for char in text)}", err=True)
