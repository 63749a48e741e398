"""``hybrid-memory profile``: what is known of a user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_memory.apps.cli import shapes
from hybrid_memory.apps.cli.printing import print_json, show, show_rows
from hybrid_memory.apps.cli.stores import AgentName, AsJson, StoreName, TenantName, UserName, open_store, scoped

if TYPE_CHECKING:
    from hybrid_memory import Fact, ProfileEntry, UserProfile

STYLES = ("cyan", "", "dim", "")
"""Of the columns."""

History = Annotated[bool, typer.Option("--history", help="With what each field held before.")]


def profile(
    store: StoreName,
    *,
    history: History = False,
    tenant: TenantName = None,
    user: UserName = None,
    agent: AgentName = None,
    as_json: AsJson = False,
) -> None:
    """Show what is known of a user: each value with its confidence, since when it stands, and the turn that says so.

    Example: hybrid-memory profile memory.db --user alice --history
    """
    with open_store(store, background=False) as memory:
        whose = scoped(memory, tenant=tenant, user=user, agent=agent, known=True)
        known, facts = whose.profile(), whose.facts(history=history)
    if as_json:
        print_json({**shapes.profile(known, history=history), "facts": [shapes.fact(fact) for fact in facts]})
        return
    show_profile(known, history=history)
    told = {number for entries in known.sources.values() for one in entries for number in one.facts}
    told |= {number for name in type(known).model_fields for one in known.history(name) for number in one.facts}
    if others := [fact for fact in facts if fact.id not in told]:
        show("")
        show_rows([_row(fact) for fact in others], heads=("also", "conf.", "since", "value"), styles=STYLES)


def show_profile(known: UserProfile, *, history: bool = False) -> None:
    """Print a row for each value, and with the history one for each that stands no more."""
    rows: list[list[str]] = []
    for name in type(known).model_fields:
        standing = known.sources.get(name, ())
        former = [one for one in known.history(name) if not one.state.standing] if history else []
        label = name.replace("_", " ")
        rows += [[label, f"{one.confidence:.2f}", _span(one), _value(one)] for one in [*standing, *former]]
    if rows:
        show_rows(rows, heads=("field", "conf.", "since", "value"), styles=STYLES)
    else:
        show("nothing is known yet")


def _row(fact: Fact) -> list[str]:
    state = "" if fact.current else f" ({fact.state})"
    name = f"{fact.subject} {fact.attribute}".replace("_", " ")
    return [name, f"{fact.confidence:.2f}", _span(fact), fact.value + state]


def _span(one: ProfileEntry | Fact) -> str:
    until = "" if one.valid_to is None else f" to {one.valid_to:%Y-%m-%d}"
    return f"{one.valid_from:%Y-%m-%d}{until}"


def _value(one: ProfileEntry) -> str:
    more = f" and {len(one.sources) - 1} more" if len(one.sources) > 1 else ""
    state = "" if one.state.standing else f"{one.state}; "
    return f"{one.value} ({state}from {one.sources[0]}{more})" if one.sources else str(one.value)
