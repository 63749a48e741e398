"""Items: JSON values that the application puts, finds and destroys under namespaces and keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from heapq import nlargest
from typing import Any, Literal, TypeAlias

from hybrid_memory.arguments import check_fields
from hybrid_memory.config import RecallConfig, RetentionConfig
from hybrid_memory.config.memory import Weights
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.index.derive import category_of
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.items.kept import ItemsProjection, KeptItem, KeptItems, Namespace
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.port import Draft
from hybrid_memory.recall.plan import MAX_QUERY_CHARS, Request
from hybrid_memory.recall.recall import recall
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.indexing import erase
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import View, view_of
from hybrid_memory.text.asking import ends
from hybrid_memory.validation import shown, storable

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


@dataclass(slots=True)
class _Batch:
    """A batch in progress: the items before it, and its writes."""

    owner: Scope
    kept: KeptItems
    now: datetime
    puts: dict[Name, PutItem] = field(default_factory=dict)
    refreshed: dict[int, None] = field(default_factory=dict)

    def get(self, namespace: Namespace, key: str) -> KeptItem | None:
        item = self.kept.get(namespace, key)
        return None if item is None or item.expired(self.now) else item

    def read(self, item: KeptItem, *, refresh: bool) -> None:
        left = item.expires - self.now.timestamp()
        if refresh and left < (1 - REFRESHED) * item.ttl:
            self.refreshed[item.position] = None


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
    drafts += [_draft(services, now, {"refreshed": position}) for position in job.refreshed]
    drafts += [_draft(services, now, {"swept": True})] if sweep else []
    if drafts:
        await run.call(services.truth.append, owner, drafts)
    if sweep or any(put.value is None for put in puts):
        await _destroy(run, services, owner, scrub="now" if due else "later")
    elif puts and len(job.kept.dead) >= REPLACED and len(job.kept.dead) >= job.kept.count // 10:
        await _destroy(run, services, owner, scrub="never")
    return results


@dataclass(frozen=True, slots=True)
class Beside:
    """Items that a recall of turns also searches.

    Attributes:
        where: what the search may return of them.
        texts: positions of the texts of current items.
        spare: how many extra hits to fetch, as some may have been replaced.
    """

    where: Where
    texts: frozenset[int]
    spare: int

    def keeps(self, record: Record) -> bool:
        """Whether the record is not one of these items, or belongs to a current one."""
        return record.scope.owner != self.where.scope or record.id in self.texts


async def beside(run: Runner, services: Services, owner: Scope, prefix: Namespace, where: Where) -> Beside | None:
    """The items under a prefix, for a recall with these limits; None if there are none.

    Raises:
        InvalidInputError: they are in too many namespaces for an engine to filter by.
    """
    kept = await services.state(ItemsProjection).read(run, services, owner)
    live = list(kept.live(services.clock(), prefix))
    spread = {namespace for namespace, _, _ in live}
    if not spread:
        return None
    if prefix and len(spread) > NARROWED:
        raise InvalidInputError(f"over {NARROWED:,} namespaces are below {shown(prefix)}: give a longer prefix")
    categories = frozenset(map(category_of, spread)) if prefix else frozenset()
    texts = frozenset(place for _, _, item in live for place in item.texts)
    spare = min(len(kept.dead) + kept.expired(services.clock()), CANDIDATES)
    within = replace(where, scope=owner, kinds=frozenset({RecordKind.ITEM}), categories=categories)
    return Beside(within, texts, spare)


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
    if isinstance(operation, PutItem):
        job.puts.pop((operation.namespace, operation.key), None)
        job.puts[operation.namespace, operation.key] = operation
        return None
    if isinstance(operation, GetItem):
        item = job.get(operation.namespace, operation.key)
        if item is None:
            return None
        job.read(item, refresh=operation.refresh)
        return _shown((operation.namespace, operation.key), item)
    if isinstance(operation, FindItems):
        return await _found(run, services, job, operation)
    return sorted({namespace for namespace, _, _ in job.kept.live(job.now)})


def _shown(name: Name, item: KeptItem, score: float | None = None) -> Item:
    return Item(*name, deepcopy(item.value), item.created, item.updated, score)


async def _found(run: Runner, services: Services, job: _Batch, asked: FindItems) -> list[Item]:
    """The items by rank, followed by those that cannot be ranked, the most recently put first."""
    wanted = await run.call(_wanted, job.kept, job.now, asked)
    scores: dict[Name, float] = {}
    rest, upto = wanted, asked.offset + asked.limit
    if asked.query.strip() and wanted:
        scores = await _ranked(run, services, job, asked, wanted)
        rest = {name: item for name, item in wanted.items() if not item.indexed}
    newest = nlargest(upto - len(scores), rest, key=lambda name: rest[name].position) if len(scores) < upto else []
    result = []
    for name in [*scores, *newest][asked.offset : upto]:
        job.read(wanted[name], refresh=asked.refresh)
        result.append(_shown(name, wanted[name], scores.get(name)))
    return result


def _wanted(kept: KeptItems, now: datetime, asked: FindItems) -> dict[Name, KeptItem]:
    return {
        (namespace, key): item
        for namespace, key, item in kept.live(now, asked.prefix)
        if asked.where is None or asked.where(item.value)
    }


async def _ranked(
    run: Runner, services: Services, job: _Batch, asked: FindItems, wanted: dict[Name, KeptItem]
) -> dict[Name, float]:
    """Scores of at least as many items as requested, best first; an item's score is that of its best text."""
    spread = {namespace for namespace, _ in wanted}
    narrow = spread if len(spread) < min(len(job.kept.items), NARROWED) else ()
    where = Where(job.owner, categories=frozenset(map(category_of, narrow)))
    count = asked.offset + asked.limit
    among = sum(len(job.kept.items[namespace]) for namespace in spread)
    k = count * among // len(wanted) + CANDIDATES // 10
    while True:
        request = Request(query=ends(asked.query, MAX_QUERY_CHARS), k=k, where=where, weights=Weights.plain())
        hits = await recall(run, _view(services, job.owner), request)
        scores: dict[Name, float] = {}
        for hit in hits:
            metadata = hit.record.metadata
            name = tuple(metadata.get("namespace", ())), metadata.get("key", "")
            # What somebody put since then stands for what it replaced.
            if name in wanted and (hit.record.id in wanted[name].texts or hit.record.id > job.kept.position):
                scores.setdefault(name, hit.score)
        if len(scores) >= count or len(hits) < k:
            return scores
        k *= 4


def _view(services: Services, owner: Scope) -> View:
    """A view without the settings for turns: no item is hidden by age or diversified."""
    recalling: RecallConfig = services.config.recall.model_copy(
        update={"diversity": 0.0, "candidates": CANDIDATES, "origins": ()}
    )
    config = services.config.model_copy(update={"recall": recalling, "retention": RetentionConfig()})
    return view_of(replace(services, config=config), owner, services.truth)


def _drafts(services: Services, job: _Batch, put: PutItem) -> list[Draft]:
    """The event of a put, and one for each further text."""
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
