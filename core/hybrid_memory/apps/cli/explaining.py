"""``hybrid-memory why``: where something comes from, and why a turn comes back for a question or does not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_memory.apps.cli import shapes
from hybrid_memory.apps.cli.printing import print_json, printable, show
from hybrid_memory.apps.cli.stores import AgentName, AsJson, StoreName, TenantName, UserName, open_store, scoped

if TYPE_CHECKING:
    from hybrid_memory import Explanation, Message, ScopedMemory

What = Annotated[
    str,
    typer.Argument(
        metavar="WHAT", show_default=False, help="A turn (12, '#12' or the id of its event), or a field of the profile."
    ),
]
Query = Annotated[str | None, typer.Option("--query", "-q", metavar="TEXT", help="Say what this finds of the turn.")]
Most = Annotated[int, typer.Option("-k", min=1, help="With --query: how many hits it may have.")]

_NUMBER = re.compile(r"#?(\d{1,18}(?:-#?\d{1,18})?)")


def why(
    store: StoreName,
    what: What,
    *,
    query: Query = None,
    k: Most = 10,
    tenant: TenantName = None,
    user: UserName = None,
    agent: AgentName = None,
    as_json: AsJson = False,
) -> None:
    """Say where something comes from, word for word; with --query, why a turn comes back for it or does not.

    Of a turn it tells what was learned from it, and of a field of the profile which turns it rests on.

    Example: hybrid-memory why memory.db profession
    Example: hybrid-memory why memory.db 12 --query "where does she live?"
    """
    with open_store(store, background=False) as memory:
        whose = scoped(memory, tenant=tenant, user=user, agent=agent, known=True)
        told = _of_turn(whose, what) if query is None else whose.why_not(query, handle(what), k=k)
    if as_json:
        print_json(shapes.explanation(told))
        return
    show_explanation(told)


def handle(what: str) -> str:
    """The name of a turn: a bare number is a handle too, as shells take ``#`` for the begin of a comment."""
    number = _NUMBER.fullmatch(what.strip())
    return what if number is None else f"#{number[1]}"


def show_explanation(told: Explanation) -> None:
    """Print what it is, how it came about, and the turns behind it."""
    show(printable(told.about), style="bold")
    for step in told.steps:
        show(step, indent=2)
    for name, said in told.turns:
        show(f"[{name}] {said.at or '':%Y-%m-%d %H:%M} {said.speaker}: {said.text}", style="cyan", indent=2)


def _of_turn(whose: ScopedMemory, what: str) -> Explanation:
    """Of a turn the words and what was learned from them; of a field of the profile what the memory says."""
    from hybrid_memory import Explanation, UserProfile  # noqa: PLC0415

    if what in UserProfile.model_fields:
        return whose.why(what)
    turns = _turns(whose, what)
    ids = {said.id for _, said in turns}
    known = tuple(fact for fact in whose.facts(history=True) if ids.intersection(fact.sources))
    told = tuple(f"{'says' if fact.current else 'once said'} {fact} ({fact.state})" for fact in known)
    return Explanation(f"{handle(what)} in the log", told or ("nothing was learned from it",), turns, known)


def _turns(whose: ScopedMemory, what: str) -> tuple[tuple[str, Message], ...]:
    """The turns behind a handle or an id, each with its own handle where that is known."""
    said = whose.expand(handle(what))
    number = _NUMBER.fullmatch(what.strip())
    if number is None:
        return tuple((str(message.id), message) for message in said)
    last = int(number[1].replace("#", "").rpartition("-")[2])
    events = whose.events(before=last + 1, kinds=["message"], limit=len(said))
    return tuple((f"#{event.position}", event.message) for event in events)
