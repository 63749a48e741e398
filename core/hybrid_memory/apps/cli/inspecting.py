"""``hybrid-memory inspect``: a page of this machine on a store."""

from __future__ import annotations

import webbrowser
from typing import Annotated

import typer

from hybrid_memory.apps.cli.stores import AgentName, SessionName, StoreName, TenantName, UserName, open_store, scoped

Port = Annotated[int, typer.Option(min=0, max=65535, help="To listen on; 0 takes a free one.")]
Write = Annotated[bool, typer.Option("--write", help="Let the page forget turns; it only reads otherwise.")]
Browser = Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")]


def inspect(
    store: StoreName,
    *,
    port: Port = 0,
    write: Write = False,
    browser: Browser = False,
    tenant: TenantName = None,
    user: UserName = None,
    agent: AgentName = None,
    session: SessionName = None,
) -> None:
    """Look at a store in a browser: its log, searches with their scores, facts, summaries and prompts.

    The page is served to this machine alone, and the printed address lets in whoever has it. Ctrl-C ends it.

    Example: hybrid-memory inspect memory.db --open
    """
    from hybrid_memory.apps.inspector import serve  # noqa: PLC0415 - optional, and slow

    with open_store(store, read_only=not write, background=False) as memory:
        scope = None
        if any(name is not None for name in (tenant, user, agent, session)):
            scope = scoped(memory, tenant=tenant, user=user, agent=agent, session=session, known=True).scope

        def ready(address: str) -> None:
            typer.echo(f"Open {address}")
            typer.echo(f"The page {'may forget turns' if write else 'only reads'}. Ctrl-C ends it.", err=True)
            if browser and not webbrowser.open(address):
                typer.echo("there is no browser to open it in", err=True)

        serve(memory, port=port, writable=write, scope=scope, ready=ready)
