"""Store items: JSON values that an application puts, finds and destroys under namespaces and keys.

An item has no history: a replaced or destroyed value leaves log, index and files. `ItemsProjection` folds the events
into the current items, `batch` reads and writes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from heapq import nlargest
from typing import Any, TypeAlias

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
from hybrid_memory.store.indexing import TextIndex
from hybrid_memory.store.projection import FoldedProjection
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import view_of
from hybrid_memory.text.asking import ends
from hybrid_memory.validation import storable, whole

Namespace: TypeAlias = tuple[str, ...]
"""A path of labels; ``("users", "alice")`` is below ``("users",)``, not below ``("user",)``."""

Name: TypeAlias = tuple[Namespace, str]

CANDIDATES = 1_000  # texts from each path of a search, so that all pages of a search have the same ranking
NARROWED = 10_000  # the most namespaces in an engine's filter; with more, results are filtered afterwards
REPLACED = 100  # how many replaced values, or a tenth of the items, accumulate before they are destroyed

SCRUB_EVERY = timedelta(minutes=5)
"""The least time between two cleanings of the files, which rewrite a whole one: 0.3 s for 30 MB."""


@dataclass(frozen=True, slots=True)
class Item:
    """A stored value, a copy that you may change; when its key was first and last put.

    The score is in [0, 1], for a search with words; None if it was not ranked.
    """

    namespace: Namespace
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    score: float | None = None


def _check(operation: Any, *names: str) -> None:
    """Check the types of the fields, and that those with these names can be stored."""
    check_fields(operation)
    try:
        storable([getattr(operation, name) for name in names])
    except ValueError as error:
        raise InvalidInputError(f"an item cannot be stored so: {error}") from None


@dataclass(frozen=True, slots=True)
class GetItem:
    """A request for the item of a key.

    Raises:
        InvalidInputError: the namespace or the key is invalid.
    """

    namespace: Namespace
    key: str

    def __post_init__(self) -> None:
        _check(self, "namespace", "key")


@dataclass(frozen=True, slots=True)
class FindItems:
    """A request for items.

    Attributes:
        prefix: the start of their namespaces, label by label; empty for all.
        query: words to rank them by; without a query, the most recently put items come first.
        where: the values to match; None for all.
        limit, offset: how many to return, and how many to skip first.

    Raises:
        InvalidInputError: the prefix is not a valid namespace, or a number is negative.
    """

    prefix: Namespace = ()
    query: str = ""
    where: Callable[[dict[str, Any]], bool] | None = None
    limit: int = 10
    offset: int = 0

    def __post_init__(self) -> None:
        _check(self, "prefix")
        whole("limit", self.limit, 0)
        whole("offset", self.offset, 0)


@dataclass(frozen=True, slots=True)
class PutItem:
    """A request to store a value and replace the previous one; None destroys the item.

    Attributes:
        texts: the texts that a search with words covers; empty for none.

    Raises:
        InvalidInputError: it cannot be stored.
    """

    namespace: Namespace
    key: str
    value: dict[str, Any] | None
    texts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check(self, "namespace", "key", "value", "texts")


@dataclass(frozen=True, slots=True)
class ListNamespaces:
    """A request for the namespaces that contain items, in order."""


ItemOperation: TypeAlias = GetItem | FindItems | PutItem | ListNamespaces

ItemResult: TypeAlias = Item | list[Item] | list[Namespace] | None
"""The item or None for `GetItem`, items for `FindItems`, namespaces for `ListNamespaces`, None for `PutItem`."""


@dataclass(frozen=True, slots=True)
class KeptItem:
    """A current item, with the positions of the event that put it and of those with its further texts.

    ``indexed`` is whether a search with words can find it.
    """

    value: dict[str, Any]
    created: datetime
    updated: datetime
    texts: tuple[int, ...]
    indexed: bool = False


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
                unread = erased - dead  # what was forgotten
                dead -= erased
                for name in [name for name, item in items.items() if item.texts[0] in unread] if unread else ():
                    del items[name]
                continue
            name = tuple(payload["namespace"]), payload["key"]
            if "of" in payload:
                items[name] = replace(items[name], texts=(*items[name].texts, position))
                continue
            before = items.pop(name, None)  # what is put last stands last
            dead.update(() if before is None else before.texts)
            if payload["value"] is None:
                dead.add(position)
                soiled = True
                continue
            items[name] = KeptItem(
                value=payload["value"],
                created=datetime.fromisoformat(payload.get("created", event.at.isoformat())),
                updated=event.at,
                texts=(position,),
                indexed="text" in payload,
            )
        return KeptItems(position, items, frozenset(dead), cleaned, soiled)


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


async def batch(run: Runner, services: Services, owner: Scope, operations: Sequence[ItemOperation]) -> list[ItemResult]:
    """The results of `ItemMemory.batch`.

    At most every `SCRUB_EVERY`, replaced values are destroyed too, and the files cleaned; replaced values also when
    there are many.
    """
    kept, now = await services.state(ItemsProjection).read(run, services, owner), services.clock()
    results, last = list[ItemResult](), dict[Name, PutItem]()
    for operation in operations:
        match operation:
            case ListNamespaces():
                results.append(sorted({namespace for namespace, _ in kept.items}))
            case FindItems():
                results.append(await _search(run, services, owner, kept, operation))
            case GetItem():
                name = operation.namespace, operation.key
                results.append(_copy(name, kept.items[name]) if name in kept.items else None)
            case PutItem():
                name = operation.namespace, operation.key
                last.pop(name, None)
                last[name] = operation
                results.append(None)
    puts = [put for name, put in last.items() if put.value is not None or name in kept.items]
    if not puts:
        return results
    drafts = [replace(draft, at=now) for put in puts for draft in _drafts(services, kept, put)]  # all at the same time
    await run.call(services.truth.append, owner, drafts)
    due = kept.cleaned is None or now - kept.cleaned >= SCRUB_EVERY
    cleans = (due and kept.soiled) or any(put.value is None for put in puts)
    if cleans or len(kept.dead) >= max(REPLACED, len(kept.items) // 10):
        dead = (await services.state(ItemsProjection).read(run, services, owner)).dead
        scrub = "now" if cleans and due else "later"
        await services.state(TextIndex).erase(run, services, owner, dead, scrub=scrub)
    return results


async def _search(run: Runner, services: Services, owner: Scope, kept: KeptItems, asked: FindItems) -> list[Item]:
    """The items by the rank of their best text, then those that cannot be ranked, the most recently put first."""

    def matching() -> dict[Name, KeptItem]:
        size = len(asked.prefix)
        below = ((name, item) for name, item in kept.items.items() if name[0][:size] == asked.prefix)
        return {name: item for name, item in below if asked.where is None or asked.where(item.value)}

    matches = await run.call(matching)
    scores, rest, upto = dict[Name, float](), matches, asked.offset + asked.limit
    if asked.query.strip() and matches:
        every, spread = Counter(namespace for namespace, _ in kept.items), {namespace for namespace, _ in matches}
        narrow = spread if len(spread) < min(len(every), NARROWED) else ()
        where = Where(owner, categories=frozenset(map(category_of, narrow)))
        k = upto * sum(every[namespace] for namespace in spread) // len(matches) + CANDIDATES // 10
        # Without the settings for turns: no item is hidden by age or diversified.
        ranking = services.config.recall.model_copy(update={"diversity": 0.0, "candidates": CANDIDATES, "origins": ()})
        config = services.config.model_copy(update={"recall": ranking, "retention": RetentionConfig()})
        view = view_of(replace(services, config=config), owner, services.truth)
        while True:  # until as many items have a score as are requested
            request = Request(query=ends(asked.query, MAX_QUERY_CHARS), k=k, where=where, weights=Weights.plain())
            hits = await recall(run, view, request)
            scores.clear()
            for hit in hits:
                metadata = hit.record.metadata
                name = tuple(metadata.get("namespace", ())), metadata.get("key", "")
                # What somebody put since then stands for what it replaced.
                if name in matches and (hit.record.id in matches[name].texts or hit.record.id > kept.position):
                    scores.setdefault(name, hit.score)
            if len(scores) >= upto or len(hits) < k:
                break
            k *= 4
        rest = {name: item for name, item in matches.items() if not item.indexed}
    newest = nlargest(max(upto - len(scores), 0), rest, key=lambda name: rest[name].texts[0])
    return [_copy(name, matches[name], scores.get(name)) for name in [*scores, *newest][asked.offset : upto]]


def _drafts(services: Services, kept: KeptItems, put: PutItem) -> list[Draft]:
    """The events of a put: one with the value and the first text, and one for each further text."""
    name = {"namespace": list(put.namespace), "key": put.key}
    if put.value is None:
        return [services.draft(EventKind.ITEM, {**name, "value": None})]
    first: dict[str, Any] = {**name, "value": put.value}
    if (before := kept.items.get((put.namespace, put.key))) is not None:
        first["created"] = before.created.isoformat()
    texts = list(dict.fromkeys(text for text in put.texts if text.strip()))
    first |= {"text": texts[0]} if texts else {}
    head = services.draft(EventKind.ITEM, first)
    more = [services.draft(EventKind.ITEM, {**name, "of": head.id, "text": text}) for text in texts[1:]]
    return [head, *more]


def _copy(name: Name, item: KeptItem, score: float | None = None) -> Item:
    return Item(*name, deepcopy(item.value), item.created, item.updated, score)
