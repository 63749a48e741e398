"""The command: its verbs, among them ``mcp``, which serves a memory to agents; its version, and its error messages."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from hybrid_memory import __version__
from hybrid_memory.apps.cli.knowledge import profile
from hybrid_memory.apps.cli.maintenance import check, migrate, rebuild, stats, worker
from hybrid_memory.apps.cli.stores import AgentName, StoreName, TenantName, open_store, owner_name
from hybrid_memory.apps.cli.transfer import export, import_chats
from hybrid_memory.apps.cli.turns import forget, history, remember, search, why
from hybrid_memory.errors import HybridMemoryError, InvalidInputError, MissingDependencyError
from hybrid_memory.sockets import registered

if TYPE_CHECKING:
    from hybrid_memory import HybridMemory

NAME = "hybrid-memory"
BAD_INPUT = 2
FAILED = 1
INTERRUPTED = 130

INSTEAD = {  # what does the work of verbs that are gone, and of those that Python and other memories have
    "add": "remember",
    "assemble": "inspect, which shows what a prompt would hold",
    "chat": "mcp, which serves a memory to a chat program",
    "compact": "inspect, which shows summaries; compaction is configured, or called in Python",
    "delete": "forget",
    "demo": "make demo in the repository, or remember, which makes a store",
    "doctor": "check",
    "facts": "profile --about anyone, or profile --review",
    "list": "history",
    "recall": "search",
    "sessions": "history",
    "summary": "inspect, which shows summaries",
}


class Verbs(TyperGroup):
    """The verbs of this package, and those that packages register as entry points.

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
        """As Typer does; a name that people may try leads to the verb that does it."""
        if args[0] in INSTEAD and args[0] not in self.commands:
            ctx.fail(f"No such command {args[0]!r}: use {INSTEAD[args[0]]}.")
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

TOKEN = "HYBRID_MEMORY_MCP_TOKEN"  # noqa: S105 - the name of a variable
"""The environment variable with the token that clients must show over HTTP: on the command line others would see it."""

http_option = partial(typer.Option, rich_help_panel="HTTP")

User = Annotated[str | None, owner_name("--user", "-u", help="The user.")]
Spaces = Annotated[
    list[str] | None, typer.Option("--space", metavar="NAME", help="A shared space to open; may be repeated.")
]
Port = Annotated[
    int | None, http_option("--http", min=0, max=65535, metavar="PORT", help="Use HTTP, not stdio; 0: any port.")
]
Host = Annotated[str, http_option(metavar="ADDRESS", help="Address to listen on, if other machines connect.")]
Allowed = Annotated[
    list[str] | None,
    http_option("--allow-host", metavar="NAME", help="A name that clients reach it by, such as a proxy's."),
]


def mcp(
    store: StoreName,
    *,
    tenant: TenantName = None,
    user: User = None,
    agent: AgentName = None,
    space: Spaces = None,
    http: Port = None,
    host: Host = "127.0.0.1",
    allow_host: Allowed = None,
) -> None:
    """Serve one owner's memory to the hosts of the Model Context Protocol, such as Claude.

    The options fix the owner: no client can choose another. Creates a missing store. Over HTTP, clients send a bearer
    token: that in HYBRID_MEMORY_MCP_TOKEN, or one that is generated and printed.

    Example: hybrid-memory mcp memory.db --user alice
    """
    from hybrid_memory.apps.mcp import serve_http, server  # noqa: PLC0415

    # Here, as those of Python name its arguments, and before a store is made.
    if tenant is None and user is None and agent is None:
        raise InvalidInputError("no owner given: add --user NAME, --agent NAME or --tenant NAME")
    if space and user is None and agent is None:
        raise InvalidInputError("spaces need a user or an agent: add --user NAME or --agent NAME")
    spaces, given = tuple(space or ()), os.environ.get(TOKEN) or None

    def print_address(url: str, token: str) -> None:
        if given is None:
            typer.echo(f"clients must send this header: Authorization: Bearer {token}", err=True)
        typer.echo(f"serving {url}; stop with Ctrl-C", err=True)

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a host that stops it lets it close the store
    try:
        with open_store(store, create=True) as memory:
            owner = memory.scoped(tenant=tenant, user=user, agent=agent)
            if http is None:
                if sys.stdin.isatty():
                    typer.echo("waiting for an MCP host, which starts this command itself; stop with Ctrl-C", err=True)
                _close_at_signals(memory)
                server(owner, spaces=spaces).run("stdio")
            else:
                where: dict[str, Any] = {"port": http, "host": host, "hosts": allow_host or ()}
                serve_http(owner, spaces=spaces, **where, token=given, ready=print_address)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def _close_at_signals(memory: HybridMemory) -> None:
    """Let a signal close the store and end the process, though the SDK waits for stdin in a thread that none wakes."""

    def close() -> None:
        try:
            memory.close()
        finally:
            os._exit(INTERRUPTED)

    for number in (signal.SIGINT, signal.SIGTERM):
        # In a thread, as what the signal interrupts may hold a lock of the store.
        signal.signal(number, lambda *_: threading.Thread(target=close).start())


PANELS: dict[str, dict[str, Callable[..., None]]] = {  # the verbs as the help shows them
    "Start": {"import": import_chats, "remember": remember},
    "Look": {"search": search, "why": why, "history": history, "profile": profile},
    "Maintain": {
        "stats": stats,
        "check": check,
        "forget": forget,
        "export": export,
        "migrate": migrate,
        "rebuild": rebuild,
    },
    "Serve": {"mcp": mcp, "worker": worker},
}

for _panel, _verbs in PANELS.items():
    for _name, _verb in _verbs.items():
        app.command(_name, no_args_is_help=True, rich_help_panel=_panel)(_verb)


def _version(value: bool) -> None:
    if value:
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
    """Run the command with these arguments, by default those of the process, and exit.

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
