"""The verbs of turns: ``search``, ``why`` and ``history``, ``remember`` and ``forget``."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hybrid_memory.apps.cli import printing as shapes
from hybrid_memory.apps.cli.printing import agreed, bar, fields_of, one_line, print_json, printable, show, when
from hybrid_memory.apps.cli.stores import (
    AsJson,
    Owner,
    Since,
    StoreName,
    Until,
    date_option,
    listed,
    open_store,
    with_owner,
)
from hybrid_memory.display import amount
from hybrid_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from hybrid_memory import Event, Explanation, Hit, Receipt, ScopedMemory

SHARES = 4  # how many of a hit's strongest signals are shown; --why shows all

Query = Annotated[
    list[str], typer.Argument(metavar="QUERY", show_default=False, help="A question, or any words, quoted or not.")
]
Most = Annotated[int, typer.Option("-k", min=1, help="How many hits at most.")]
Why = Annotated[bool, typer.Option("--why", help="Show every signal of each score.")]


@with_owner()
def search(
    store: StoreName,
    query: Query,
    *,
    k: Most = 5,
    why: Why = False,
    since: Since = None,
    until: Until = None,
    owner: Owner,
    as_json: AsJson = False,
) -> None:
    """Search a memory, or with --session one conversation.

    The bar is the confidence; below the text are the strongest signals of the score. The handle, such as #12, is for
    why and forget --ids.

    Example: hybrid-memory search memory.db "where does she live?" -k 3 --why
    """
    with owner.opened(store, derives=True) as scoped:
        reach: Literal["session", "user"] = "session" if owner.session else "user"
        hits = scoped.recall(" ".join(query), k=k, scope=reach, since=since, until=until)
    if as_json:
        print_json([shapes.hit(hit) for hit in hits])
        return
    show_hits(hits, why=why)
    if not hits:
        low = f" above the threshold of confidence, {hits.unsure:,} below" if hits.unsure else ""
        show(f"no result of {scoped.scope}{low}: try other words{' or dates' if since or until else ''}")


def show_hits(hits: Sequence[Hit], *, why: bool) -> None:
    """Print each hit: its confidence as a bar, who said what, and the strongest signals of its score."""
    from hybrid_memory.analysis import parts, spoken  # noqa: PLC0415 - half a second that help need not take

    for hit in hits:
        record = hit.record
        kind = "" if record.kind.value == "turn" else f"  [{record.kind.value}]"
        place = "" if record.scope.session is None else f"  in {record.scope.session}"
        sure = hit.score if hit.confidence is None else hit.confidence
        who = spoken(record.speaker, record.origin)
        head = f"{sure:.2f}  #{record.turn}  {when(record.at)}  {who}{place}{kind}"
        show(f"{bar(sure)} {one_line(head)}", style="bold cyan")
        if hit.asked is not None:
            show(one_line(f"{spoken(hit.asked.speaker, hit.asked.origin)}: {hit.asked.text}"), style="dim", indent=2)
        show(one_line(record.text), indent=2)
        shares = [f"{part.label} {part.share:.2f}" for part in parts(hit)]
        more = [f"{len(shares) - SHARES} more"] if len(shares) > SHARES else []
        brief = f"score {hit.score:.3f}: {', '.join([*shares[:SHARES], *more])}"
        show(hit.why() if why else brief, style="dim", indent=2)


What = Annotated[
    str,
    typer.Argument(
        metavar="WHAT",
        show_default=False,
        help="A turn (12, '#12' or the id of its event), several (12-40, as a summary names them), or a field of the "
        "profile.",
    ),
]
ForQuery = Annotated[str | None, typer.Option("--query", "-q", metavar="TEXT", help="Why this finds the turn or not.")]
WithinHits = Annotated[int, typer.Option("-k", min=1, help="With --query: how many hits the search has at most.")]

_NUMBER = re.compile(r"#?(\d{1,18}(?:-#?\d{1,18})?)")


@with_owner()
def why(
    store: StoreName, what: What, *, query: ForQuery = None, k: WithinHits = 10, owner: Owner, as_json: AsJson = False
) -> None:
    """Explain where a turn or a value of the profile comes from; with --query, why a search finds a turn or not.

    Shows a turn's words and what was learned from them; for a field of the profile the turns that state it.

    Example: hybrid-memory why memory.db home

    Example: hybrid-memory why memory.db 12 --query "where does she live?"
    """
    from hybrid_memory.analysis import spoken  # noqa: PLC0415 - see above

    with owner.opened(store, derives=query is not None) as scoped:
        explanation = _of_turn(scoped, what) if query is None else scoped.why(handle(what), query, k=k)
    if as_json:
        turns = [{"handle": name, **shapes.message(turn)} for name, turn in explanation.turns]
        print_json({**fields_of(explanation), "turns": turns})
        return
    show(printable(explanation.about), style="bold")
    for step in explanation.steps:
        show(step, indent=2)
    for name, turn in explanation.turns:
        who = spoken(turn.speaker, turn.spoken_by)
        show(f"[{name}] {when(turn.at)} {who}: {turn.text}", style="cyan", indent=2)


def handle(what: str) -> str:
    """The handle of a turn: a bare number is a handle too, since ``#`` starts a comment in shells."""
    number = _NUMBER.fullmatch(what.strip())
    return what if number is None else f"#{number[1]}"


def _of_turn(scoped: ScopedMemory, what: str) -> Explanation:
    """For turns their words and what was learned from them; for a profile field the memory's explanation."""
    from hybrid_memory import Explanation, UserProfile  # noqa: PLC0415 - see above

    fields = [name.replace("_", " ") for name in UserProfile.model_fields]  # as `profile` shows them
    if (field := what.replace("_", " ")) in fields:
        return scoped.why(field.replace(" ", "_"))
    name = handle(what)
    if "-" in name and name.startswith("#"):
        last = int(name.replace("#", "").rpartition("-")[2])
        events = scoped.events(before=last + 1, kinds=["message"], limit=len(scoped.expand(name)))
    else:
        events = turn_named(scoped, what)
    if not events:
        places = f"hybrid-memory history shows the handles; fields of the profile are {', '.join(fields)}"
        raise InvalidInputError(f"{scoped.scope} has no turn {name!r}: {places}")
    positions = {event.position for event in events}
    facts = tuple(fact for fact in scoped.facts(history=True) if positions.intersection(fact.positions))
    steps = tuple(f"learned {fact} ({fact.state})" for fact in facts)
    turns = tuple((f"#{event.position}", event.message) for event in events)
    name = name if len(turns) > 1 else turns[0][0]
    return Explanation(f"{name} in the log", steps or ("nothing was learned from it",), turns, facts)


def turn_named(scoped: ScopedMemory, what: str) -> list[Event]:
    """The turn with this handle or id, if there is one; an id of several turns is refused."""
    name = handle(what)
    events = scoped.events(which=[int(name[1:]) if name.startswith("#") and name[1:].isdecimal() else what])
    turns = [event for event in events if event.kind == "message"]
    if len(turns) > 1:
        places = listed([f"#{event.position} in {event.scope.session}" for event in turns])
        raise InvalidInputError(f"{what!r} is the id of {len(turns)} turns: give one of the handles {places}")
    return turns


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
    from hybrid_memory.analysis import spoken  # noqa: PLC0415 - see above

    with owner.opened(store, embedder="none") as scoped:
        events = scoped.events(kinds=["message"], since=since, until=until, limit=limit or None)
    if as_json:
        print_json([shapes.turn(event) for event in events])
        return
    if not events:
        show(f"nothing was said in {scoped.scope}{' at that time' if since or until else ''}")
    for event in events:
        message, who = event.message, spoken(event.message.speaker, event.origin)
        place = "" if event.scope.session is None else f"  in {event.scope.session}"
        show(one_line(f"#{event.position}  {when(message.at)}  {who}{place}"), style="cyan")
        show(one_line(message.text), indent=2)


SESSION = "notes"  # the default session of a turn

Text = Annotated[
    list[str],
    typer.Argument(metavar="TEXT", show_default=False, help="What to remember, quoted or not; - reads stdin."),
]
Role = Annotated[str, typer.Option(metavar="ROLE", help="Who says it: user, assistant, ...")]
At = Annotated[datetime | None, date_option("--at", help="When it was said, such as 2026-03-01; by default now.")]


@with_owner()
def remember(
    store: StoreName, text: Text, *, role: Role = "user", at: At = None, owner: Owner, as_json: AsJson = False
) -> None:
    """Write one turn into a memory, in the session "notes" unless you name one.

    With a named owner it creates a missing store.

    Example: hybrid-memory remember memory.db "I moved to Porto in May." --user alice
    """
    words = sys.stdin.read() if text == ["-"] else " ".join(text)
    if not words.strip():
        raise InvalidInputError("there is nothing to remember: give a text, or - and the text on stdin")
    session = owner.session or SESSION
    with open_store(store, create=owner.named, background=False) as memory:
        scoped = replace(owner, session=session).of(memory)
        receipt = scoped.remember(words, role=role, at=at)
    name = f"#{receipt.positions[0]}"
    if as_json:
        print_json({"handle": name, "id": receipt.ids[0], "session": session})
        return
    show(f"remembered as {name} in {session}, for {scoped.scope.owner}")


SHOWN_TURNS = 10  # how many of the turns to delete are shown before the question; a dry run shows all

WHICH = "Which turns (exactly one)"
which = partial(typer.Option, rich_help_panel=WHICH)

Ids = Annotated[
    list[str] | None, which("--ids", metavar="ID", help="A handle (12) or the id of a turn; may be repeated.")
]
Words = Annotated[str | None, which("--query", "-q", metavar="TEXT", help="Every turn with these whole words.")]
Before = Annotated[datetime | None, date_option(rich_help_panel=WHICH, help="Every turn before this date.")]
Expired = Annotated[bool, which("--expired", help="Every turn that retention hides.")]
Everything = Annotated[
    bool,
    which(
        "--everything",
        help="All of the user: every session, with every agent if none is named, and what they wrote in shared spaces.",
    ),
]
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
