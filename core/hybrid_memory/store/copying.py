"""Copies and compares the events of a log in another log, and takes over existing vectors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Protocol

from hybrid_memory.errors import InvalidInputError, StoreError
from hybrid_memory.log.event import Event
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
    """

    owner: Scope
    head: int
    position: int = 0
    events: int = 0
    digest: Digest = field(default_factory=hashlib.sha256)


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
    return InvalidInputError(
        f"the target has memories of {owner} that are not here, or were forgotten here since: give an empty store"
    )


async def _compare(run: Runner, source: Services, target: Services, copy: OwnerCopy, upto: int) -> None:
    while copy.position < upto:
        after = copy.position
        ours = await run.call(source.truth.read, copy.owner, after=after, upto=upto, limit=BATCH)
        copy.position = ours[-1].position if len(ours) == BATCH else upto
        theirs = await run.call(target.truth.read, copy.owner, after=after, upto=copy.position)
        lines = [line_of(event) for event in ours]
        if lines != [line_of(event) for event in theirs]:
            raise _foreign(copy.owner)
        copy.digest.update(b"".join(lines))
        copy.events += len(ours)


async def copy_events(run: Runner, source: Services, target: Services, copy: OwnerCopy) -> AsyncIterator[int]:
    """Copy missing events to the target batch by batch, reading each back; yields how many there are.

    Raises:
        StoreError: the target does not return what was written.
    """
    yield copy.events
    while copy.position < copy.head:
        after = copy.position
        events = await run.call(source.truth.read, copy.owner, after=after, upto=copy.head, limit=BATCH)
        if not events:
            break
        await run.call(target.truth.restore, copy.owner, events)
        copy.position = events[-1].position
        stored = await run.call(target.truth.read, copy.owner, after=after, upto=copy.position)
        lines = [line_of(event) for event in events]
        if lines != [line_of(event) for event in stored]:
            raise StoreError(
                f"the copy of {copy.owner} differs from the original between #{events[0].position} and #{copy.position}"
            )
        copy.digest.update(b"".join(lines))
        copy.events += len(events)
        yield len(events)
