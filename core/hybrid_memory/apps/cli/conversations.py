"""``hybrid-memory sessions`` and ``history``: the conversations of an owner, and what was said in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_memory.apps.cli import printing as shapes
from hybrid_memory.apps.cli.listing import sessions_of
from hybrid_memory.apps.cli.moments import Since, Until
from hybrid_memory.apps.cli.printing import one_line, print_json, show, show_rows, when
from hybrid_memory.apps.cli.stores import AsJson, Owner, StoreName, with_owner
from hybrid_memory.apps.cli.wording import headings, mostly_chinese
from hybrid_memory.display import counted

if TYPE_CHECKING:
    from hybrid_memory import Event


@with_owner(session=False)
def sessions(store: StoreName, *, owner: Owner, as_json: AsJson = False) -> None:
    """List the conversations of a user, the newest first, with their turns and dates.

    Example: hybrid-memory sessions memory.db --user alice
    """
    with owner.opened(store, embedder="none") as whose:
        rows = sessions_of(whose)
    if as_json:
        print_json(rows)
        return
    if not rows:
        show(f"{whose.scope} has no conversations")
        return
    heads = headings(mostly_chinese(row.session or "" for row in rows), "session", "turns", "first", "last")
    cells = [(one_line(row.session or "-"), f"{row.turns:,}", when(row.first), when(row.last)) for row in rows]
    show_rows(cells, heads=heads, right=(1,), styles=("cyan",))
    show(f"{counted(len(rows), 'session')}, {counted(sum(row.turns for row in rows), 'turn')}", style="dim")


Newest = Annotated[int, typer.Option("--limit", "-n", min=0, help="How many turns; 0 for all.")]


@with_owner()
def history(
    store: StoreName,
    *,
    limit: Newest = 20,
    since: Since = None,
    until: Until = None,
    owner: Owner,
    as_json: AsJson = False,
) -> None:
    """Show the newest turns in order, each with its handle.

    Example: hybrid-memory history memory.db --since 2026-03-01 -n 50
    """
    with owner.opened(store, embedder="none") as whose:
        events = whose.events(kinds=["message"], since=since, until=until, limit=limit or None)
    if as_json:
        print_json([shapes.turn(event) for event in events])
        return
    show_turns(events)
    if not events:
        show(f"nothing was said in {whose.scope}")


def show_turns(events: Sequence[Event], *, whole: bool = False) -> None:
    """Print each turn after its handle, date, session and speaker."""
    from hybrid_memory.analysis import spoken  # noqa: PLC0415 - see above

    for event in events:
        message, who = event.message, spoken(event.message.speaker, event.origin)
        place = "" if event.scope.session is None else f"  in {event.scope.session}"
        show(one_line(f"#{event.position}  {when(message.at)}  {who}{place}"), style="cyan")
        show(message.text if whole else one_line(message.text), indent=2)
