"""Copies and compares the events of a log in another log, and takes over existing vectors."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from hybrid_memory.errors import InvalidInputError, StoreError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.visible import Stretches, joined
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services

BATCH = 512


class Digest(Protocol):
    """The methods of a `hashlib` digest that are used here."""

    def update(self, data: bytes, /) -> None: ...
    def hexdigest(self) -> str: ...


@dataclass(slots=True)
class OwnerCopy:
    """The progress of copying one owner.

    Attributes:
        head: the last position to copy.
        position: up to here everything is copied; events, digest: the number of copied events, and a digest of them.
        outdated: whether the original has since erased something that was copied.
    """

    owner: Scope
    head: int
    position: int = 0
    events: int = 0
    digest: Digest = field(default_factory=hashlib.sha256)
    outdated: bool = False


def line_of(event: Event) -> bytes:
    """The event without its owner, as one line of bytes."""
    parts = [
        event.position,
        event.id,
        event.scope.session,
        event.kind,
        event.at.isoformat(),
        event.payload,
        event.sources,
        event.author,
    ]
    return json.dumps(parts, sort_keys=True, ensure_ascii=False).encode(errors="surrogatepass")


async def begun(run: Runner, source: Services, target: Services) -> list[OwnerCopy]:
    """The owners of the source, with what the target already has; writes nothing.

    Raises:
        InvalidInputError: the target contains other events.
    """
    heads, copied = await run.call(source.truth.heads), await run.call(target.truth.heads)
    copies = {owner: OwnerCopy(owner, heads.get(owner, 0)) for owner in sorted({**heads, **copied}, key=_name)}
    for owner, position in copied.items():
        if position > copies[owner].head:
            raise _foreign(owner)
        await _compare(run, source, target, copies[owner], position)
    return list(copies.values())


def _name(owner: Scope) -> tuple[str, ...]:
    return (owner.tenant or "", owner.user or "", owner.agent or "", owner.space or "")


def _foreign(owner: Scope) -> InvalidInputError:
    return InvalidInputError(f"the target has memories of {owner} that are not here: give an empty store")


async def _compare(run: Runner, source: Services, target: Services, copy: OwnerCopy, upto: int) -> None:
    async for ours, theirs in _side_by_side(run, source, target, copy.owner, upto):
        lines = [line_of(event) for event in ours]
        copy.digest.update(b"".join(lines))
        copy.events += len(ours)
        if lines == [line_of(event) for event in theirs]:
            continue
        notes = await run.call(source.truth.read, copy.owner, after=upto, kinds=(EventKind.ERASED,))
        erased = joined((first, last) for note in notes for first, last in note.payload["positions"])
        if not notes or not _explained(ours, theirs, erased):
            raise _foreign(copy.owner)
        copy.outdated = True
    copy.position = upto


async def _side_by_side(
    run: Runner, source: Services, target: Services, owner: Scope, upto: int
) -> AsyncIterator[tuple[list[Event], list[Event]]]:
    """The events of both logs up to a position, stretch by stretch."""
    after = 0
    while after < upto:
        ours = await run.call(source.truth.read, owner, after=after, upto=upto, limit=BATCH)
        end = ours[-1].position if len(ours) == BATCH else upto
        yield ours, await run.call(target.truth.read, owner, after=after, upto=end)
        after = end


def _explained(ours: Sequence[Event], theirs: Sequence[Event], erased: Stretches) -> bool:
    """Whether the difference is only what the source erased or rewrote."""
    here, there = [{event.position: event for event in events} for events in (ours, theirs)]
    if not here.keys() <= there.keys():
        return False
    firsts = [first for first, _ in erased]
    places = [(position, bisect(firsts, position) - 1) for position in there.keys() - here.keys()]
    return all(row >= 0 and position <= erased[row][1] for position, row in places) and all(
        replace(there[position], payload=event.payload) == event for position, event in here.items()
    )


async def copy_events(run: Runner, source: Services, target: Services, copy: OwnerCopy) -> AsyncIterator[int]:
    """Copy missing events to the target batch by batch, reading each back; yields how many there are.

    Raises:
        StoreError: the target does not return what was written.
    """
    if copy.outdated:
        await _renew(run, source, target, copy)
    yield copy.events
    while copy.position < copy.head:
        after = copy.position
        events = await run.call(source.truth.read, copy.owner, after=after, upto=copy.head, limit=BATCH)
        if not events:
            break
        await run.call(target.truth.restore, copy.owner, events)
        copy.position = events[-1].position
        stored = await run.call(target.truth.read, copy.owner, after=after, upto=copy.position)
        _check(copy.owner, events, stored, copy.digest)
        copy.events += len(events)
        yield len(events)


async def _renew(run: Runner, source: Services, target: Services, copy: OwnerCopy) -> None:
    """Repeat in the copy what the source erased or rewrote since it was copied."""
    async for ours, theirs in _side_by_side(run, source, target, copy.owner, copy.position):
        here = {line_of(event): event for event in ours}
        gone = [event.position for event in theirs if here.pop(line_of(event), None) is None]
        if gone:
            await run.call(target.truth.restore, copy.owner, list(here.values()), gone=gone)
    async for ours, theirs in _side_by_side(run, source, target, copy.owner, copy.position):
        _check(copy.owner, ours, theirs)


def _check(owner: Scope, ours: Sequence[Event], theirs: Sequence[Event], digest: Digest | None = None) -> None:
    lines = [line_of(event) for event in ours]
    if lines != [line_of(event) for event in theirs]:
        first, last = ours[0].position, ours[-1].position
        raise StoreError(f"the copy of {owner} differs from the original between #{first} and #{last}")
    if digest is not None:
        digest.update(b"".join(lines))
