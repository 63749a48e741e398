"""``hybrid-memory profile``: what is known about a user and others, and the review of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_memory.apps.cli.printing import print_json, show, show_rows
from hybrid_memory.apps.cli.stores import AsJson, Owner, StoreName, with_owner
from hybrid_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from hybrid_memory import Fact, ProfileEntry, ScopedMemory, UserProfile

ANYONE = "anyone"
ANSWERS = ("y", "n", "e", "s", "q")
KEYS = "y right, n wrong, e edit, s skip, q quit"

History = Annotated[bool, typer.Option("--history", help="Also show former values.")]
About = Annotated[
    str | None,
    typer.Option(
        "--about", metavar="WHO", help="All facts about this person instead: user, a name such as Lia, or anyone."
    ),
]
Review = Annotated[
    bool,
    typer.Option("--review", help="Ask about each fact that nobody decided on yet: is it right, wrong, or edited?"),
]


@with_owner(session=False)
def profile(
    store: StoreName,
    *,
    about: About = None,
    history: History = False,
    review: Review = False,
    owner: Owner,
    as_json: AsJson = False,
) -> None:
    """Show what is known of a user: each value with its confidence, since when it holds, and the turn that states it.

    With --about it lists facts, also those about others; JSON has both.

    Example: hybrid-memory profile memory.db --user alice --history
    """
    if review and not sys.stdin.isatty():
        raise InvalidInputError("there is no terminal to review facts on: decide with resolve in Python")
    with owner.opened(store, derives=True) as scoped:
        known, facts = scoped.profile(), scoped.facts(subject=None if about == ANYONE else about, history=True)
        if review:
            _review(scoped, [fact for fact in facts if fact.current and not fact.reviewed])
            return
    chosen = facts if history else [fact for fact in facts if fact.current]
    if as_json:
        former = {"history": {name: known.history(name) for name in type(known).model_fields}} if history else {}
        print_json({"fields": known.model_dump(mode="json"), "sources": known.sources, **former, "facts": chosen})
        return
    rows = _of_profile(known, facts, history=history) if about is None else []
    for fact in chosen if about is not None else ():
        what = f"{fact.subject} {fact.attribute.replace('_', ' ')}"
        rows.append(_row(what, fact, "" if fact.current else fact.state, fact.positions))
    if rows:
        show_rows(rows, heads=("about", "conf.", "since", "value"), styles=("cyan", "", "dim", ""))
    else:
        show(
            "nothing is known yet"
            if about in (None, ANYONE)
            else f"nothing is known about {about}; what mentions them: hybrid-memory search {store} {about!r}"
        )


def _of_profile(known: UserProfile, facts: Sequence[Fact], *, history: bool) -> list[list[str]]:
    """A row for each value, optionally including former values; the facts lead to the turns."""
    from hybrid_memory.analysis import first_said  # noqa: PLC0415 - half a second that help need not take

    turns = {fact.id: fact.positions for fact in facts}
    rows: list[list[str]] = []
    shown: set[tuple[str, str]] = set()
    for name in type(known).model_fields:
        current = [entry for entry in known.sources.get(name, ()) if first_said(shown, name, entry.value)]
        former = [entry for entry in known.history(name) if not entry.state.standing] if history else []
        for entry in [*current, *former]:
            places = sorted({place for number in entry.facts for place in turns.get(number, ())})
            rows.append(_row(name.replace("_", " "), entry, "" if entry.state.standing else str(entry.state), places))
    return rows


def _row(about: str, entry: ProfileEntry | Fact, state: str, places: Sequence[int]) -> list[str]:
    """What a value is about, its confidence and time; the value with its former state and the first turn of it."""
    until = "" if entry.valid_to is None else f" to {entry.valid_to:%Y-%m-%d}"
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    notes = "; ".join(filter(None, (state, f"from #{places[0]}{more}" if places else "")))
    value = f"{entry.value} ({notes})" if notes else str(entry.value)
    return [about, f"{entry.confidence:.2f}", f"{entry.valid_from:%Y-%m-%d}{until}", value]


def _review(scoped: ScopedMemory, facts: Sequence[Fact]) -> None:
    """Ask about each of these facts, and keep each answer at once."""
    decided = 0
    show(f"{len(facts)} to review: {KEYS}" if facts else "nothing to review")
    for fact in facts:
        show(f"{fact} (from #{fact.positions[0]})")
        while (answer := typer.prompt("y/n/e/s/q", default="s", show_default=False, err=True)) not in ANSWERS:
            show(KEYS)
        if answer == "q":
            break
        if answer == "e":
            scoped.resolve(fact, value=typer.prompt("right is", err=True))
        elif answer != "s":
            scoped.resolve(fact, reject=answer == "n")
        decided += answer != "s"
    if facts:
        show(f"{decided} decided")
