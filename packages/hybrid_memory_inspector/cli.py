"""``hybrid-memory inspect``: a memory as a page in your browser."""

from __future__ import annotations

import webbrowser
from dataclasses import astuple
from typing import Annotated

import typer

from hybrid_memory.apps.cli.stores import Owner, StoreName, open_store, with_owner

app = typer.Typer(rich_markup_mode="markdown")
"""Registered under the entry point group ``hybrid_memory.commands``."""

PagePort = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 chooses a free one.")]
Write = Annotated[bool, typer.Option("--write", help="Let the page review facts and forget turns; else it only reads.")]
Browser = Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")]


@app.command(no_args_is_help=True, rich_help_panel="Look")
@with_owner()
def inspect(
    store: StoreName,
    *,
    port: PagePort = 0,
    write: Write = False,
    browser: Browser = False,
    owner: Owner,
) -> None:
    """Look at a store in a browser: turns, searches with their scores, facts, summaries and prompts.

    Only this machine can reach the page, by the address that is printed. Ctrl-C ends it.

    Example: hybrid-memory inspect memory.db --open
    """
    from hybrid_memory_inspector import serve  # noqa: PLC0415 - optional, and slow

    with open_store(store, read_only=not write, background=False) as memory:
        scope = owner.of(memory, known=True).scope if any(astuple(owner)) else None

        def ready(address: str) -> None:
            typer.echo(f"Open {address}")
            typer.echo(f"The page {'may change the memory' if write else 'only reads'}. Ctrl-C ends it.", err=True)
            if browser and not webbrowser.open(address):
                typer.echo("there is no browser to open it in", err=True)

        serve(memory, port=port, writable=write, scope=scope, ready=ready)
