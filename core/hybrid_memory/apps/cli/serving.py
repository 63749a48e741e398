"""``hybrid-memory mcp``: a memory as a server of the Model Context Protocol."""

from __future__ import annotations

import os
import signal
from typing import Annotated

import typer

from hybrid_memory.apps.cli.stores import WHOSE, AgentName, SessionName, StoreName, TenantName, open_store

TOKEN = "HYBRID_MEMORY_MCP_TOKEN"  # noqa: S105 - the name of a variable
"""The environment variable with the token that clients must show over HTTP: on the command line others would see it."""

HTTP = "HTTP"
"""Panel of the help."""

User = Annotated[str | None, typer.Option("--user", "-u", metavar="NAME", rich_help_panel=WHOSE, help="The user.")]
Spaces = Annotated[
    list[str] | None,
    typer.Option("--space", metavar="NAME", help="A shared space that is open here; may be given again and again."),
]
Port = Annotated[
    int | None,
    typer.Option("--http", min=0, max=65535, metavar="PORT", rich_help_panel=HTTP, help="Instead of stdio; 0: any."),
]
Host = Annotated[
    str, typer.Option(metavar="ADDRESS", rich_help_panel=HTTP, help="To listen on; others than this machine's own.")
]
Allowed = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host", metavar="NAME", rich_help_panel=HTTP, help="A name under which clients reach it, as behind TLS."
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

    Whose memory it is stands here alone: no client can choose another. A store that is not there yet is made.
    Over HTTP clients show a bearer token, from HYBRID_MEMORY_MCP_TOKEN or made and told here.

    Example: hybrid-memory mcp memory.db --user alice
    """
    from hybrid_memory.apps.mcp import Binding, serve_http, serve_stdio  # noqa: PLC0415

    binding = Binding(tenant=tenant, user=user, agent=agent, session=session, spaces=tuple(space or ()))
    given = os.environ.get(TOKEN) or None
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a host that stops it lets it close the store
    try:
        with open_store(store, create=True) as memory:
            if http is None:
                serve_stdio(memory, binding)
            else:
                serve_http(
                    memory, binding, port=http, host=host, hosts=allow_host or (), token=given,
                    ready=_told if given is None else _told_url,
                )  # fmt: skip
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _told_url(url: str, _: str) -> None:
    typer.echo(f"serving {url}; stop with Ctrl-C", err=True)


def _told(url: str, token: str) -> None:
    typer.echo(f"clients must send this header: Authorization: Bearer {token}", err=True)
    _told_url(url, token)
