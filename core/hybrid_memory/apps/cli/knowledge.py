"""``hybrid-memory profile`` and ``facts``: what is known about a user, and all facts that turns state."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_memory.apps.cli import printing as shapes
from hybrid_memory.apps.cli.printing import print_json, show, show_rows
from hybrid_memory.apps.cli.stores import AsJson, Owner, StoreName, with_owner
from hybrid_memory.apps.cli.wording import headings, mostly_chinese
from hybrid_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from hybrid_memory import Fact, ProfileEntry, ScopedMemory, UserProfile

STYLES = ("cyan", "", "dim", "")
"""Of the columns."""

HEADS = ("conf.", "since", "value")

History = Annotated[bool, typer.Option("--history", help="Also show former values.")]
About = Annotated[
    str | None,
    typer.Option("--about", metavar="WHO", help="Only facts about this person: user, or a name such as Lia."),
]


Review = Annotated[
    bool,
    typer.Option("--review", help="Ask about each fact that nobody decided on yet: is it right, wrong, or edited?"),
]

ANSWERS = ("y", "n", "e", "s", "q")
KEYS = "y right, n wrong, e edit, s skip, q quit"


@with_owner(session=False)
def profile(
    store: StoreName,
    *,
    history: History = False,
    owner: Owner,
    as_json: AsJson = False,
) -> None:
    """Show what is known of a user: each value with its confidence, since when it holds, and the turn that states it.

    Example: hybrid-memory profile memory.db --user alice --history
    """
    with owner.opened(store, learns=True) as whose:
        known, facts = whose.profile(), whose.facts(history=True)
    shown = facts if history else [fact for fact in facts if fact.current]
    if as_json:
        print_json({**shapes.profile(known, history=history), "facts": shown})
        return
    show_profile(known, facts, history=history)
    told = {number for entries in known.sources.values() for one in entries for number in one.facts}
    told |= {number for name in type(known).model_fields for one in known.history(name) for number in one.facts}
    if others := [fact for fact in shown if fact.id not in told]:
        show("")
        _show_facts(others, "also")


@with_owner(session=False)
def facts(
    store: StoreName,
    *,
    about: About = None,
    history: History = False,
    review: Review = False,
    owner: Owner,
    as_json: AsJson = False,
) -> None:
    """List the facts that were learned, about the user and about others, each with the turns that state it.

    Example: hybrid-memory facts memory.db --about user
    """
    if review and not sys.stdin.isatty():
        raise InvalidInputError("there is no terminal to review facts on: decide with resolve in Python")
    with owner.opened(store, learns=True) as whose:
        known: Sequence[Fact] = whose.facts(subject=about, history=history)
        if not known and about is not None:
            known = [fact for fact in whose.facts(history=history) if _mentions(fact, about)]
        if review:
            _review(whose, [fact for fact in known if fact.current and not fact.reviewed])
            return
    if as_json:
        print_json(known)
    elif known:
        _show_facts(known, "about")
    else:
        show("nothing is known yet" if about is None else f"nothing is known about {about}")


def _review(whose: ScopedMemory, facts: Sequence[Fact]) -> None:
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
            whose.resolve(fact, value=typer.prompt("right is", err=True))
        elif answer != "s":
            whose.resolve(fact, reject=answer == "n")
        decided += answer != "s"
    if facts:
        show(f"{decided} decided")


def _mentions(fact: Fact, name: str) -> bool:
    """Whether the fact is about a thing of somebody's, such as Bruno's dog, or says their name."""
    word = rf"\b{re.escape(name)}\b" if name.isascii() else re.escape(name)
    return re.search(word, f"{fact.subject} · {fact.value}", re.IGNORECASE) is not None


def show_profile(known: UserProfile, facts: Sequence[Fact], *, history: bool = False) -> None:
    """Print a row for each value, optionally including former values.

    Args:
        known: the profile.
        facts: the facts behind it, which lead to the turns.
        history: whether to print former values too.
    """
    from hybrid_memory.analysis import first_said  # noqa: PLC0415 - half a second that help need not take

    turns = {fact.id: fact.positions for fact in facts}
    rows: list[list[str]] = []
    told: set[tuple[str, str]] = set()
    names = type(known).model_fields
    chinese = mostly_chinese(one.value for name in names for one in known.sources.get(name, ()))
    for name, about in names.items():
        standing = [one for one in known.sources.get(name, ()) if first_said(told, name, one.value)]
        former = [one for one in known.history(name) if not one.state.standing] if history else []
        extra = about.json_schema_extra
        label = str(extra.get("chinese", name)) if chinese and isinstance(extra, dict) else name.replace("_", " ")
        rows += [[label, f"{one.confidence:.2f}", _span(one), _value(one, turns)] for one in [*standing, *former]]
    if rows:
        show_rows(rows, heads=headings(chinese, "field", *HEADS), styles=STYLES)
    else:
        show("nothing is known yet")


def _show_facts(facts: Sequence[Fact], head: str) -> None:
    chinese = mostly_chinese(fact.value for fact in facts)
    rows = [_row(fact, chinese=chinese) for fact in facts]
    show_rows(rows, heads=headings(chinese, head, *HEADS), styles=STYLES)


def _row(fact: Fact, *, chinese: bool) -> list[str]:
    from hybrid_memory.analysis import attribute  # noqa: PLC0415 - half a second that help need not take

    label = attribute(fact.attribute).chinese if chinese else fact.attribute.replace("_", " ")
    value = _from(fact.value, None if fact.current else str(fact.state), fact.positions)
    return [f"{fact.subject} {label}", f"{fact.confidence:.2f}", _span(fact), value]


def _span(one: ProfileEntry | Fact) -> str:
    until = "" if one.valid_to is None else f" to {one.valid_to:%Y-%m-%d}"
    return f"{one.valid_from:%Y-%m-%d}{until}"


def _value(one: ProfileEntry, turns: Mapping[int, Sequence[int]]) -> str:
    places = sorted({place for number in one.facts for place in turns.get(number, ())})
    return _from(str(one.value), None if one.state.standing else str(one.state), places)


def _from(value: str, state: str | None, places: Sequence[int]) -> str:
    """The value, its state if it is a former one, and the first turn that states it."""
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    source = f"from #{places[0]}{more}" if places else None
    told = "; ".join(part for part in (state, source) if part)
    return f"{value} ({told})" if told else value
