"""``hybrid-memory search`` and ``why``: the hits for a question, and where they come from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hybrid_memory.apps.cli import printing as shapes
from hybrid_memory.apps.cli.listing import listed
from hybrid_memory.apps.cli.moments import Since, Until
from hybrid_memory.apps.cli.printing import bar, one_line, print_json, printable, show, when
from hybrid_memory.apps.cli.stores import AsJson, Owner, StoreName, with_owner
from hybrid_memory.apps.cli.wording import headings, mostly_chinese
from hybrid_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from hybrid_memory import Event, Explanation, Hit, ScopedMemory

Query = Annotated[str, typer.Argument(metavar="QUERY", show_default=False, help="A question, or any words.")]
Most = Annotated[int, typer.Option("-k", min=1, help="How many hits at most.")]
Why = Annotated[bool, typer.Option("--why", help="Show every signal of each score.")]
MinConfidence = Annotated[
    float | None,
    typer.Option("--min-confidence", min=0, max=1, help="Leave out hits below this confidence, 0 to 1."),
]
Origins = Annotated[
    list[str] | None,
    typer.Option("--origin", metavar="ORIGIN", help="Only words of user, assistant, tool, web, ...; may be repeated."),
]


SHARES = 4
"""How many of a hit's strongest signals are shown; --why shows all."""


@with_owner()
def search(
    store: StoreName,
    query: Query,
    *,
    k: Most = 5,
    why: Why = False,
    origins: Origins = None,
    since: Since = None,
    until: Until = None,
    min_confidence: MinConfidence = None,
    owner: Owner,
    as_json: AsJson = False,
) -> None:
    """Search a memory, or with --session one conversation.

    The bar is the score; below the text stand the strongest signals, and --why shows all of them. Other verbs take
    the handle, such as #12: why, summary --expand, forget --ids.

    Example: hybrid-memory search memory.db "where does she live?" -k 3 --why
    """
    with owner.opened(store, recalls=True) as whose:
        within: Literal["session", "user"] = "session" if owner.session else "user"
        hits = whose.recall(
            query, k=k, within=within, since=since, until=until, origins=origins or (), min_confidence=min_confidence
        )
    if as_json:
        print_json([shapes.hit(hit) for hit in hits])
        return
    show_hits(hits, why=why)
    if not hits:
        show(f"nothing {'certain ' if hits.unsure else ''}of {whose.scope} answers that: try other words")


def show_hits(hits: Sequence[Hit], *, why: bool) -> None:
    """Print each hit: its score as a bar, who said what, and its strongest signals."""
    from hybrid_memory.analysis import parts, spoken  # noqa: PLC0415 - half a second that help need not take

    confidence, inside = headings(mostly_chinese(hit.record.text for hit in hits), "confidence", "in")
    for hit in hits:
        record = hit.record
        kind = "" if record.kind.value == "turn" else f"  [{record.kind.value}]"
        place = "" if record.scope.session is None else f"  {inside} {record.scope.session}"
        who = spoken(record.speaker, record.origin)
        sure = "" if hit.confidence is None else f"  {confidence} {hit.confidence:.2f}"
        head = f"{bar(hit.score)} {hit.score:.3f}{sure}  #{record.turn}  {when(record.at)}  {who}{place}{kind}"
        show(one_line(head), style="bold cyan")
        if hit.asked is not None:
            show(one_line(f"{spoken(hit.asked.speaker, hit.asked.origin)}: {hit.asked.text}"), style="dim", indent=2)
        show(one_line(record.text), indent=2)
        shares = [f"{part.label} {part.share:.2f}" for part in parts(hit)]
        more = [f"{len(shares) - SHARES} more"] if len(shares) > SHARES else []
        show(hit.why() if why else ", ".join([*shares[:SHARES], *more]), style="dim", indent=2)


What = Annotated[
    str,
    typer.Argument(
        metavar="WHAT", show_default=False, help="A turn (12, '#12' or the id of its event), or a field of the profile."
    ),
]
ForQuery = Annotated[str | None, typer.Option("--query", "-q", metavar="TEXT", help="Why this finds the turn or not.")]
WithinHits = Annotated[int, typer.Option("-k", min=1, help="With --query: how many hits the search has at most.")]

_NUMBER = re.compile(r"#?(\d{1,18}(?:-#?\d{1,18})?)")


@with_owner()
def why(
    store: StoreName,
    what: What,
    *,
    query: ForQuery = None,
    k: WithinHits = 10,
    owner: Owner,
    as_json: AsJson = False,
) -> None:
    """Explain where a turn or a value of the profile comes from; with --query, why a search finds a turn or not.

    For a turn you see its words and what was learned from them, for a field of the profile the turns that state it.

    Example: hybrid-memory why memory.db profession
    Example: hybrid-memory why memory.db 12 --query "where does she live?"
    """
    with owner.opened(store, recalls=query is not None) as whose:
        told = _of_turn(whose, what) if query is None else whose.why_not(query, handle(what), k=k)
    if as_json:
        print_json(shapes.explanation(told))
        return
    show_explanation(told)


def handle(what: str) -> str:
    """The handle of a turn: a bare number is a handle too, since ``#`` starts a comment in shells."""
    number = _NUMBER.fullmatch(what.strip())
    return what if number is None else f"#{number[1]}"


def show_explanation(explanation: Explanation) -> None:
    """Print what it is, how it was computed, and the turns behind it."""
    show(printable(explanation.about), style="bold")
    for step in explanation.steps:
        show(step, indent=2)
    from hybrid_memory.analysis import spoken  # noqa: PLC0415 - see above

    for name, said in explanation.turns:
        who = spoken(said.speaker, said.spoken_by)
        show(f"[{name}] {said.at or '':%Y-%m-%d %H:%M} {who}: {said.text}", style="cyan", indent=2)


def _of_turn(whose: ScopedMemory, what: str) -> Explanation:
    """For a turn its words and what was learned from them; for a profile field the memory's explanation."""
    from hybrid_memory import Explanation, UserProfile  # noqa: PLC0415

    if what in UserProfile.model_fields:
        return whose.why(what)
    events = turns_named(whose, what)
    places = {event.position for event in events}
    known = tuple(fact for fact in whose.facts(history=True) if places.intersection(fact.positions))
    told = tuple(f"{'says' if fact.current else 'once said'} {fact} ({fact.state})" for fact in known)
    turns = tuple((f"#{event.position}", event.message) for event in events)
    name = handle(what) if len(turns) > 1 else turns[0][0]
    return Explanation(f"{name} in the log", told or ("nothing was learned from it",), turns, known)


def turns_named(whose: ScopedMemory, what: str) -> list[Event]:
    """The turns behind a handle, a range of handles or the id of one turn.

    Raises:
        InvalidInputError: there is none, or turns in several sessions have this id.
    """
    number = _NUMBER.fullmatch(what.strip())
    if number is not None and "-" in number[1]:
        said = whose.expand(handle(what))
        last = int(number[1].replace("#", "").rpartition("-")[2])
        return whose.events(before=last + 1, kinds=["message"], limit=len(said))
    found = one_turn(whose, what)
    if not found:
        raise InvalidInputError(f"{whose.scope} has no turn {handle(what)!r}: hybrid-memory history shows the handles")
    return found


def one_turn(whose: ScopedMemory, what: str) -> list[Event]:
    """The turn with this handle or id, if there is one.

    Raises:
        InvalidInputError: turns in several sessions have this id.
    """
    name = handle(what)
    events = whose.events(which=[int(name[1:]) if name.startswith("#") and name[1:].isdecimal() else what])
    found = [event for event in events if event.kind == "message"]
    if len(found) > 1:
        places = listed([f"#{event.position} in {event.scope.session}" for event in found])
        raise InvalidInputError(f"{what!r} is the id of {len(found)} turns: give one of the handles {places}")
    return found
