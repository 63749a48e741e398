"""Store items: JSON values that an application puts, finds and destroys under namespaces and keys.

An item has no history: a replaced or destroyed value leaves log, index and files. `ItemsProjection` folds the events
into the current items, `batch` reads and writes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from heapq import nlargest
from typing import Any, Literal, TypeAlias

from hybrid_memory.arguments import check_fields
from hybrid_memory.config import RetentionConfig
from hybrid_memory.config.memory import Weights
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
from hybrid_memory.validation import shown, storable

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


def _check_name(namespace: Namespace, key: str) -> None:
    for label in (*namespace, key):
        try:
            storable(label)
        except ValueError as error:
            raise InvalidInputError(f"no label or key can be {shown(label)}: {error}") from None


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
        _check_name(self.namespace, self.key)


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
        _check_name(self.prefix, "")
        if self.limit < 0 or self.offset < 0:
            raise InvalidInputError(f"limit and offset must be 0 or more, got {self.limit} and {self.offset}")


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
        _check_name(self.namespace, self.key)
        try:
            storable([self.value, *self.texts])
        except ValueError as error:
            raise InvalidInputError(f"the value of {shown(self.key)}: {error}") from None


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

    def expired(self, now: datetime) -> bool:
        """Whether its time to live has passed."""
        return self.expires <= now.timestamp()


@dataclass(frozen=True, slots=True)
class KeptItems:
    """All items after the events up to a position.

    Attributes:
        items: by namespace and key.
        dead: positions of events that no longer count but are still in the log, such as replaced values.
        cleaned: when the files were last cleaned; soiled: whether they need cleaning again.
    """

    position: int = 0
    items: Mapping[Namespace, Mapping[str, KeptItem]] = field(default_factory=dict)
    dead: frozenset[int] = frozenset()
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
        self._cleaned = start.cleaned
        self._soiled = start.soiled

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
            keys = self._keys(tuple(event.payload["namespace"]))
            item = keys[event.payload["key"]]
            keys[event.payload["key"]] = replace(item, texts=(*item.texts, event.position))
        else:
            self._put(event)

    def result(self) -> KeptItems:
        items = {namespace: keys for namespace, keys in self._items.items() if keys}
        return KeptItems(self._position, items, frozenset(self._dead), self._cleaned, self._soiled)

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

    def _refresh(self, event: Event) -> None:
        namespace, key = tuple(event.payload["namespace"]), event.payload["key"]
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
        for namespace, keys in list(self._items.items()):
            for key, item in list(keys.items()):
                if item.expired(event.at):
                    self._dead.update(self._keys(namespace).pop(key).positions)

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
        """The events without texts of items that were replaced or destroyed."""
        if all(event.kind is not EventKind.ITEM for event in events):
            return events
        kept = await self.read(run, services, owner)

        def is_current(event: Event) -> bool:
            item = kept.get(tuple(event.payload.get("namespace", ())), event.payload.get("key", ""))
            return item is not None and event.position in item.texts

        return [event for event in events if event.kind is not EventKind.ITEM or is_current(event)]


@dataclass(slots=True)
class _Batch:
    """A batch in progress: the items before it, and its writes."""

    owner: Scope
    kept: KeptItems
    now: datetime
    puts: dict[Name, PutItem] = field(default_factory=dict)
    refreshed: dict[Name, int] = field(default_factory=dict)

    def get(self, namespace: Namespace, key: str) -> KeptItem | None:
        item = self.kept.get(namespace, key)
        return None if item is None or item.expired(self.now) else item

    def read(
        self, namespace: Namespace, key: str, item: KeptItem, *, refresh: bool, score: float | None = None
    ) -> Item:
        left = item.expires - self.now.timestamp()
        if refresh and left < (1 - REFRESHED) * item.ttl:
            self.refreshed[namespace, key] = item.position
        return Item(namespace, key, deepcopy(item.value), item.created, item.updated, score)


async def batch(
    run: Runner, services: Services, owner: Scope, operations: Sequence[ItemOperation], sweep_every: timedelta
) -> list[ItemResult]:
    """The results, in order. Reads see the items before the batch; its writes are applied together, all or nothing.

    Of several puts with the same key, the last one counts. Destroyed items are gone from log and index on return. At
    most every ``sweep_every``, expired and replaced values are destroyed too, and the files cleaned; replaced values
    also when there are many.
    """
    now = services.clock()
    job = _Batch(owner, await services.state(ItemsProjection).read(run, services, owner), now)
    results = [await _done(run, services, job, operation) for operation in operations]
    puts = [put for name, put in job.puts.items() if put.value is not None or job.kept.get(*name) is not None]
    due = job.kept.cleaned is None or now - job.kept.cleaned >= sweep_every
    sweep = bool(puts) and due and bool(job.kept.soiled or job.kept.expired(now))
    drafts = [draft for put in puts for draft in _drafts(services, job, put)]
    drafts += [
        _draft(services, now, {"refreshed": position, "namespace": list(namespace), "key": key})
        for (namespace, key), position in job.refreshed.items()
    ]
    drafts += [_draft(services, now, {"swept": True})] if sweep else []
    if drafts:
        await run.call(services.truth.append, owner, drafts)
    if sweep or any(put.value is None for put in puts):
        await _destroy(run, services, owner, scrub="now" if due else "later")
    elif puts and len(job.kept.dead) >= REPLACED and len(job.kept.dead) >= job.kept.count // 10:
        await _destroy(run, services, owner, scrub="never")
    return results


async def sweep(run: Runner, services: Services, owner: Scope) -> int:
    """Destroy expired items, and leftovers of a crashed process; returns how many items expired."""
    now = services.clock()
    kept = await services.state(ItemsProjection).read(run, services, owner)
    count = kept.expired(now)
    if count or kept.soiled:
        await run.call(services.truth.append, owner, [_draft(services, now, {"swept": True})])
    await _destroy(run, services, owner, scrub="now")
    return count


async def _done(run: Runner, services: Services, job: _Batch, operation: ItemOperation) -> ItemResult:
    if isinstance(operation, FindItems):
        return await _find(run, services, job, operation)
    if isinstance(operation, ListNamespaces):
        return sorted({namespace for namespace, _, _ in job.kept.live(job.now)})
    namespace, key = name = operation.namespace, operation.key
    if isinstance(operation, PutItem):
        job.puts.pop(name, None)
        job.puts[name] = operation
        return None
    item = job.get(namespace, key)
    return None if item is None else job.read(namespace, key, item, refresh=operation.refresh)


async def _find(run: Runner, services: Services, job: _Batch, asked: FindItems) -> list[Item]:
    """The items by rank, followed by those that cannot be ranked, the most recently put first."""

    def matching() -> dict[Name, KeptItem]:
        return {
            (namespace, key): item
            for namespace, key, item in job.kept.live(job.now, asked.prefix)
            if asked.where is None or asked.where(item.value)
        }

    matches = await run.call(matching)
    scores: dict[Name, float] = {}
    rest, upto = matches, asked.offset + asked.limit
    if asked.query.strip() and matches:
        scores = await _scores(run, services, job, asked, matches)
        rest = {name: item for name, item in matches.items() if not item.indexed}
    newest = nlargest(upto - len(scores), rest, key=lambda name: rest[name].position) if len(scores) < upto else []
    return [
        job.read(*name, matches[name], refresh=asked.refresh, score=scores.get(name))
        for name in [*scores, *newest][asked.offset : upto]
    ]


async def _scores(
    run: Runner, services: Services, job: _Batch, asked: FindItems, matches: dict[Name, KeptItem]
) -> dict[Name, float]:
    """Scores of at least as many items as requested, best first; an item's score is that of its best text."""
    spread = {namespace for namespace, _ in matches}
    narrow = spread if len(spread) < min(len(job.kept.items), NARROWED) else ()
    where = Where(job.owner, categories=frozenset(map(category_of, narrow)))
    count = asked.offset + asked.limit
    among = sum(len(job.kept.items[namespace]) for namespace in spread)
    k = count * among // len(matches) + CANDIDATES // 10
    # Without the settings for turns: no item is hidden by age or diversified.
    ranking = services.config.recall.model_copy(update={"diversity": 0.0, "candidates": CANDIDATES, "origins": ()})
    config = services.config.model_copy(update={"recall": ranking, "retention": RetentionConfig()})
    view = view_of(replace(services, config=config), job.owner, services.truth)
    while True:
        request = Request(query=ends(asked.query, MAX_QUERY_CHARS), k=k, where=where, weights=Weights.plain())
        hits = await recall(run, view, request)
        scores: dict[Name, float] = {}
        for hit in hits:
            metadata = hit.record.metadata
            name = tuple(metadata.get("namespace", ())), metadata.get("key", "")
            # What somebody put since then stands for what it replaced.
            if name in matches and (hit.record.id in matches[name].texts or hit.record.id > job.kept.position):
                scores.setdefault(name, hit.score)
        if len(scores) >= count or len(hits) < k:
            return scores
        k *= 4


def _drafts(services: Services, job: _Batch, put: PutItem) -> list[Draft]:
    now, before = job.now, job.get(put.namespace, put.key)
    name = {"namespace": list(put.namespace), "key": put.key}
    first: dict[str, Any] = {**name, "value": put.value}
    if put.value is None:
        return [_draft(services, now, first)]
    if before is not None:
        first["created"] = before.created.isoformat()
    if put.ttl is not None:
        first["ttl"] = put.ttl.total_seconds()
    texts = list(dict.fromkeys(text for text in put.texts if text.strip()))
    if texts:
        first["text"] = texts[0]
    head = _draft(services, now, first)
    return [head, *(_draft(services, now, {**name, "of": head.id, "text": text}) for text in texts[1:])]


def _draft(services: Services, now: datetime, payload: dict[str, Any]) -> Draft:
    """An event of a batch; all events of a batch have the same time."""
    return replace(services.draft(EventKind.ITEM, payload), at=now)


async def _destroy(run: Runner, services: Services, owner: Scope, *, scrub: Literal["now", "later", "never"]) -> None:
    """Destroy values that are no longer current; cleaning the files rewrites a whole one: 0.3 s for 30 MB."""
    kept = await services.state(ItemsProjection).read(run, services, owner)
    if kept.dead:
        await erase(run, services, owner, kept.dead, scrub=scrub)
