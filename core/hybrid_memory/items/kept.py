"""The current items, as the events that put, refreshed and destroyed them imply."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeAlias

from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.erasure import Erasure
from hybrid_memory.store.projection import FoldedProjection
from hybrid_memory.store.services import Services

Namespace: TypeAlias = tuple[str, ...]
"""A path of labels; ``("users", "alice")`` is below ``("users",)``, not below ``("user",)``."""


@dataclass(frozen=True, slots=True)
class KeptItem:
    """A current item.

    Attributes:
        position: the position of the event that put it.
        texts: positions of this event and of those with its further texts.
        ttl: in seconds; expires: in seconds since 1970, infinite without a ttl.
        refreshed: position of the event that last refreshed it; 0 if none.
        indexed: whether a search with words can find it.
    """

    position: int
    value: dict[str, Any]
    created: datetime
    updated: datetime
    ttl: float = math.inf
    expires: float = math.inf
    texts: tuple[int, ...] = ()
    refreshed: int = 0
    indexed: bool = False

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of all its events."""
        return (*self.texts, self.refreshed) if self.refreshed else self.texts

    def expired(self, now: datetime) -> bool:
        """Whether its time to live has passed."""
        return self.expires <= now.timestamp()


@dataclass(frozen=True, slots=True)
class KeptItems:
    """All items after the events up to a position.

    Attributes:
        items: by namespace and key.
        dead: positions of events that no longer count but are still in the log, such as replaced values.
        first_expiry: no item expires earlier, in seconds since 1970.
        cleaned: when the files were last cleaned; soiled: whether they need cleaning again.
    """

    position: int = 0
    items: Mapping[Namespace, Mapping[str, KeptItem]] = field(default_factory=dict)
    dead: frozenset[int] = frozenset()
    first_expiry: float = math.inf
    cleaned: datetime | None = None
    soiled: bool = False

    @property
    def count(self) -> int:
        """How many items there are, including expired ones."""
        return sum(map(len, self.items.values()))

    def get(self, namespace: Namespace, key: str) -> KeptItem | None:
        """The item of a key, even if it has expired."""
        return self.items.get(namespace, {}).get(key)

    def live(self, now: datetime, prefix: Namespace = ()) -> Iterator[tuple[Namespace, str, KeptItem]]:
        """The items under a prefix that have not expired."""
        seconds = now.timestamp()
        for namespace, keys in self.items.items():
            if namespace[: len(prefix)] == prefix:
                for key, item in keys.items():
                    if item.expires > seconds:
                        yield namespace, key, item

    def expired(self, now: datetime) -> int:
        """How many items have expired."""
        seconds = now.timestamp()
        if self.first_expiry > seconds:
            return 0
        return sum(item.expires <= seconds for keys in self.items.values() for item in keys.values())

    def after(self, events: Iterable[Event]) -> KeptItems:
        """The items after these events, which follow by position."""
        changes = _Changes(self)
        for event in events:
            changes.add(event)
        return changes.result()


class _Changes:
    """A mutable copy of what changes; the rest is shared."""

    def __init__(self, start: KeptItems) -> None:
        self._items: dict[Namespace, Mapping[str, KeptItem]] = dict(start.items)
        self._open: dict[Namespace, dict[str, KeptItem]] = {}
        self._dead = set(start.dead)
        self._position = start.position
        self._first_expiry = start.first_expiry
        self._cleaned = start.cleaned
        self._soiled = start.soiled
        self._places: dict[int, tuple[Namespace, str]] | None = None

    def add(self, event: Event) -> None:
        payload = event.payload
        self._position = event.position
        if event.kind is EventKind.ERASED:
            self._erase(event)
        elif "swept" in payload:
            self._sweep(event)
        elif "refreshed" in payload:
            self._refresh(event)
        elif "of" in payload:
            self._add_text(event)
        else:
            self._put(event)

    def result(self) -> KeptItems:
        items = {namespace: keys for namespace, keys in self._items.items() if keys}
        return KeptItems(self._position, items, frozenset(self._dead), self._first_expiry, self._cleaned, self._soiled)

    def _keys(self, namespace: Namespace) -> dict[str, KeptItem]:
        if namespace not in self._open:
            self._items[namespace] = self._open[namespace] = dict(self._items.get(namespace, {}))
        return self._open[namespace]

    def _put(self, event: Event) -> None:
        namespace, key, value = tuple(event.payload["namespace"]), event.payload["key"], event.payload["value"]
        keys = self._keys(namespace)
        before = keys.pop(key, None)  # what is put last stands last
        if before is not None:
            self._dead.update(before.positions)
        if value is None:
            self._dead.add(event.position)
            self._soiled = True
            return
        ttl = event.payload.get("ttl", math.inf)
        keys[key] = KeptItem(
            position=event.position,
            value=value,
            created=datetime.fromisoformat(event.payload.get("created", event.at.isoformat())),
            updated=event.at,
            ttl=ttl,
            expires=event.at.timestamp() + ttl,
            texts=(event.position,),
            indexed="text" in event.payload,
        )
        self._first_expiry = min(self._first_expiry, keys[key].expires)
        if self._places is not None:
            self._places[event.position] = namespace, key

    def _add_text(self, event: Event) -> None:
        """Add a further text to the item put just before it."""
        keys = self._keys(tuple(event.payload["namespace"]))
        item = keys[event.payload["key"]]
        keys[event.payload["key"]] = replace(item, texts=(*item.texts, event.position))

    def _refresh(self, event: Event) -> None:
        if self._places is None:
            self._places = {
                item.position: (namespace, key) for namespace, keys in self._items.items() for key, item in keys.items()
            }
        namespace, key = self._places.get(event.payload["refreshed"], ((), ""))
        item = self._items.get(namespace, {}).get(key)
        if item is None or item.position != event.payload["refreshed"] or item.expired(event.at):
            self._dead.add(event.position)
            return
        if item.refreshed:
            self._dead.add(item.refreshed)
        expires = event.at.timestamp() + item.ttl
        self._keys(namespace)[key] = replace(item, expires=expires, refreshed=event.position)

    def _sweep(self, event: Event) -> None:
        """Drop items that had expired by then, even if they were refreshed later."""
        self._dead.add(event.position)
        self._soiled = True
        self._first_expiry = math.inf
        for namespace, keys in list(self._items.items()):
            for key, item in list(keys.items()):
                if item.expired(event.at):
                    self._dead.update(self._keys(namespace).pop(key).positions)
                else:
                    self._first_expiry = min(self._first_expiry, item.expires)

    def _erase(self, event: Event) -> None:
        """Account for what another process may have destroyed that was not known to be dead here."""
        scrub = event.payload.get("scrub", "now")
        self._soiled = scrub == "later" or (self._soiled and scrub != "now")
        self._cleaned = event.at if scrub == "now" else self._cleaned
        erased = {place for first, last in event.payload["positions"] for place in range(first, last + 1)}
        unread = erased - self._dead
        self._dead -= erased
        if unread:
            for namespace, keys in list(self._items.items()):
                for key in [key for key, item in keys.items() if item.position in unread]:
                    del self._keys(namespace)[key]


class ItemsProjection(FoldedProjection[KeptItems]):
    """The items of each owner; texts of replaced or destroyed items are not findable."""

    kinds = frozenset({EventKind.ITEM})
    repeats = kinds
    start = KeptItems
    follows = frozenset({EventKind.ITEM, EventKind.ERASED})
    capacity = 64

    async def forget(self, run: Runner, services: Services, erasure: Erasure) -> None:
        """Mark all items of a user, or those whose value, name or texts contain the words."""
        await super().forget(run, services, erasure)
        if not erasure.words or erasure.everything:
            return
        item: list[Event] = []
        async for events in self.of(run, services, erasure, EventKind.ITEM):
            for event in events:
                if "of" not in event.payload:
                    item = []
                item.append(event)
                if any(erasure.has_words(part.payload) for part in item):
                    erasure.drop(item, "items")

    async def findable(self, run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> Sequence[Event]:
        if all(event.kind is not EventKind.ITEM for event in events):
            return events
        kept = await self.read(run, services, owner)
        return [event for event in events if event.kind is not EventKind.ITEM or _stands(kept, event)]


def _stands(kept: KeptItems, event: Event) -> bool:
    item = kept.get(tuple(event.payload.get("namespace", ())), event.payload.get("key", ""))
    return item is not None and event.position in item.texts
