"""``hybrid-memory profile``, ``summary`` and ``compact``: what is known of a user, and what stands for older turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_memory.apps.cli import printing as shapes
from hybrid_memory.apps.cli.printing import print_json, show, show_rows, when
from hybrid_memory.apps.cli.recalling import handle
from hybrid_memory.apps.cli.stores import AsJson, Owner, StoreName, with_owner

if TYPE_CHECKING:
    from hybrid_memory import Fact, ProfileEntry, UserProfile

STYLES = ("cyan", "", "dim", "")
"""Of the columns."""

History = Annotated[bool, typer.Option("--history", help="With what each field held before.")]


@with_owner(session=False)
def profile(
    store: StoreName,
    *,
    history: History = False,
    owner: Owner,
    as_json: AsJson = False,
) -> None:
    """Show what is known of a user: each value with its confidence, since when it stands, and the turn that says so.

    Example: hybrid-memory profile memory.db --user alice --history
    """
    with owner.opened(store) as whose:
        known, facts = whose.profile(), whose.facts(history=history)
    if as_json:
        print_json({**shapes.profile(known, history=history), "facts": facts})
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


if TYPE_CHECKING:
    from hybrid_memory import Message, ScopedMemory

Expanded = Annotated[
    str | None,
    typer.Option("--expand", metavar="HANDLE", help="Show the words behind a line instead, such as 12 or 12-40."),
]
Strategy = Annotated[
    str | None, typer.Option(metavar="NAME", help="How; by default as configured, which is anchored without settings.")
]
Keep = Annotated[int | None, typer.Option(min=1, help="Rounds that stay word for word.")]


@with_owner()
def summary(
    store: StoreName,
    *,
    expand: Expanded = None,
    owner: Owner,
    as_json: AsJson = False,
) -> None:
    """Show the summary of a conversation, each line with the handle that leads to its words.

    Each session has a summary of its own, and so has the whole of them, which is shown where no session is named.

    Example: hybrid-memory summary memory.db --session s1 --expand 12-40
    """
    with owner.opened(store, embedder="none") as whose:
        if expand is not None:
            _show_messages(whose.expand(handle(expand)), as_json=as_json)
            return
        folded = whose.summary()
        others = [] if folded or owner.session is not None else _compacted_sessions(whose)
    if as_json:
        print_json(shapes.summary(folded))
        return
    if folded:
        show(folded.text)
        show(repr(folded.audit)[1:-1], style="dim")
    elif others:
        show(f"folded were the sessions {', '.join(others)}: name one with --session")
    else:
        show("nothing was folded yet: hybrid-memory compact does it")


def _show_messages(messages: list[Message], *, as_json: bool) -> None:
    if as_json:
        print_json([shapes.message(message) for message in messages])
        return
    for message in messages:
        show(f"{when(message.at)}  {message.speaker}", style="cyan")
        show(message.text, indent=2)


def _compacted_sessions(whose: ScopedMemory) -> list[str]:
    names = [event.scope.session for event in whose.events(kinds=["compaction"])]
    return list(dict.fromkeys(name for name in names if name is not None))


@with_owner()
def compact(
    store: StoreName,
    *,
    strategy: Strategy = None,
    keep: Keep = None,
    owner: Owner,
    as_json: AsJson = False,
) -> None:
    """Fold all but the newest rounds of a conversation into its summary; the log keeps every word.

    Without a session, all sessions are folded as one conversation, as a prompt without a session shows them.

    Example: hybrid-memory compact memory.db --session s1 --keep 2
    """
    with owner.opened(store) as whose:
        receipt = whose.compact(strategy=strategy, keep=keep)
        folded = whose.summary()
    if as_json:
        print_json({"folded": receipt.compacted, "summary": shapes.summary(folded)})
        return
    show(f"{receipt.compacted:,} messages were folded" if receipt.compacted else "there was nothing to fold")
    if folded:
        show(repr(folded)[1:-1])
        show("hybrid-memory summary shows it", style="dim")
