"""``hybrid-memory remember`` and ``forget``: write a turn, and delete turns for good after showing which."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_memory.apps.cli.printing import agreed, fields_of, one_line, print_json, show
from hybrid_memory.apps.cli.recalling import handle, turn_named
from hybrid_memory.apps.cli.stores import MOMENT, AsJson, Owner, StoreName, moment, open_store, with_owner
from hybrid_memory.display import amount
from hybrid_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from hybrid_memory import Receipt, ScopedMemory

SESSION = "notes"
"""The default session of a turn."""

Text = Annotated[str, typer.Argument(metavar="TEXT", show_default=False, help="What to remember; - reads stdin.")]
Role = Annotated[str, typer.Option(metavar="ROLE", help="Who says it: user, assistant, ...")]
At = Annotated[
    datetime | None,
    typer.Option("--at", parser=moment, metavar=MOMENT, help="When it was said, such as 2026-03-01; by default now."),
]


@with_owner()
def remember(
    store: StoreName,
    text: Text,
    *,
    role: Role = "user",
    at: At = None,
    owner: Owner,
    as_json: AsJson = False,
) -> None:
    """Write one turn into a memory, in the session "notes" unless you name one. A missing store is created.

    Example: hybrid-memory remember memory.db "I moved to Porto in May." --user alice
    """
    words = sys.stdin.read() if text == "-" else text
    if not words.strip():
        raise InvalidInputError("there is nothing to remember: give a text, or - and the text on stdin")
    session = owner.session or SESSION
    with open_store(store, create=True, background=False) as memory:
        scoped = replace(owner, session=session).of(memory)
        receipt = scoped.remember(words, role=role, at=at)
    name = f"#{receipt.positions[0]}"
    if as_json:
        print_json({"handle": name, "id": receipt.ids[0], "session": session})
        return
    show(f"remembered as {name} in {session}, for {scoped.scope.owner}")


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
    given = {"ids": [handle(name) for name in ids or ()], "query": query, "before": before, "expired": expired}
    chosen = {name: value for name, value in given.items() if value}
    if len(chosen) + everything != 1:
        raise InvalidInputError("give exactly one of --ids, --query, --before, --expired, --everything")
    with open_store(store, background=False) as memory:
        # All of a user is more than what one owner has, so that none need fit.
        scoped = owner.of(memory, known=not everything or owner.user is None or owner.agent is not None)
        for name in ids or ():
            turn_named(scoped, name)  # an id of several turns is refused
        scope = scoped.scope
        if not everything:
            erase = partial(scoped.forget, **chosen)  # type: ignore[arg-type]
        elif scope.user is None:
            raise InvalidInputError(f"--everything is all of a user, and {scope} names none: give --user, or --before")
        elif scope.agent is None:
            erase = partial(memory.forget, user=scope.user, tenant=scope.tenant)
        else:
            erase = partial(scoped.forget, user=scope.user)
        receipt = planned = erase(dry_run=True)
        _show_plan(scoped, planned, most=None if dry_run else SHOWN_TURNS, err=as_json)
        if planned.erased and not dry_run:
            refusal = "nothing was forgotten: there is no terminal to confirm it; give --yes, or --dry-run to look"
            if not agreed("Forget this for good?", refusal, yes=yes):
                typer.echo("nothing was forgotten", err=True)
                raise typer.Exit(0)
            receipt = erase(dry_run=False)
    if as_json:
        print_json(fields_of(receipt))
    elif receipt is not planned:
        show("forgotten")


def _show_plan(scoped: ScopedMemory, planned: Receipt, *, most: int | None, err: bool) -> None:
    """Show what would be deleted; on stderr if stdout is JSON."""
    if planned.note:
        show(planned.note, err=err)
    if not planned.erased:
        show(f"nothing of {scoped.scope} matches: nothing to forget", err=err)
        return
    counts = ", ".join(amount(count, name) for name, count in planned.erased.items())
    show(f"to be forgotten: {counts}", style="bold", err=err)
    for line in planned.turns[:most]:
        show(one_line(line), indent=2, err=err)
    if most is not None and len(planned.turns) > most:
        show(f"and {len(planned.turns) - most:,} more; --dry-run lists them all", indent=2, err=err)
