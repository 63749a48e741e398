"""``forget`` and ``archive``: what is destroyed, and what moves out of the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from typing import Any

import numpy as np

from hybrid_memory.errors import InvalidInputError, OutdatedError
from hybrid_memory.index.record import RecordKind, Where
from hybrid_memory.log.event import Event, EventKind, handle, principal_of
from hybrid_memory.log.exchanges import Echoes
from hybrid_memory.log.message import EARLIER, PRESSURE, REPLACES
from hybrid_memory.log.port import Receipt
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tracing import Span, traced
from hybrid_memory.scope import Scope
from hybrid_memory.store.erasure import SAID, Erasure, holds, plain, stream, texts_of
from hybrid_memory.store.indexing import TextIndex
from hybrid_memory.store.keepout import FORGOTTEN, digest_of, distinctive, keep, notes_of, term_of, unsaid, within
from hybrid_memory.store.projection import projections
from hybrid_memory.store.remember import drain
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import present, retained
from hybrid_memory.text.tokenize import terms
from hybrid_memory.validation import check_span, shown

SHOWN_CHARS = 200  # how much of a turn a dry run shows
ROUND = 10_000  # turns destroyed in one transaction; more take several, and the call can be repeated after a crash

TRIES = 8
"""How often to plan again because others wrote in the meantime; then erase anyway and examine the rest afterwards."""


MAX_HANDLE_CHARS = 20  # a longer number after ``#`` is not a position


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """A call of forget; exactly one of the first five is given."""

    ids: Any
    query: str | None
    user: str | None
    before: datetime | None
    expired: bool
    dry_run: bool
    keep_out: bool

    def check(self, scope: Scope) -> None:
        """Raise `InvalidInputError` if an argument is invalid."""
        query = self.query
        if sum(value not in (None, False) for value in (self.ids, query, self.user, self.before, self.expired)) != 1:
            raise InvalidInputError("give exactly one of ids=, query=, user=, before=, expired=True")
        if query is not None and not plain(query):
            raise InvalidInputError(f"query must be words that the turns contain, got {shown(query)}")
        if self.keep_out and self.ids is None and query is None:
            raise InvalidInputError("keep_out=True needs ids= or query=: whose words must not come back?")
        if self.keep_out and query is not None and (scope.session is not None or not terms(query)):
            problem = "reaches all sessions: use scoped() without session=" if terms(query) else "needs a rare word"
            raise InvalidInputError(f"keep_out=True with query={shown(query)} {problem}")
        if self.user not in (None, scope.user):
            raise InvalidInputError(f"this is the memory of {scope}: it cannot forget user {shown(self.user)}")
        check_span(self.before, None)


def _forgotten(span: Span, receipt: Receipt) -> None:
    span.attributes |= {"count": len(receipt.positions), "dry_run": receipt.dry_run}


@traced("forget", after=_forgotten)
async def forget(run: Runner, services: Services, scope: Scope, request: ForgetRequest) -> Receipt:
    """Destroy what is requested with everything derived from it, or report what would be destroyed."""
    request.check(scope)
    await drain(run, present(services))
    query, before = request.query or "", request.before
    words = plain(query)
    receipts: list[Receipt] = []
    elsewhere: set[int] = set()
    keeps, kept = request.keep_out and not request.dry_run, 0
    if keeps and query:  # first, so that nobody repeats it meanwhile
        kept = await keep(run, services, scope.owner, [term_of(query)])
    candidates = distinctive(query) if keeps else set()
    async for asked in rounds(_asked(run, services, scope, request, elsewhere=elsewhere)):
        turns = await _closed(run, services, scope, asked)
        if keeps and not query:
            candidates = candidates.union(*(distinctive(texts_of(turn)) for turn in turns))
        erasure = Erasure(scope, turns, words, request.user or "", before)
        receipts.append(await _destroy(run, services, erasure, dry_run=request.dry_run))
        words, before = "", None  # looked for all over in the first round
    if not request.dry_run:
        await _clean(run, services, scope.owner)
    receipt = _together(receipts, dry_run=request.dry_run)
    if left := len(elsewhere.difference(receipt.positions)):
        note = f"{left:,} of other sessions hold these words too: a handle without a session reaches them"
        receipt = replace(receipt, note=note)
    if not keeps:
        return receipt
    kept += await keep(run, services, scope.owner, await unsaid(run, services, scope.owner, candidates))
    note = receipt.note if kept else "no rare word was found to keep out: give query= with the words"
    return replace(receipt, kept_out=kept, note=note)


@traced("forget", after=_forgotten)
async def forget_user(run: Runner, services: Services, user: str, tenant: str | None, *, dry_run: bool) -> Receipt:
    """Destroy everything of a user: with every agent, and what they wrote into the tenant's spaces."""
    await drain(run, services)
    receipts = []
    for owner in await run.call(services.truth.heads):
        if owner.tenant != tenant or (owner.user != user and owner.space is None):
            continue
        parts = rounds(_said_by(run, services, owner, user))
        receipts += [
            await _destroy(run, services, Erasure(owner, turns, user=user), dry_run=dry_run) async for turns in parts
        ]
    if not dry_run:
        await _clean(run, services, None)
    return _together(receipts, dry_run=dry_run)


async def _said_by(run: Runner, services: Services, owner: Scope, user: str) -> AsyncIterator[list[Event]]:
    """A user's messages: all of their own memory, where everything goes, or what they wrote into a space."""
    async for events in stream(run, services.truth, owner, kinds=SAID):
        yield [
            event
            for event in events
            if owner.space is None or (event.author and principal_of(event.author).user == user)
        ]


async def rounds(batches: AsyncIterator[list[Event]]) -> AsyncIterator[list[Event]]:
    """The events of the batches, grouped into rounds; the last one may be empty."""
    gathered: list[Event] = []
    async for batch in batches:
        gathered += batch
        while len(gathered) >= ROUND:
            yield gathered[:ROUND]
            gathered = gathered[ROUND:]
    yield gathered


def _together(receipts: Sequence[Receipt], *, dry_run: bool) -> Receipt:
    return Receipt(
        ids=tuple(name for receipt in receipts for name in receipt.ids),
        positions=tuple(place for receipt in receipts for place in receipt.positions),
        erased=dict(sum((Counter(receipt.erased) for receipt in receipts), Counter())),
        dry_run=dry_run,
        turns=tuple(line for receipt in receipts for line in receipt.turns),
    )


async def _clean(run: Runner, services: Services, owner: Scope | None) -> None:
    """Remove everything that this owner's events said from caches and files."""
    for projection in projections(services):
        projection.clear(owner)
    await run.call(services.truth.scrub)
    await services.state(TextIndex).scrub(run, services)


async def _destroy(run: Runner, services: Services, erasure: Erasure, *, dry_run: bool) -> Receipt:
    """Destroy it with everything derived from it, including what is derived concurrently.

    Everyone who derives something from the log states up to which position they had read it, and is refused if
    something was erased after that; so nothing derived appears after the erasure itself.
    """
    owner, erased = erasure.scope.owner, Counter[str]()
    for tries in count():
        upto = await run.call(services.truth.head, owner)
        if erasure.everything:
            erasure.rewrite(await notes_of(run, services, owner), "kept-out notes")
        else:
            await _add_repeating(run, services, erasure)
        for projection in projections(services):
            if projection.repeats:
                await projection.forget(run, services, erasure)
        erasure.after = upto
        if dry_run or not (erasure.gone or erasure.rewritten):
            break
        seen = upto if tries < TRIES else None
        try:
            said = () if erasure.everything else (turn for turn in erasure.turns if turn.kind is EventKind.MESSAGE)
            digests = [digest_of(owner, one.id, one.payload) for one in said if one.message.event != PRESSURE]
            note = {FORGOTTEN: digests} if digests else {}
            gone, rewritten, index = erasure.gone, erasure.rewritten, services.state(TextIndex)
            erased["records"] += await index.erase(run, services, owner, gone, rewritten, seen=seen, **note)
        except OutdatedError:
            continue
        if tries != TRIES:  # then once more, for what came before it
            break
    turns = sorted(erasure.turns, key=lambda event: event.position)
    return Receipt(
        ids=tuple(event.id for event in turns),
        positions=tuple(event.position for event in turns),
        erased=+erasure.counts | erased,
        dry_run=dry_run,
        turns=tuple(map(_line, turns)) if dry_run else (),
    )


def _line(event: Event) -> str:
    """What a dry run shows of a turn or payload."""
    of_payload = event.kind is EventKind.PAYLOAD
    speaker, text = ("payload", event.payload["text"]) if of_payload else (event.message.speaker, event.message.text)
    said = " ".join(str(text or texts_of(event).replace("\x00", " ")).split())
    return f"{handle(event.position, event.position)}  {event.at:%Y-%m-%d %H:%M}  {speaker}: {said[:SHOWN_CHARS]}"


async def _add_repeating(run: Runner, services: Services, erasure: Erasure) -> None:
    """Add messages made from the turns, and what the memory's own tools repeat of them."""
    first = min(erasure.places, default=None)
    if first is None:
        return
    echoes = Echoes(event for event in erasure.turns if event.kind is EventKind.MESSAGE)
    after = max(erasure.after, first - 1)
    async for events in stream(run, services.truth, erasure.scope.owner, kinds=SAID, after=after):
        cleared = {}
        for event in events:
            if event.position in erasure.places:
                continue
            extra = event.payload.get("extra", {}) if event.kind is EventKind.MESSAGE else {}
            names = extra.get("made_of")
            # A note, an edited message, a piece of a file; or a message that was released into a space.
            made = (isinstance(names, list) and erasure.made_of(names)) or erasure.made_of(extra.get(EARLIER, ()))
            released = event.scope.space is not None and erasure.made_of(event.sources, event.scope.session)
            if made or released:
                erasure.add(event)
                echoes.add(event)
            elif (payload := echoes.without(event)) is not None:
                cleared[event.position] = payload
        erasure.rewrite(cleared, "tool messages rewritten")


async def _closed(run: Runner, services: Services, scope: Scope, chosen: list[Event]) -> list[Event]:
    """These turns, and their versions before they were edited."""
    found, new = {event.position: event for event in chosen}, chosen
    while new:
        edited = {name for event in new if REPLACES in event.payload.get("extra", ()) for name in event.message.made_of}
        edited |= {name for event in new for name in event.payload.get("extra", {}).get(EARLIER, ())}
        before = await run.call(services.truth.get, scope.owner, sorted(edited)) if edited else []
        new = [event for event in before if event.kind in SAID and event.position not in found]
        found |= {event.position: event for event in new}
    return [found[position] for position in sorted(found)]


async def _asked(
    run: Runner, services: Services, scope: Scope, request: ForgetRequest, *, elsewhere: set[int]
) -> AsyncIterator[list[Event]]:
    """The requested turns and payloads, by position; ``elsewhere`` collects those of sessions out of reach."""
    if request.ids is not None:
        yield await _named(run, services, scope, request.ids)
    elif request.expired:
        async for events in expired_turns(run, services, scope):
            yield events
    elif request.user:
        async for events in _said_by(run, services, scope.owner, request.user):
            yield events
    elif request.before:
        async for events in stream(run, services.truth, scope, kinds=SAID, until=request.before):
            yield events
    else:
        query = request.query or ""
        words, term = plain(query), term_of(query) if request.keep_out else ()  # also where it has other separators

        def is_held(event: Event) -> bool:
            text = texts_of(event)
            return holds(words, plain(text)) or bool(term and within([term], text))

        async for events in stream(run, services.truth, scope.owner, kinds=SAID):
            holding = await run.call(list, filter(is_held, events))
            # With a session its turns, and notes, which belong to none.
            mine = [event for event in holding if scope.session is None or event.scope.session in (scope.session, None)]
            elsewhere.update({event.position for event in holding} - {event.position for event in mine})
            yield mine


async def _named(run: Runner, services: Services, scope: Scope, ids: Any) -> list[Event]:
    """The events behind ids, handles, and objects that a projection returned: hits, records, lines and facts."""
    items, names = list(ids) if isinstance(ids, Collection) and not isinstance(ids, str) else [ids], list[str]()
    if not items:
        raise InvalidInputError("ids is empty: there is nothing to forget")
    for item in items:
        every = (projection.sources(item) for projection in projections(services))
        sources = [item] if isinstance(item, str) and item else next((one for one in every if one is not None), None)
        if sources is None:
            raise InvalidInputError(f"ids must be event ids, handles, hits, facts or lines, got {shown(item)}")
        names += sources
    handles = [name for name in names if name.startswith("#") and name[1:].isdecimal() and len(name) < MAX_HANDLE_CHARS]
    found: dict[str, list[Event]] = {}
    for name in dict.fromkeys(handles):
        place = int(name[1:])
        found[name] = await run.call(services.truth.read, scope.owner, after=place - 1, upto=place)
    for where in dict.fromkeys((scope, scope.owner)):  # an id without a session is searched everywhere
        left = [name for name in dict.fromkeys(names) if name not in found]
        for event in await run.call(services.truth.get, where, left) if left else ():
            found.setdefault(event.id, []).append(event)
    found = {name: [event for event in events if event.kind in SAID] for name, events in found.items()}
    for name in names:
        if not found.get(name):
            raise InvalidInputError(f"{scope} has nothing with the id {name!r}: nothing was forgotten")
    by_position = {event.position: event for events in found.values() for event in events}
    return [by_position[position] for position in sorted(by_position)]


async def archive(run: Runner, services: Services) -> Receipt:
    """Move events older than configured to the archive, for every owner; does nothing without an archive."""
    present(services)
    if services.archive is None:
        return Receipt()
    before = services.clock() - services.config.archive.after
    moved = 0
    for owner in await run.call(services.truth.heads):
        moved += await run.call(services.archive.expire, owner, before)
    return Receipt(archived=moved)


async def expired_turns(run: Runner, services: Services, scope: Scope) -> AsyncIterator[list[Event]]:
    """The scope's turns that the retention policy hides, by position, in batches."""
    await services.state(TextIndex).follow(run, services, scope.owner)
    now = services.clock()
    age = services.config.retention.ttl.get(RecordKind.TURN.value)
    async for events in stream(run, services.truth, scope, kinds=(EventKind.MESSAGE,), size=ROUND):
        ids = np.array([event.position for event in events], dtype=np.int64)
        columns = await run.call(services.index.columns, ids, Where(scope), 0)
        hidden = set(columns.ids[~retained(services, columns)].tolist())
        yield [event for event in events if event.position in hidden or (age is not None and event.at < now - age)]
