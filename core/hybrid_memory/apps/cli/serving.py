"""``hybrid-memory mcp``: serve a memory to agents."""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated

import typer

from hybrid_memory.apps.cli.stores import (
    OWNER,
    AgentName,
    SessionName,
    StoreName,
    TenantName,
    open_store,
)
from hybrid_memory.errors import InvalidInputError

TOKEN = "HYBRID_MEMORY_MCP_TOKEN"  # noqa: S105 - the name of a variable
"""The environment variable with the token that clients must show over HTTP: on the command line others would see it."""

HTTP = "HTTP"
"""Panel of the help."""

User = Annotated[str | None, typer.Option("--user", "-u", metavar="NAME", rich_help_panel=OWNER, help="The user.")]
Spaces = Annotated[
    list[str] | None,
    typer.Option("--space", metavar="NAME", help="A shared space to open; may be repeated."),
]
Port = Annotated[
    int | None,
    typer.Option(
        "--http",
        min=0,
        max=65535,
        metavar="PORT",
        rich_help_panel=HTTP,
        help="Use HTTP, not stdio; 0: any port.",
    ),
]
Host = Annotated[
    str, typer.Option(metavar="ADDRESS", rich_help_panel=HTTP, help="Address to listen on, if other machines connect.")
]
Allowed = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="NAME",
        rich_help_panel=HTTP,
        help="A name that clients reach it by, such as a proxy's.",
    ),
]


def mcp(
    store: StoreName,
    *,
    tenant: TenantName = None,
    user: User = None,
    agent: AgentName = None,
    session: SessionName = None,
    space: Spaces = None,
    http: Port = None,
    host: Host = "127.0.0.1",
    allow_host: Allowed = None,
) -> None:
    """Serve one owner's memory to the hosts of the Model Context Protocol, such as Claude.

    The options here fix the owner: no client can choose another. A missing store is created. Over HTTP, clients send a
    bearer token: the one in HYBRID_MEMORY_MCP_TOKEN, or one that is generated and printed here.

    Example: hybrid-memory mcp memory.db --user alice
    """
    from hybrid_memory.apps.mcp import Binding, serve_http, serve_stdio  # noqa: PLC0415

    if tenant is None and user is None and agent is None:  # the error of `Binding` names the arguments of Python
        raise InvalidInputError("no owner given: add --user NAME, --agent NAME or --tenant NAME")
    binding = Binding(tenant=tenant, user=user, agent=agent, session=session, spaces=tuple(space or ()))
    given = os.environ.get(TOKEN) or None
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a host that stops it lets it close the store
    try:
        with open_store(store, create=True) as memory:
            if http is None:
                if sys.stdin.isatty():
                    typer.echo("waiting for an MCP host, which starts this command itself; stop with Ctrl-C", err=True)
                serve_stdio(memory, binding)
            else:
                serve_http(
                    memory, binding, port=http, host=host, hosts=allow_host or (), token=given,
                    ready=_print_address if given is None else _print_url,
                )  # fmt: skip
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _print_url(url: str, _: str) -> None:
    typer.echo(f"serving {url}; stop with Ctrl-C", err=True)


def _print_address(url: str, token: str) -> None:
    typer.echo(f"clients must send this header: Authorization: Bearer {token}", err=True)
    _print_url(url, token)
