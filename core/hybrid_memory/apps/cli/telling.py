"""``hybrid-memory history``: what was said, word for word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_memory.apps.cli import shapes
from hybrid_memory.apps.cli.moments import Since, Until
from hybrid_memory.apps.cli.printing import one_line, print_json, show, when
from hybrid_memory.apps.cli.stores import (
    AgentName,
    AsJson,
    SessionName,
    StoreName,
    TenantName,
    UserName,
    open_store,
    scoped,
)

if TYPE_CHECKING:
    from hybrid_memory.log.event import Event

Newest = Annotated[int, typer.Option("--limit", "-n", min=0, help="The newest so many; 0 for all.")]


def history(
    store: StoreName,
    *,
    limit: Newest = 20,
    since: Since = None,
    until: Until = None,
    tenant: TenantName = None,
    user: UserName = None,
    agent: AgentName = None,
    session: SessionName = None,
    as_json: AsJson = False,
) -> None:
    """Show what was said, oldest first, each turn with its handle.

    Example: hybrid-memory history memory.db --since 2026-03-01 -n 50
    """
    with open_store(store, background=False, embedder="none") as memory:
        whose = scoped(memory, tenant=tenant, user=user, agent=agent, session=session, known=True)
        events = whose.events(kinds=["message"], since=since, until=until, limit=limit or None)
    if as_json:
        print_json([shapes.turn(event) for event in events])
        return
    show_turns(events)
    if not events:
        show(f"nothing was said in {whose.scope}")


def show_turns(events: Sequence[Event], *, whole: bool = False) -> None:
    """Print each turn behind its handle, date, session and speaker."""
    for event in events:
        said = event.message
        place = "" if event.scope.session is None else f"  in {event.scope.session}"
        show(one_line(f"#{event.position}  {when(said.at)}  {said.speaker}{place}"), style="cyan")
        show(said.text if whole else one_line(said.text), indent=2)
