"""How the items of an owner stand now, and which texts of theirs are to be found no more."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_memory.items.kept import KeptItems
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services

KINDS = (EventKind.ITEM, EventKind.ERASED)


async def kept_items(run: Runner, services: Services, owner: Scope) -> KeptItems:
    """All items, with what other handles and processes wrote by now."""
    known = services.items.get(owner) or KeptItems()
    news = await run.call(services.truth.read, owner, after=known.position, kinds=KINDS)
    if news:
        known = await run.call(known.after, news)
        services.items.put(owner, known)
    return known


async def current(run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> list[Event]:
    """The events without the texts of items that were replaced or destroyed since: they are not to be found."""
    if all(event.kind is not EventKind.ITEM for event in events):
        return list(events)
    kept = await kept_items(run, services, owner.owner)
    return [event for event in events if event.kind is not EventKind.ITEM or _stands(kept, event)]


def _stands(kept: KeptItems, event: Event) -> bool:
    item = kept.get(tuple(event.payload.get("namespace", ())), event.payload.get("key", ""))
    return item is not None and event.position in item.texts
