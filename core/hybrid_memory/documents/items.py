"""Store items: JSON values that an application puts, finds and destroys under namespaces and keys.

An item has no history: a replaced or destroyed value leaves log, index and files. `ItemsProjection` folds the events
into the current items, `batch` reads and writes them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from heapq import nlargest
from typing import Any, Literal, TypeAlias

from hybrid_memory.arguments import check_fields
from hybrid_memory.config import RetentionConfig, Weights
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.index.derive import category_of
from hybrid_memory.index.record import Where
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Draft
from hybrid_memory.recall.plan import MAX_QUERY_CHARS, Request
from hybrid_memory.recall.recall import recall
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.erasure import Erasure
from hybrid_memory.store.indexing import erase
from hybrid_memory.store.projection import FoldedProjection
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import view_of
from hybrid_memory.text.asking import ends
from hybrid_memory.validation import storable, whole

Namespace: TypeAlias = tuple[str, ...]
"""A path of labels; ``("users", "alice")`` is below ``("users",)``, not below ``("user",)``."""

Name: TypeAlias = tuple[Namespace, str]

CANDIDATES = 1_000
"""Texts from each path of a search, so that all pages of a search have the same ranking."""

NARROWED = 10_000
"""The most namespaces in an engine's filter; with more, results are filtered afterwards."""

REPLACED = 100
"""How many replaced values, or a tenth of the items, accumulate before they are destroyed."""

REFRESHED = 0.01
"""A refresh that adds less than this share of the time to live is not written."""


@dataclass(frozen=True, slots=True)
class Item:
    """A stored value; a copy that you may change.

    Attributes:
        created_at: when its key was first put; updated_at: when it was last put.
        score: in [0, 1], for a search with words; None if it was not ranked.
    """

    namespace: Namespace
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    score: float | None = None


def _check_stored(*values: Any) -> None:
    try:
        storable(values)
    except ValueError as error:
        raise InvalidInputError(f"an item cannot be stored so: {error}") from None


@dataclass(frozen=True, slots=True)
class GetItem:
    """A request for the item of a key; ``refresh`` restarts its time to live.

    Raises:
        InvalidInputError: the namespace or the key is invalid.
    """

    namespace: Namespace
    key: str
    refresh: bool = True

    def __post_init__(self) -> None:
        check_fields(self)
        _check_stored(self.namespace, self.key)


@dataclass(frozen=True, slots=True)
class FindItems:
    """A request for items.

    Attributes:
        prefix: the start of their namespaces, label by label; empty for all.
        query: words to rank them by; without a query, the most recently put items come first.
        where: the values to match; None for all.
        limit, offset: how many to return, and how many to skip first.
        refresh: whether to restart the time to live of the items found.

    Raises:
        InvalidInputError: the prefix is not a valid namespace, or a number is negative.
    """

    prefix: Namespace = ()
    query: str = ""
    where: Callable[[dict[str, Any]], bool] | None = None
    limit: int = 10
    offset: int = 0
    refresh: bool = True

    def __post_init__(self) -> None:
        check_fields(self)
        _check_stored(self.prefix)
        whole("limit", self.limit, 0)
        whole("offset", self.offset, 0)


@dataclass(frozen=True, slots=True)
class PutItem:
    """A request to store a value and replace the previous one; None destroys the item.

    Attributes:
        texts: the texts that a search with words covers; empty for none.
        ttl: its time to live since it was last put or refreshed; None for no limit.

    Raises:
        InvalidInputError: it cannot be stored.
    """

    namespace: Namespace
    key: str
    value: dict[str, Any] | None
    texts: tuple[str, ...] = ()
    ttl: timedelta | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        _check_stored(self.namespace, self.key, self.value, self.texts)


@dataclass(frozen=True, slots=True)
class ListNamespaces:
    """A request for the namespaces that contain items, in order."""


ItemOperation: TypeAlias = GetItem | FindItems | PutItem | ListNamespaces

ItemResult: TypeAlias = Item | list[Item] | list[Namespace] | None
"""The item or None for `GetItem`, items for `FindItems`, namespaces for `ListNamespaces`, None for `PutItem`."""


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


@dataclass(frozen=True, slots=True)
class KeptItems:
    """All items after the events up to a position.

    Attributes:
        items: by namespace and key, those put last at the end.
        dead: positions of events that no longer count but are still in the log, such as replaced values.
        cleaned: when the files were last cleaned; soiled: whether they need cleaning again.
    """

    position: int = 0
    items: Mapping[Name, KeptItem] = field(default_factory=dict)
    dead: frozenset[int] = frozenset()
    cleaned: datetime | None = None
    soiled: bool = False

    def after(self, events: Iterable[Event]) -> KeptItems:
        """The items after these events, which follow by position."""
        items, dead, cleaned, soiled = dict(self.items), set(self.dead), self.cleaned, self.soiled
        position = self.position
        for event in events:
            payload, position = event.payload, event.position
            if event.kind is EventKind.ERASED:
                scrub = payload.get("scrub", "now")
                soiled, cleaned = (False, event.at) if scrub == "now" else (True, cleaned)
                erased = {place for first, last in payload["positions"] for place in range(first, last + 1)}
                unread = erased - dead  # what another process found dead, and this one did not
                dead -= erased
                for name in [name for name, item in items.items() if item.position in unread] if unread else ():
                    del items[name]
            elif "swept" in payload:  # what had expired by then, even if it was refreshed later
                dead.add(position)
                soiled = True
                for name in expired(items, event.at):
                    dead.update(items.pop(name).positions)
            else:
                dead.update(_applied(items, (tuple(payload["namespace"]), payload["key"]), event))
                soiled = soiled or payload.get("value", ()) is None
        return KeptItems(position, items, frozenset(dead), cleaned, soiled)


def expired(items: Mapping[Name, KeptItem], now: datetime) -> list[Name]:
    """The items that have expired."""
    seconds = now.timestamp()
    return [name for name, item in items.items() if item.expires <= seconds]


def _applied(items: dict[Name, KeptItem], name: Name, event: Event) -> Iterable[int]:
    """Put or refresh an item; returns the positions of the events that count no longer."""
    payload, item = event.payload, items.get(name)
    if "refreshed" in payload:
        if item is None or item.position != payload["refreshed"] or item.expires <= event.at.timestamp():
            return [event.position]
        items[name] = replace(item, expires=event.at.timestamp() + item.ttl, refreshed=event.position)
        return [item.refreshed] if item.refreshed else ()
    if "of" in payload:
        items[name] = replace(items[name], texts=(*items[name].texts, event.position))
        return ()
    items.pop(name, None)  # what is put last stands last
    gone = () if item is None else item.positions
    if payload["value"] is None:
        return [*gone, event.position]
    ttl = payload.get("ttl", math.inf)
    items[name] = KeptItem(
        position=event.position,
        value=payload["value"],
        created=datetime.fromisoformat(payload.get("created", event.at.isoformat())),
        updated=event.at,
        ttl=ttl,
        expires=event.at.timestamp() + ttl,
        texts=(event.position,),
        indexed="text" in payload,
    )
    return gone


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
        """The events without texts of items that were replaced or destroyed."""
        kept = await self.read(run, services, owner)

        def is_current(event: Event) -> bool:
            item = kept.items.get((tuple(event.payload.get("namespace", ())), event.payload.get("key", "")))
            return item is not None and event.position in item.texts

        return [event for event in events if event.kind is not EventKind.ITEM or is_current(event)]


async def batch(
    run: Runner, services: Services, owner: Scope, operations: Sequence[ItemOperation], sweep_every: timedelta
) -> list[ItemResult]:
    """The results of `ItemMemory.batch`.

    At most every ``sweep_every``, expired and replaced values are destroyed too, and the files cleaned; replaced values
    also when there are many.
    """
    kept = await services.state(ItemsProjection).read(run, services, owner)
    job = _Batch(run, services, owner, kept, services.clock())
    results = [await job.done(operation) for operation in operations]
    puts = [put for name, put in job.puts.items() if put.value is not None or name in kept.items]
    due = kept.cleaned is None or job.now - kept.cleaned >= sweep_every
    sweep = bool(puts) and due and bool(kept.soiled or expired(kept.items, job.now))
    drafts = [draft for put in puts for draft in job.drafts(put)]
    drafts += [
        _draft(services, job.now, {"refreshed": position, "namespace": list(namespace), "key": key})
        for (namespace, key), position in job.refreshed.items()
    ]
    drafts += [_draft(services, job.now, {"swept": True})] if sweep else []
    if drafts:
        await run.call(services.truth.append, owner, drafts)
    if sweep or any(put.value is None for put in puts):
        await _destroy(run, services, owner, scrub="now" if due else "later")
    elif puts and len(kept.dead) >= max(REPLACED, len(kept.items) // 10):
        await _destroy(run, services, owner, scrub="later")
    return results


async def sweep(run: Runner, services: Services, owner: Scope) -> int:
    """Destroy expired items, and leftovers of a crashed process; returns how many items expired."""
    now = services.clock()
    kept = await services.state(ItemsProjection).read(run, services, owner)
    count = len(expired(kept.items, now))
    if count or kept.soiled:
        await run.call(services.truth.append, owner, [_draft(services, now, {"swept": True})])
    await _destroy(run, services, owner, scrub="now")
    return count


@dataclass(slots=True)
class _Batch:
    """A batch in progress: the items before it, and its writes."""

    run: Runner
    services: Services
    owner: Scope
    kept: KeptItems
    now: datetime
    puts: dict[Name, PutItem] = field(default_factory=dict)
    refreshed: dict[Name, int] = field(default_factory=dict)

    async def done(self, operation: ItemOperation) -> ItemResult:
        """The result of an operation; a write is noted."""
        if isinstance(operation, ListNamespaces):
            return sorted({namespace for namespace, _ in self._live(())})
        if isinstance(operation, PutItem):
            name = operation.namespace, operation.key
            self.puts.pop(name, None)
            self.puts[name] = operation
            return None
        if not isinstance(operation, FindItems):
            name = operation.namespace, operation.key
            item = self._get(name)
            return None if item is None else self._read(name, item, refresh=operation.refresh)
        # The items by rank, followed by those that cannot be ranked, the most recently put first.
        asked = operation

        def matching() -> dict[Name, KeptItem]:
            live = self._live(asked.prefix)
            return {name: item for name, item in live.items() if asked.where is None or asked.where(item.value)}

        matches = await self.run.call(matching)
        scores: dict[Name, float] = {}
        rest, upto = matches, asked.offset + asked.limit
        if asked.query.strip() and matches:
            scores = await self._scores(asked, matches)
            rest = {name: item for name, item in matches.items() if not item.indexed}
        newest = nlargest(max(upto - len(scores), 0), rest, key=lambda name: rest[name].position)
        return [
            self._read(name, matches[name], refresh=asked.refresh, score=scores.get(name))
            for name in [*scores, *newest][asked.offset : upto]
        ]

    def _get(self, name: Name) -> KeptItem | None:
        item = self.kept.items.get(name)
        return None if item is None or item.expires <= self.now.timestamp() else item

    def _live(self, prefix: Namespace) -> dict[Name, KeptItem]:
        """The items under a prefix that have not expired."""
        seconds, size = self.now.timestamp(), len(prefix)
        return {
            name: item for name, item in self.kept.items.items() if name[0][:size] == prefix and item.expires > seconds
        }

    def _read(self, name: Name, item: KeptItem, *, refresh: bool, score: float | None = None) -> Item:
        if refresh and item.expires - self.now.timestamp() < (1 - REFRESHED) * item.ttl:
            self.refreshed[name] = item.position
        return Item(*name, deepcopy(item.value), item.created, item.updated, score)

    async def _scores(self, asked: FindItems, matches: dict[Name, KeptItem]) -> dict[Name, float]:
        """Scores of at least as many items as requested, best first; an item's score is that of its best text."""
        every, spread = Counter(namespace for namespace, _ in self.kept.items), {namespace for namespace, _ in matches}
        narrow = spread if len(spread) < min(len(every), NARROWED) else ()
        where = Where(self.owner, categories=frozenset(map(category_of, narrow)))
        count = asked.offset + asked.limit
        among = sum(every[namespace] for namespace in spread)
        k = count * among // len(matches) + CANDIDATES // 10
        # Without the settings for turns: no item is hidden by age or diversified.
        config = self.services.config
        ranking = config.recall.model_copy(update={"diversity": 0.0, "candidates": CANDIDATES, "origins": ()})
        config = config.model_copy(update={"recall": ranking, "retention": RetentionConfig()})
        view = view_of(replace(self.services, config=config), self.owner, self.services.truth)
        while True:
            request = Request(query=ends(asked.query, MAX_QUERY_CHARS), k=k, where=where, weights=Weights.plain())
            hits = await recall(self.run, view, request)
            scores: dict[Name, float] = {}
            for hit in hits:
                metadata = hit.record.metadata
                name = tuple(metadata.get("namespace", ())), metadata.get("key", "")
                # What somebody put since then stands for what it replaced.
                if name in matches and (hit.record.id in matches[name].texts or hit.record.id > self.kept.position):
                    scores.setdefault(name, hit.score)
            if len(scores) >= count or len(hits) < k:
                return scores
            k *= 4

    def drafts(self, put: PutItem) -> list[Draft]:
        """The events of a put: one with the value and the first text, and one for each further text."""
        name = {"namespace": list(put.namespace), "key": put.key}
        first: dict[str, Any] = {**name, "value": put.value}
        texts = list(dict.fromkeys(text for text in put.texts if text.strip()))
        if put.value is not None:
            before = self._get((put.namespace, put.key))
            first |= {} if before is None else {"created": before.created.isoformat()}
            first |= {} if put.ttl is None else {"ttl": put.ttl.total_seconds()}
            first |= {"text": texts[0]} if texts else {}
        head = _draft(self.services, self.now, first)
        more = texts[1:] if put.value is not None else []
        return [head, *(_draft(self.services, self.now, {**name, "of": head.id, "text": text}) for text in more)]


def _draft(services: Services, now: datetime, payload: dict[str, Any]) -> Draft:
    """An event of a batch; all events of a batch have the same time."""
    return replace(services.draft(EventKind.ITEM, payload), at=now)


async def _destroy(run: Runner, services: Services, owner: Scope, *, scrub: Literal["now", "later"]) -> None:
    """Destroy values that are no longer current; cleaning the files rewrites a whole one: 0.3 s for 30 MB."""
    kept = await services.state(ItemsProjection).read(run, services, owner)
    if kept.dead:
        await erase(run, services, owner, kept.dead, scrub=scrub)
