"""``hybrid-memory forget``: delete for good, after showing what would be deleted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_memory.apps.cli.moments import MOMENT, moment
from hybrid_memory.apps.cli.printing import agreed, fields_of, one_line, print_json, show
from hybrid_memory.apps.cli.recalling import handle, one_turn
from hybrid_memory.apps.cli.stores import AsJson, Owner, StoreName, open_store, with_owner
from hybrid_memory.display import amount
from hybrid_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from hybrid_memory import HybridMemory, Receipt, ScopedMemory

SHOWN_TURNS = 10
"""How many of the turns to delete are shown before the question; a dry run shows all."""

WHICH = "Which turns (exactly one)"

Ids = Annotated[
    list[str] | None,
    typer.Option(
        "--ids",
        metavar="ID",
        rich_help_panel=WHICH,
        help="A handle (12) or the id of a turn; may be repeated.",
    ),
]
Words = Annotated[
    str | None,
    typer.Option("--query", "-q", metavar="TEXT", rich_help_panel=WHICH, help="Every turn with these whole words."),
]
Before = Annotated[
    datetime | None,
    typer.Option(parser=moment, metavar=MOMENT, rich_help_panel=WHICH, help="Every turn before this date."),
]
Expired = Annotated[bool, typer.Option("--expired", rich_help_panel=WHICH, help="Every turn that retention hides.")]
Everything = Annotated[
    bool,
    typer.Option(
        "--everything", rich_help_panel=WHICH,
        help="All of the user: every session, with every agent if none is named, and what they wrote in shared spaces.",
    ),
]  # fmt: skip
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be deleted.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")]


@with_owner()
def forget(
    store: StoreName,
    *,
    ids: Ids = None,
    query: Words = None,
    before: Before = None,
    expired: Expired = False,
    everything: Everything = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    owner: Owner,
    as_json: AsJson = False,
) -> None:
    """Delete turns for good, with everything derived from them: vectors, facts, summary lines, notes.

    It shows what would go and asks first. Without a terminal it does nothing unless you give --yes.

    Example: hybrid-memory forget memory.db --query "credit card" --dry-run
    """
    given = {"ids": [handle(one) for one in ids] if ids else None, "query": query, "before": before, "expired": expired}
    with open_store(store, background=False) as memory:
        # All of a user is more than what one owner has, so that none need fit.
        known = not everything or owner.user is None or owner.agent is not None
        whose = owner.of(memory, known=known)
        for one in ids or ():
            one_turn(whose, one)  # an id of several turns is refused
        which = {name: value for name, value in given.items() if value}
        does = _forgetting(memory, whose, which, everything=everything)
        planned = does(dry_run=True)
        _show_plan(whose, planned, most=None if dry_run else SHOWN_TURNS, err=as_json)
        done = planned
        if planned.erased and not dry_run:
            refusal = "nothing was forgotten: there is no terminal to confirm it; give --yes, or --dry-run to look"
            if not agreed("Forget this for good?", refusal, yes=yes):
                typer.echo("nothing was forgotten", err=True)
                raise typer.Exit(0)
            done = does(dry_run=False)
    if as_json:
        print_json(fields_of(done))
    elif done is not planned:
        show("forgotten")


def _forgetting(
    memory: HybridMemory, whose: ScopedMemory, which: dict[str, Any], *, everything: bool
) -> Callable[..., Receipt]:
    """The memory's method with its arguments."""
    if len(which) + everything != 1:
        raise InvalidInputError("give exactly one of --ids, --query, --before, --expired, --everything")
    if not everything:
        return partial(whose.forget, **which)
    scope = whose.scope
    if scope.user is None:
        raise InvalidInputError(f"--everything is all of a user, and {scope} names none: give --user, or --before")
    if scope.agent is None:
        return partial(memory.forget, user=scope.user, tenant=scope.tenant)
    return partial(whose.forget, user=scope.user)


def _show_plan(whose: ScopedMemory, planned: Receipt, *, most: int | None, err: bool) -> None:
    """Show what would be deleted; on stderr if stdout is JSON."""
    if planned.note:
        show(planned.note, err=err)
    if not planned.erased:
        show(f"nothing of {whose.scope} matches: nothing to forget", err=err)
        return
    counts = ", ".join(amount(count, name) for name, count in planned.erased.items())
    show(f"to be forgotten: {counts}", style="bold", err=err)
    for line in planned.turns[:most]:
        show(one_line(line), indent=2, err=err)
    if most is not None and len(planned.turns) > most:
        show(f"and {len(planned.turns) - most:,} more; --dry-run lists them all", indent=2, err=err)
