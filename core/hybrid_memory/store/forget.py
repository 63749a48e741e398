"""``forget``: destroy turns and everything that was derived from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from hybrid_memory.blocks.forget import plain, rewritten_blocks
from hybrid_memory.context.forget import rewritten_summary
from hybrid_memory.context.summary import Line
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.facts.fact import Fact
from hybrid_memory.index.record import Record
from hybrid_memory.log.author import principal_of
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Draft
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.media.media import index_media, unindex_media
from hybrid_memory.recall.hit import Hit
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.expired import expired_turns
from hybrid_memory.store.forget_echoes import rewritten_echoes
from hybrid_memory.store.history import check_span
from hybrid_memory.store.indexing import index_texts
from hybrid_memory.store.outbox import drain
from hybrid_memory.store.reading import runs
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import present
from hybrid_memory.validation import shown

SAID = (EventKind.MESSAGE, EventKind.PAYLOAD, EventKind.QUARANTINED)
"""Kinds that hold words of somebody, and are not derived."""

DERIVED = (EventKind.CLAIM, EventKind.RECALLED, EventKind.COMPACTION)

NAMES = {
    EventKind.MESSAGE: "turns",
    EventKind.QUARANTINED: "turns",
    EventKind.PAYLOAD: "payloads",
    EventKind.CLAIM: "claims",
    EventKind.RECALLED: "notes of what was recalled",
}


@dataclass(frozen=True, slots=True)
class Request:
    """A checked call of forget; exactly one of the first five is given."""

    ids: tuple[str, ...] = ()
    query: str = ""
    user: str = ""
    before: datetime | None = None
    expired: bool = False
    dry_run: bool = False

    @classmethod
    def of(cls, scope: Scope, *, ids: Any, query: Any, user: Any, before: Any, expired: bool, dry_run: bool) -> Request:
        """The request, if its parts are in order; raises `InvalidInputError`."""
        given = [value for value in (ids, query, user, before, expired or None) if value is not None]
        if len(given) != 1:
            raise InvalidInputError("forget what? give exactly one of ids=, query=, user=, before=, expired=True")
        if query is not None and (not isinstance(query, str) or not query.strip()):
            raise InvalidInputError(f"query must be words that the turns contain, got {shown(query)}")
        if user is not None and (not isinstance(user, str) or user != scope.user):
            raise InvalidInputError(f"this is the memory of {scope}: it cannot forget user {shown(user)}")
        if before is not None:
            check_span(before, None)
        return cls(tuple(_names(ids)), plain(query or ""), user or "", before, expired, dry_run)


def _names(ids: Any) -> list[str]:
    """Event ids behind ids, hits, records, lines and facts."""
    if ids is None:
        return []
    if isinstance(ids, str) or not isinstance(ids, Collection):
        ids = [ids]
    names: list[str] = []
    for item in ids:
        named = item.record if isinstance(item, Hit) else item
        if isinstance(named, Record | Fact | Line):
            names += named.sources
        elif isinstance(named, str) and named:
            names.append(named)
        else:
            raise InvalidInputError(f"ids must be event ids, handles, hits, facts or lines, got {shown(item)}")
    if not names:
        raise InvalidInputError("ids is empty: there is nothing to forget")
    return names


@dataclass(slots=True)
class _Plan:
    """What goes, and what is written anew without it."""

    turns: list[Event]
    derived: list[Event] = field(default_factory=list)
    rewritten: dict[int, dict[str, Any]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def positions(self) -> list[int]:
        return sorted(event.position for event in [*self.turns, *self.derived])


async def forget(run: Runner, services: Services, scope: Scope, request: Request) -> Receipt:
    """Destroy what is asked for with everything derived from it, or say what would be destroyed.

    Raises:
        InvalidInputError: an id is not there.
        StoreUnavailableError: it was destroyed, but another process keeps the engine from cleaning up; try again.
    """
    await drain(run, present(services))
    chosen = await _chosen(run, services, scope, request)
    receipt = await _destroy(run, services, scope, chosen, request)
    if not request.dry_run:
        await _clean(run, services)
    if request.query and scope.session is not None:
        found = {event.position for event in await _asked(run, services, scope.owner, request)}
        if left := len(found.difference(receipt.positions)):
            note = f"{left:,} of other sessions hold these words too: a handle without a session reaches them"
            receipt = replace(receipt, note=note)
    return receipt


async def forget_user(run: Runner, services: Services, user: str, tenant: str | None, *, dry_run: bool) -> Receipt:
    """Destroy everything of a user: whatever agent it was told to, and what they wrote into the spaces of the tenant.

    Raises:
        StoreUnavailableError: it was destroyed, but another process keeps the engine from cleaning up; try again.
    """
    await drain(run, services)
    request = Request(user=user, dry_run=dry_run)
    receipts = []
    for owner in await run.call(services.truth.heads):
        if owner.tenant != tenant or (owner.user != user and owner.space is None):
            continue
        said = await run.call(services.truth.read, owner, kinds=SAID)
        if owner.space is not None:
            said = [event for event in said if event.author and principal_of(event.author).user == user]
        receipts.append(await _destroy(run, services, owner, said, request))
    if not dry_run:
        await _clean(run, services)
    counts = sum((Counter(receipt.erased) for receipt in receipts), Counter())
    return Receipt(
        ids=tuple(name for receipt in receipts for name in receipt.ids),
        positions=tuple(place for receipt in receipts for place in receipt.positions),
        erased=dict(counts),
        dry_run=dry_run,
    )


async def _clean(run: Runner, services: Services) -> None:
    for cache in (services.shown, services.embeddings, services.answers, services.facts, services.portraits):
        cache.clear()
    await run.call(services.truth.scrub)
    if services.config.index.url not in {None, services.config.url}:
        await run.call(services.index.scrub)
    if services.media is not None:
        await run.call(services.media.scrub)


async def _destroy(run: Runner, services: Services, scope: Scope, chosen: list[Event], request: Request) -> Receipt:
    plan = await _planned(run, services, scope, chosen, request)
    receipt = Receipt(
        ids=tuple(event.id for event in plan.turns),
        positions=tuple(event.position for event in plan.turns),
        erased=dict(+plan.counts),
        dry_run=request.dry_run,
    )
    if request.dry_run:
        return receipt
    if plan.positions or plan.rewritten:
        note = Draft(
            id=services.new_id(),
            fixed_id=False,
            session=None,
            kind=EventKind.ERASED,
            at=services.clock(),
            payload={"positions": [list(stretch) for stretch in runs(plan.positions)]},
        )
        # A process that has read the turns already can then no longer index them.
        await index_texts(run, services, scope.owner)
        await index_media(run, services, scope.owner)
        indexed = await run.call(services.index.get, plan.positions)
        await run.call(services.truth.erase, scope.owner, plan.positions, plan.rewritten, note)
        await index_texts(run, services, scope.owner)
        media = await unindex_media(run, services, scope.owner, runs(plan.positions))
        receipt = replace(receipt, erased={**receipt.erased, "records": len(indexed) + media})
    return receipt


async def _chosen(run: Runner, services: Services, scope: Scope, request: Request) -> list[Event]:
    """The turns and payloads that are asked for, by position; what was approved in a space, in both its forms."""
    chosen = await _with_notes(run, services, scope, await _asked(run, services, scope, request))
    if scope.space is None or not chosen:
        return chosen
    found = {event.position: event for event in chosen}
    ids = {(event.scope, event.id) for event in chosen}
    waited = {(event.scope, source) for event in chosen for source in event.sources}
    for event in await run.call(services.truth.read, scope.owner, kinds=SAID):
        if (event.scope, event.id) in waited or ids.intersection((event.scope, source) for source in event.sources):
            found[event.position] = event
    return [found[position] for position in sorted(found)]


async def _with_notes(run: Runner, services: Services, scope: Scope, chosen: list[Event]) -> list[Event]:
    """These turns, the notes that were made of them, and what stood in their place before they were edited."""
    ids = {event.id for event in chosen}
    said = await run.call(services.truth.read, scope.owner, kinds=(EventKind.MESSAGE,)) if ids else []
    edited = {
        name
        for event in chosen
        if event.kind is EventKind.MESSAGE and event.message.replaces
        for name in event.message.made_of
    }
    notes = [event for event in said if "made_of" in event.payload.get("extra", ()) and event.id not in ids]
    made = [event for event in notes if not ids.isdisjoint(event.message.made_of)]
    made += [event for event in said if event.id in edited - ids and event not in made]
    return sorted([*chosen, *made], key=lambda event: event.position) if made else chosen


async def _asked(run: Runner, services: Services, scope: Scope, request: Request) -> list[Event]:
    if request.ids:
        return await _named(run, services, scope, request.ids)
    if request.expired:
        return await expired_turns(run, services, scope)
    reach = scope if request.before else scope.owner
    events = await run.call(services.truth.read, reach, kinds=SAID, until=request.before)
    if not request.query:
        return events
    # With a session its turns, and notes, which belong to none.
    sessions = {event.scope.session for event in events} if scope.session is None else {scope.session, None}
    return [event for event in events if event.scope.session in sessions and request.query in plain(_words(event))]


def _words(event: Event) -> str:
    if event.kind is EventKind.PAYLOAD:
        return str(event.payload["text"])
    message = event.message
    calls = " ".join(f"{call.name} {call.written_arguments}" for call in message.tool_calls)
    return f"{message.text} {calls}"


async def _named(run: Runner, services: Services, scope: Scope, names: Sequence[str]) -> list[Event]:
    found: dict[int, Event] = {}
    for name in names:
        if name.startswith("#") and name[1:].isdigit():
            events = await run.call(services.truth.read, scope.owner, after=int(name[1:]) - 1, upto=int(name[1:]))
        else:
            events = await run.call(services.truth.get, scope, [name])
            events = events or await run.call(services.truth.get, scope.owner, [name])
        events = [event for event in events if event.kind in SAID]
        if not events:
            raise InvalidInputError(f"nothing of {scope} has the id {name!r}: nothing was forgotten")
        found |= {event.position: event for event in events}
    return [found[position] for position in sorted(found)]


async def _planned(run: Runner, services: Services, scope: Scope, turns: list[Event], request: Request) -> _Plan:
    """Everything that follows from these turns, and the notes of what was asked in these words."""
    words = request.query
    plan = _Plan(turns, counts=Counter(NAMES[event.kind] for event in turns))
    places = {event.position for event in turns}
    for event in await run.call(services.truth.read, scope.owner, kinds=DERIVED):
        if event.kind is EventKind.COMPACTION:
            anew = await rewritten_summary(run, services, event, turns, plan.counts)
            plan.rewritten |= {} if anew is None else {event.position: anew}
        elif event.payload["source"] in places if event.kind is EventKind.CLAIM else _noted(event, plan.turns, words):
            plan.derived.append(event)
            plan.counts[NAMES[event.kind]] += 1
    echoes = await rewritten_echoes(run, services, scope, turns)
    plan.rewritten |= echoes
    plan.counts["tool messages rewritten"] += len(echoes)
    await _plan_blocks(run, services, scope, request, plan)
    return plan


async def _plan_blocks(run: Runner, services: Services, scope: Scope, request: Request, plan: _Plan) -> None:
    """All blocks and steps of a user, or the lines that came from the turns, from their author, or have the words."""
    if request.user and scope.space is None:
        plan.derived += await run.call(services.truth.read, scope.owner, kinds=(EventKind.BLOCK, EventKind.STEP))
        return
    turns = {turn.id for turn in plan.turns}

    def gone(change: Event) -> bool:
        theirs = bool(request.user and change.author) and principal_of(change.author).user == request.user
        return theirs or not turns.isdisjoint(change.sources)

    blocks = await rewritten_blocks(run, services, scope.owner, gone, request.query)
    plan.rewritten |= blocks
    plan.counts["changes of blocks rewritten"] += len(blocks)


def _noted(note: Event, turns: Sequence[Event], words: str) -> bool:
    """Whether a note of what was recalled goes; it goes as a whole, and its turn shows none then.

    Beside what was recalled it may name files of any turn before it in its session, and holds the question.
    """
    told = {note.payload.get("turn"), *note.sources}
    if any(turn.id in told or (turn.scope == note.scope and turn.position < note.position) for turn in turns):
        return True
    return bool(words) and words in plain(f"{note.payload['query']} {note.payload['text']}")
