"""The command: its verbs, its version, and its error messages."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hybrid_memory import __version__
from hybrid_memory.apps.cli.changing import forget, remember
from hybrid_memory.apps.cli.chatting import chat
from hybrid_memory.apps.cli.demo import demo
from hybrid_memory.apps.cli.knowledge import facts, profile
from hybrid_memory.apps.cli.maintenance import check, migrate, rebuild, stats
from hybrid_memory.apps.cli.recalling import history, search, why
from hybrid_memory.apps.cli.serving import mcp
from hybrid_memory.apps.cli.transfer import export, import_chats
from hybrid_memory.errors import HybridMemoryError, InvalidInputError, MissingDependencyError
from hybrid_memory.sockets import registered

NAME = "hybrid-memory"
BAD_INPUT = 2
FAILED = 1


class Verbs(TyperGroup):
    """Verbs of one word or of two: those of this package, and those that packages register as entry points.

    An entry point is a `typer.Typer`; it is loaded when the group is made, since its module may import this one.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for entry in registered("command").values():
            try:
                others = typer.main.get_group(entry.load())
            except ImportError as error:
                _report(f"the commands of {entry.value} cannot be imported: {error}")
                continue
            self.commands.update(others.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The longest verb at the beginning of the arguments, and the rest."""
        two = " ".join(args[:2])
        if two in self.commands:
            return two, self.commands[two], args[2:]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name=NAME,
    cls=Verbs,
    help="Long-term memory for LLM agents: fill a store, search it, and see why it answers as it does.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

PANELS: dict[str, dict[str, Callable[..., None]]] = {
    "Start": {"demo": demo, "chat": chat, "import": import_chats, "remember": remember},
    "Look": {
        "search": search,
        "why": why,
        "history": history,
        "facts": facts,
        "profile": profile,
    },
    "Maintain": {
        "stats": stats,
        "check": check,
        "forget": forget,
        "export": export,
        "migrate": migrate,
        "rebuild": rebuild,
    },
    "Serve": {"mcp": mcp},
}
"""The verbs as the help shows them."""

for _panel, _verbs in PANELS.items():
    for _name, _verb in _verbs.items():
        app.command(_name, no_args_is_help=_verb is not demo, rich_help_panel=_panel)(_verb)


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
    """Run the command and exit.

    Args:
        arguments: the arguments; by default those of the process.

    Raises:
        SystemExit: always; 0 on success, 1 on failure, 2 for invalid input.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what the encoding of a terminal lacks is no failure
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: _report(message)
        try:
            app(args=None if arguments is None else list(arguments), prog_name=NAME)
        except (HybridMemoryError, OSError) as error:  # a file that cannot be read or written, or cannot be
            _report(error)
            callers = isinstance(error, (InvalidInputError, MissingDependencyError))
            raise SystemExit(BAD_INPUT if callers else FAILED) from None


def _report(problem: object) -> None:
    """Print a message on one line without control characters, since it may quote a file."""
    text = " ".join(str(problem).split())
    typer.echo(f"{NAME}: {''.join(char if char.isprintable() else '?' for char in text)}", err=True)
