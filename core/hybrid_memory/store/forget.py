"""``forget``, ``archive`` and retention: what is destroyed, what leaves the log, and what is hidden for its age."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array, Ids, Numbers
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.index.port import RecordColumns
from hybrid_memory.index.record import RecordKind, Where
from hybrid_memory.log.event import Event, EventKind, principal_of
from hybrid_memory.log.exchanges import without
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.indexing import TextIndex, erase, indexes
from hybrid_memory.store.projection import Erasure, plain, projections
from hybrid_memory.store.remember import drain
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import present
from hybrid_memory.validation import check_span, shown

SAID = (EventKind.MESSAGE, EventKind.PAYLOAD, EventKind.QUARANTINED)
"""Kinds that hold words of somebody, and are not derived."""

NAMES = {EventKind.MESSAGE: "turns", EventKind.QUARANTINED: "turns", EventKind.PAYLOAD: "payloads"}


IMPORTANT = 8.0
"""How many times as slowly what matters most is forgotten as what does not matter."""

WHOLE_BATCH = 10_000


MAX_HANDLE_CHARS = 20
"""A longer number after ``#`` is the position of nothing."""


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """A checked call of forget; exactly one of the first five is given."""

    ids: tuple[Any, ...] = ()
    query: str = ""
    user: str = ""
    before: datetime | None = None
    expired: bool = False
    dry_run: bool = False

    @classmethod
    def of(cls, scope: Scope, *, ids: Any, query: Any, user: Any, before: Any, expired: bool, dry_run: bool) -> Self:
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
        return cls(_listed(ids), plain(query or ""), user or "", before, expired, dry_run)


def _listed(ids: Any) -> tuple[Any, ...]:
    if ids is None:
        return ()
    listed = (ids,) if isinstance(ids, str) or not isinstance(ids, Collection) else tuple(ids)
    if not listed:
        raise InvalidInputError("ids is empty: there is nothing to forget")
    return listed


def _names(services: Services, item: Any) -> Sequence[str]:
    """Event ids behind an id, a handle, or what a projection gave out: a hit, a record, a line or a fact."""
    if isinstance(item, str) and item:
        return [item]
    for projection in projections(services):
        if (sources := projection.sources(item)) is not None:
            return sources
    raise InvalidInputError(f"ids must be event ids, handles, hits, facts or lines, got {shown(item)}")


async def forget(run: Runner, services: Services, scope: Scope, request: ForgetRequest) -> Receipt:
    """Destroy what is asked for with everything derived from it, or say what would be destroyed."""
    await drain(run, present(services))
    chosen = await _chosen(run, services, scope, request)
    erasure = Erasure(scope, chosen, words=request.query, user=request.user)
    receipt = await _destroy(run, services, erasure, dry_run=request.dry_run)
    if not request.dry_run:
        await _clean(run, services)
    if request.query and scope.session is not None:
        matching = {event.position for event in await _asked(run, services, scope.owner, request)}
        if left := len(matching.difference(receipt.positions)):
            note = f"{left:,} of other sessions hold these words too: a handle without a session reaches them"
            receipt = replace(receipt, note=note)
    return receipt


async def forget_user(run: Runner, services: Services, user: str, tenant: str | None, *, dry_run: bool) -> Receipt:
    """Destroy everything of a user: with every agent, and what they wrote into the spaces of the tenant."""
    await drain(run, services)
    receipts = []
    for owner in await run.call(services.truth.heads):
        if owner.tenant != tenant or (owner.user != user and owner.space is None):
            continue
        turns = await run.call(services.truth.read, owner, kinds=SAID)
        if owner.space is not None:
            turns = [event for event in turns if event.author and principal_of(event.author).user == user]
        receipts.append(await _destroy(run, services, Erasure(owner, turns, user=user), dry_run=dry_run))
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
    """Let nothing of what was destroyed stand in caches and files."""
    for projection in projections(services):
        projection.clear()
    await run.call(services.truth.scrub)
    for index in indexes(services):
        await index.scrub(run, services)


async def _destroy(run: Runner, services: Services, erasure: Erasure, *, dry_run: bool) -> Receipt:
    await _complete(run, services, erasure)
    turns, gone = erasure.turns, [event.position for event in erasure.gone]
    counts = dict(+erasure.counts)
    if (gone or erasure.rewritten) and not dry_run:
        counts["records"] = await erase(run, services, erasure.scope.owner, gone, erasure.rewritten)
    return Receipt(
        ids=tuple(event.id for event in turns),
        positions=tuple(event.position for event in turns),
        erased=counts,
        dry_run=dry_run,
    )


async def _complete(run: Runner, services: Services, erasure: Erasure) -> None:
    """Add everything that follows from the turns, and what repeats the words that were asked for."""
    owner = erasure.scope.owner
    erasure.counts.update(NAMES[event.kind] for event in erasure.turns)
    for projection in projections(services):
        if kinds := projection.repeats:
            events = await run.call(services.truth.read, owner, kinds=kinds)
            await projection.forget(run, services, events, erasure)
    messages = [event for event in erasure.turns if event.kind is EventKind.MESSAGE]
    candidates = await run.call(services.truth.read, owner, kinds=(EventKind.MESSAGE,)) if messages else []
    cleared = {event.position: without(event, messages) for event in candidates}
    echoes = {position: payload for position, payload in cleared.items() if payload is not None}
    erasure.rewrite(echoes, "tool messages rewritten")


async def _chosen(run: Runner, services: Services, scope: Scope, request: ForgetRequest) -> list[Event]:
    """The turns and payloads that are asked for, by position; what was approved in a space, in both its forms."""
    chosen = await _with_notes(run, services, scope, await _asked(run, services, scope, request))
    if scope.space is None or not chosen:
        return chosen
    wanted = {event.position: event for event in chosen}
    ids = {(event.scope, event.id) for event in chosen}
    waited = {(event.scope, source) for event in chosen for source in event.sources}
    for event in await run.call(services.truth.read, scope.owner, kinds=SAID):
        if (event.scope, event.id) in waited or ids.intersection((event.scope, source) for source in event.sources):
            wanted[event.position] = event
    return [wanted[position] for position in sorted(wanted)]


async def _with_notes(run: Runner, services: Services, scope: Scope, chosen: list[Event]) -> list[Event]:
    """These turns, the notes that were made of them, and what stood in their place before they were edited."""
    ids = {event.id for event in chosen}
    messages = await run.call(services.truth.read, scope.owner, kinds=(EventKind.MESSAGE,)) if ids else []
    edited = {
        name
        for event in chosen
        if event.kind is EventKind.MESSAGE and event.message.replaces
        for name in event.message.made_of
    }
    notes = [event for event in messages if "made_of" in event.payload.get("extra", ()) and event.id not in ids]
    made = [event for event in notes if not ids.isdisjoint(event.message.made_of)]
    made += [event for event in messages if event.id in edited - ids and event not in made]
    return sorted([*chosen, *made], key=lambda event: event.position) if made else chosen


async def _asked(run: Runner, services: Services, scope: Scope, request: ForgetRequest) -> list[Event]:
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


async def _named(run: Runner, services: Services, scope: Scope, items: Sequence[Any]) -> list[Event]:
    by_position: dict[int, Event] = {}
    for name in [name for item in items for name in _names(services, item)]:
        if name.startswith("#") and name[1:].isdecimal() and len(name) < MAX_HANDLE_CHARS:
            events = await run.call(services.truth.read, scope.owner, after=int(name[1:]) - 1, upto=int(name[1:]))
        else:
            events = await run.call(services.truth.get, scope, [name])
            events = events or await run.call(services.truth.get, scope.owner, [name])
        events = [event for event in events if event.kind in SAID]
        if not events:
            raise InvalidInputError(f"nothing of {scope} has the id {name!r}: nothing was forgotten")
        by_position |= {event.position: event for event in events}
    return [by_position[position] for position in sorted(by_position)]


def retention(age_seconds: Array, importance: Array, uses: Numbers, half_life_seconds: float) -> Array:
    """``0.5 ** (age / (half_life * 8 ** importance * (1 + uses)))``, in (0, 1]: 1 now, and for what lies ahead.

    After a half-life 0.5 is left of what has no importance and was never used. The age counts from the last use, so
    that a use both refreshes and strengthens. Exponential forgetting over a strength is the model of Woźniak et al.
    1995 for Ebbinghaus' curve; that the half-life grows exponentially with what speaks for a memory is that of Settles
    and Meeder 2016, and a strength that every use raises by one that of MemoryBank (Zhong et al. 2023).
    """
    strength = IMPORTANT**importance * (1.0 + uses)
    left = np.exp2(-np.maximum(age_seconds, 0.0) / (half_life_seconds * strength))
    return np.asarray(np.maximum(left, np.finfo(np.float64).tiny))


def retained(services: Services, columns: RecordColumns) -> npt.NDArray[np.bool_]:
    """Which of the records are remembered well enough to be found; all where nothing is to be forgotten."""
    return kept(
        services, np.maximum(columns.at, columns.last_used), columns.importance.astype(np.float64), columns.uses
    )


def kept(services: Services, fresh: Array, importance: Array, uses: Ids) -> npt.NDArray[np.bool_]:
    """The same for columns; ``fresh`` is when each was said or used last, in seconds since 1970."""
    policy = services.config.retention
    if policy.half_life is None:
        return np.ones(len(fresh), dtype=bool)
    age = np.maximum(services.clock().timestamp() - fresh, 0.0)
    left = retention(age, importance, uses, policy.half_life.total_seconds())
    enough: npt.NDArray[np.bool_] = left >= policy.least
    return enough


async def expired_turns(run: Runner, services: Services, scope: Scope) -> list[Event]:
    """The turns of the scope that the policy hides, by position."""
    await services.state(TextIndex).follow(run, services, scope.owner)
    now = services.clock()
    events = await run.call(services.truth.read, scope, kinds=(EventKind.MESSAGE,))
    age = services.config.retention.ttl.get(RecordKind.TURN.value)
    old = {event.position for event in events if age is not None and event.at < now - age}
    for start in range(0, len(events), WHOLE_BATCH):
        ids = np.array([event.position for event in events[start : start + WHOLE_BATCH]], dtype=np.int64)
        columns = await run.call(services.index.columns, ids, Where(scope), 0)
        old |= set(columns.ids[~retained(services, columns)].tolist())
    return [event for event in events if event.position in old]


async def archive(run: Runner, services: Services) -> Receipt:
    """Move what is older than configured, of every owner; nothing where no archive is configured."""
    present(services)
    if services.archive is None:
        return Receipt()
    before = services.clock() - services.config.archive.after
    count = 0
    for owner in await run.call(services.truth.heads):
        count += await run.call(services.archive.expire, owner, before)
    return Receipt(archived=count)
