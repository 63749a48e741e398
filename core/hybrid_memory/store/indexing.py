"""An index follows the log, and its records get their vectors; L2, the index of texts."""

from __future__ import annotations

import hashlib
import logging
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.display import Progress
from hybrid_memory.errors import ModelError, StoreUnavailableError
from hybrid_memory.index.derive import Derived, derive, index_terms, passage, suspicion_of
from hybrid_memory.index.port import Entry, Status, Use
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.origin import Origin
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.log.visible import runs
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.engine import astray
from hybrid_memory.store.projection import Projection, projections
from hybrid_memory.store.remember import learnt
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import at_positions

T = TypeVar("T")

Erased: TypeAlias = Mapping[str, Any]
"""The payload of an event that says what was erased."""


EMBED_BATCH = 32

SEEN_CACHE = 4096
"""Owners of whom a process remembers which event it saw last."""

MAX_LISTED = 1_000_000
"""Records of one owner that are listed at once; the Query Engine of Redis lists no more."""

_log = logging.getLogger(__name__)


class IndexProjection(Projection):
    """An index of records that follows the log.

    Attributes:
        reads: kinds of the events that it follows; empty for all.
        batch: events that are read at once.
    """

    reads: ClassVar[tuple[EventKind, ...]] = ()
    batch: ClassVar[int] = 512

    def __init__(self) -> None:
        self._seen: LruCache[Scope, tuple[int, str]] = LruCache(SEEN_CACHE)

    @abstractmethod
    def port(self, services: Services) -> SemanticIndex:
        """The index itself."""

    def exists(self, services: Services) -> bool:
        """Whether this memory has it."""
        return True

    @abstractmethod
    def embeds(self, services: Services) -> bool:
        """Whether its records get vectors."""

    @abstractmethod
    async def entries(self, run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> list[Entry]:
        """What it takes of new events."""

    @abstractmethod
    async def unindex(self, run: Runner, services: Services, owner: Scope, erased: Erased) -> int:
        """Drop the records of what was erased; returns how many there were."""

    @abstractmethod
    async def embed(self, run: Runner, services: Services, owner: Scope, progress: Progress | None = None) -> int:
        """Give waiting records their vectors, in batches that survive a crash one by one; returns how many."""

    async def scrub(self, run: Runner, services: Services) -> None:
        """Overwrite what was destroyed in files of its own; see `SemanticIndex.scrub`."""
        await run.call(self.port(services).scrub)

    async def clean(self, run: Runner, services: Services, erased: Sequence[Erased], count: int) -> None:
        """Clean up behind what another process erased, perhaps one that was killed on the way."""
        if count:
            await scrubbed(run, self.port(services).scrub)

    async def records(self, run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> Sequence[Record]:
        """The records of these events, without what only the index needs."""
        return [entry.record for entry in await self.entries(run, services, owner, events)]

    def place(self, record: Record) -> int:
        """Position of the event that a record was made of."""
        return record.id

    async def follow(self, run: Runner, services: Services, owner: Scope) -> int:
        """Derive records from new events, and drop those of what was erased; returns how many are new."""
        count, index = 0, self.port(services)
        head = (await run.call(services.truth.heads, owner)).get(owner.owner, 0)
        while (status := await self._checked(run, services, owner)).applied < head:
            after = status.applied
            events = await run.call(
                services.truth.read, owner.owner, after=after, upto=head, kinds=self.reads, limit=self.batch
            )
            if erased := [event.payload for event in events if event.kind is EventKind.ERASED]:
                dropped = sum([await self.unindex(run, services, owner, one) for one in erased])
                await self.clean(run, services, erased, dropped)
            entries = await self.entries(run, services, owner, events)
            upto = events[-1].position if len(events) == self.batch else head
            anchor = await run.call(services.truth.mark, owner, upto)
            uses = uses_of(events)
            # Another process may have indexed the same events meanwhile; then nothing was stored, and we look again.
            seen = status.anchor
            if await run.call(
                index.upsert, owner, entries, after=after, seen=seen, upto=upto, anchor=anchor, uses=uses
            ):
                count += len(entries)
        return count

    async def _checked(self, run: Runner, services: Services, owner: Scope) -> Status:
        """How far the index is, once its position is one of the history that the log has."""
        index = self.port(services)
        status = await run.call(index.status, owner)
        mark = await run.call(services.truth.mark, owner, status.applied) if status.applied else ""
        if status.applied and not status.anchor and (mark or self._seen.get(owner.owner) is None):
            status = await self._upgraded(run, services, owner, status, mark)
        elif mark != status.anchor and await run.call(astray, services.truth, owner, status):
            with services.statistics.timed("realigning"):
                return await self._realigned(run, services, owner, status)
        await self._note(run, services, owner.owner, (status.applied, mark))
        return status

    async def _upgraded(self, run: Runner, services: Services, owner: Scope, status: Status, mark: str) -> Status:
        """How far an index is that was written before there were anchors and origins, after it got them from the log.

        One pass over the owner's events, in batches; records keep their vectors.
        """
        index, at, upto = self.port(services), status.applied, 0
        while events := await run.call(
            services.truth.read, owner.owner, after=upto, upto=at, kinds=self.reads, limit=self.batch
        ):
            said = {one.id: one.origin for one in await self.records(run, services, owner, events)}
            stored = await run.call(index.get, [number for number in said if said[number] is not Origin.IMPORTED])
            origins = {one.id: said[one.id] for one in stored if one.origin is Origin.IMPORTED}
            if origins and not await run.call(index.upsert, owner, [], after=at, upto=at, seen="", origins=origins):
                break  # another process has done it
            upto = events[-1].position
        await run.call(index.upsert, owner, [], after=at, upto=at, seen="", anchor=mark)
        _clear(services)
        return await run.call(index.status, owner)

    async def _note(self, run: Runner, services: Services, owner: Scope, seen: tuple[int, str]) -> None:
        """Drop what is cached of a history that the log no longer has, where another process set the index right."""
        before = self._seen.get(owner)
        if before == seen:
            return
        if before is not None and before[1] != await run.call(services.truth.mark, owner, before[0]):
            _clear(services)
        self._seen.put(owner, seen)

    async def _realigned(self, run: Runner, services: Services, owner: Scope, status: Status) -> Status:
        """How far the index is, after records were let go of which the log has no event any more.

        The last thing that is written is that position: what a crash leaves undone is done by whoever follows next.
        """
        index, truth = self.port(services), services.truth
        upto, standing = await self._agreement(run, services, owner, status.applied)
        size = await run.call(index.size)
        stored = await run.call(index.latest, Where(owner.owner), min(size.records, MAX_LISTED))
        stale = [number for number in stored.tolist() if number not in standing]
        anchor = await run.call(truth.mark, owner, upto) if upto else ""
        at, seen = status.applied, status.anchor
        # Where another process was faster, nothing goes: what is stale here may be new by now, under the same id.
        if await run.call(index.upsert, owner, [], after=at, seen=seen, upto=upto, anchor=anchor, gone=stale):
            _log.warning(
                "the log of %s was set back behind the index, which had seen its #%d: %d records of events that are "
                "gone were dropped, and what follows #%d is indexed anew",
                *(owner.owner, status.applied, len(stale), upto),
            )
        _clear(services)
        return await run.call(index.status, owner)

    async def _agreement(self, run: Runner, services: Services, owner: Scope, applied: int) -> tuple[int, set[int]]:
        """Up to which position the index agrees with the log, and the ids of the records up to there."""
        standing: set[int] = set()
        upto = 0
        while events := await run.call(
            services.truth.read, owner.owner, after=upto, upto=applied, kinds=self.reads, limit=self.batch
        ):
            records = await self.records(run, services, owner, events)
            stored = {one.id: one for one in await run.call(self.port(services).get, [one.id for one in records])}
            end = min((self.place(one) for one in records if not _alike(one, stored.get(one.id))), default=applied + 1)
            standing |= {one.id for one in records if self.place(one) < end}
            upto = max([upto, *(event.position for event in events if event.position < end)])
            if end <= applied:
                break
        return upto, standing

    async def drop(
        self, run: Runner, services: Services, owner: Scope, erased: Erased, between: Sequence[Event]
    ) -> int:
        """Let what the log has just erased leave the index; returns how many records that were.

        ``between`` are the turns that came since the index followed and before it was erased.
        """
        count = await self.unindex(run, services, owner, erased)
        await self.follow(run, services, owner)
        return count

    async def derive(self, run: Runner, services: Services, owner: Scope, progress: Progress | None) -> Receipt:
        """Bring the owner's part of the index up to the log, vectors included."""
        indexed = await self.follow(run, services, owner) if self.exists(services) else 0
        if not self.exists(services) or not self.embeds(services):
            return Receipt(indexed=indexed)
        embedded = await self.embed(run, services, owner, progress)
        await run.call(self.port(services).train, owner)
        return Receipt(indexed=indexed, embedded=embedded)

    async def catch_up(self, run: Runner, services: Services, owner: Scope) -> str:
        """Index what is new before a recall; returns a note if vectors are missing, or if nothing may be indexed."""
        if services.read_only:
            status = await run.call(self.port(services).status, owner)
            if await run.call(astray, services.truth, owner, status):
                raise StoreUnavailableError(f"the log of {owner} was set back behind the index: open it to be written")
            after = status.applied
            behind = await run.call(services.truth.count, owner, after=after)
            return f"read-only: {behind:,} new events are not indexed" if behind else ""
        await self.follow(run, services, owner)
        try:
            if self.embeds(services):
                await self.embed(run, services, owner)
        except ModelError as error:
            _log.warning("%s; the records are there, their vectors will be made later", error)
            return str(error)
        return ""


def _alike(record: Record, other: Record | None) -> bool:
    """Whether both were made of the same event."""
    return other is not None and all(
        getattr(record, name) == getattr(other, name) for name in ("scope", "kind", "text", "at", "turn", "sources")
    )


def _clear(services: Services) -> None:
    for projection in projections(services):
        projection.clear()


def indexes(services: Services) -> list[IndexProjection]:
    """Those of this memory."""
    return [state for state in services.states if isinstance(state, IndexProjection) and state.exists(services)]


async def erase(
    run: Runner,
    services: Services,
    owner: Scope,
    positions: Iterable[int],
    rewritten: Mapping[int, dict[str, Any]] | None = None,
    *,
    seen: int | None = None,
    **scrub: str,
) -> int:
    """Destroy events of the owner, give others a new payload, and let both leave the indexes.

    Returns how many records went. ``scrub`` is noted in the log: whether whoever follows it is to clean up now.

    Raises:
        OutdatedError: events came beyond ``seen``; nothing was destroyed.
    """
    gone = sorted(positions)
    payload = {"positions": [list(stretch) for stretch in runs(gone)], **scrub}
    begun = (await run.call(services.truth.heads, owner)).get(owner.owner, 0)
    # A process that has read the events already can then no longer index them.
    for index in indexes(services):
        await index.follow(run, services, owner)
    note = services.draft(EventKind.ERASED, payload)
    noted = await run.call(services.truth.erase, owner, gone, rewritten or {}, note, seen=seen)
    upto, kinds = noted.position, (EventKind.MESSAGE,)
    between = await run.call(services.truth.read, owner.owner, after=begun, upto=upto, kinds=kinds)
    return sum([await index.drop(run, services, owner, payload, between) for index in indexes(services)])


def uses_of(events: Sequence[Event]) -> dict[int, Use]:
    """How often these events say that each record was used."""
    uses: dict[int, Use] = {}
    for event in events:
        if event.kind is EventKind.USED:
            for number, count in event.payload["uses"]:
                before = uses.get(number, Use(0, event.at))
                uses[number] = Use(before.count + count, max(before.at, event.at))
    return uses


async def put_vectors(
    run: Runner,
    index: SemanticIndex,
    embedder: str,
    content: Mapping[int, tuple[bytes, T]],
    embed: Callable[[list[T]], Awaitable[Floats]],
    *,
    wanted: Callable[[], bool] = lambda: True,
) -> bool:
    """Give records the vectors of their content, by its key; what is there twice, or was before, is embedded once.

    False, and nothing is stored, if the vectors are not ``wanted`` any more once they were made.
    """
    by_key = dict(content.values())
    known = await run.call(index.known, list(by_key))
    missing = [key for key in by_key if key not in known]
    fresh = dict(zip(missing, await embed([by_key[key] for key in missing]), strict=True)) if missing else {}
    if not wanted():
        return False
    # The width is the vectors': to ask a model for it may cost a call.
    width = len(next(iter((fresh or known).values())))
    keys = {number: key for number, (key, _) in content.items()}
    await run.call(index.put_vectors, (embedder, width), keys, fresh)
    return True


async def scrubbed(run: Runner, scrub: Callable[[], None]) -> None:
    """Scrub now, or say that it is done later where another process keeps the engine from it."""
    try:
        await run.call(scrub)
    except StoreUnavailableError as error:
        _log.warning("%s; what was erased is cleaned up later", error)


async def embedding(run: Runner, method: Callable[[T], Floats], argument: T) -> Floats:
    """What the embedder answers; raises `ModelError`, whatever it fails with."""
    try:
        return await run.call(method, argument)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"the embedder failed: {type(error).__name__}: {error}") from error


def content_key(embedder: str, text: str) -> bytes:
    """Identifies a text embedded by this embedder."""
    return hashlib.blake2b(f"{embedder}\x00{text}".encode(), digest_size=16).digest()


class TextIndex(IndexProjection):
    """The index of texts.

    Args:
        embeddings: vectors of queries and texts, as the embedder caches them.
    """

    def __init__(self, embeddings: LruCache[bytes, Floats] | None = None) -> None:
        super().__init__()
        self._embeddings = embeddings

    def clear(self, owner: Scope | None = None) -> None:
        """Drop the vectors of texts, which have no owner, where all is made anew."""
        if self._embeddings is not None and owner is None:
            self._embeddings.clear()

    def sources(self, item: object) -> Sequence[str] | None:
        return item.sources if isinstance(item, Record) else None

    def port(self, services: Services) -> SemanticIndex:
        return services.index

    def embeds(self, services: Services) -> bool:
        return services.embedder is not None

    async def entries(self, run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> list[Entry]:
        derived, cleaning = await _derived(run, services, owner, events), services.config.cleaning
        return [Entry(item.record, index_terms(item.record, item.previous, cleaning)) for item in derived]

    async def records(self, run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> Sequence[Record]:
        return [item.record for item in await _derived(run, services, owner, events)]

    async def unindex(self, run: Runner, services: Services, owner: Scope, erased: Erased) -> int:
        """Drop the records of what was erased; the turns after it are indexed again without its words."""
        index, positions = services.index, [p for first, last in erased["positions"] for p in range(first, last + 1)]
        records = await run.call(index.get, positions)
        if all(record.kind is RecordKind.ITEM for record in records):  # nothing was made with their words
            return await run.call(index.delete, [record.id for record in records])
        ids = np.array(positions, dtype=np.int64)
        while True:
            status = await run.call(index.status, owner)
            around = await run.call(index.columns, ids, Where(owner.owner), 1)
            gone = np.isin(around.ids, ids)
            keys = set(zip(around.segments[gone].tolist(), (around.ordinals[gone] + 1).tolist(), strict=True))
            rows = zip(around.ids.tolist(), around.segments.tolist(), around.ordinals.tolist(), strict=True)
            followers = [place for place, segment, ordinal in rows if (segment, ordinal) in keys and place not in ids]
            if await self._again(run, services, owner, status, followers):
                return await run.call(index.delete, around.ids[gone].tolist())

    async def drop(
        self, run: Runner, services: Services, owner: Scope, erased: Erased, between: Sequence[Event]
    ) -> int:
        """Let it leave, also the terms that another process made with it of turns that came at this moment."""
        count = await super().drop(run, services, owner, erased, between)
        while True:
            status = await run.call(services.index.status, owner)
            if await self._again(run, services, owner, status, [event.position for event in between]):
                return count

    async def _again(
        self, run: Runner, services: Services, owner: Scope, status: Status, places: Sequence[int]
    ) -> bool:
        """Index these turns once more; False, and nothing is stored, if the index went on since this status."""
        entries = [await _anew(run, services, record) for record in await run.call(services.index.get, places)]
        at, anchor = status.applied, status.anchor
        return not entries or await run.call(services.index.upsert, owner, entries, after=at, upto=at, anchor=anchor)

    async def clean(self, run: Runner, services: Services, erased: Sequence[Erased], count: int) -> None:
        """Clean up the log behind what another process erased, unless that can wait."""
        if any(one.get("scrub", "now") == "now" for one in erased):
            await scrubbed(run, services.truth.scrub)

    async def scrub(self, run: Runner, services: Services) -> None:
        """Overwrite what was destroyed, where the index has files of its own."""
        if services.config.index.url not in {None, services.config.url}:
            await run.call(services.index.scrub)

    async def embed(self, run: Runner, services: Services, owner: Scope, progress: Progress | None = None) -> int:
        count, embedder, cleaning = 0, services.embedder, services.config.cleaning
        if embedder is None:
            return 0

        async def embed(texts: list[str]) -> Floats:
            return await embedding(run, embedder.embed_documents, texts)

        def wanted() -> bool:
            return services.embedder is embedder

        while wanted() and (pending := await run.call(services.index.pending, owner, EMBED_BATCH)):
            texts = {record.id: passage(record, previous, cleaning) for record, previous in pending}
            content = {number: (content_key(embedder.name, text), text) for number, text in texts.items()}
            if await put_vectors(run, services.index, embedder.name, content, embed, wanted=wanted):
                count += len(pending)
            if progress is not None:
                progress(count, count + (await run.call(services.index.size)).pending)
        return count

    async def stats(self, run: Runner, services: Services, heads: Mapping[Scope, int]) -> dict[str, Any]:
        size, unindexed, suspected = await run.call(services.index.size), 0, 0
        for owner, head in heads.items():
            term = suspicion_of(owner)
            suspected += (await run.call(services.index.terms, owner, [term])).get(term, 0)
            applied = await run.call(services.index.applied, owner)
            if applied < head:
                unindexed += await run.call(services.log.count, owner, after=applied)
        counts = {"records": size.records, "vectors": size.vectors, "pending": size.pending}
        return {**counts, "unindexed": unindexed, "suspicious": suspected}


async def _derived(run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> list[Derived]:
    """What the index takes of these events, behind the turns that it has."""
    for projection in projections(services):
        events = await projection.findable(run, services, owner, events)
    news = learnt(services, await _told(run, services, owner, events))
    sessions = list(dict.fromkeys(event.scope.session for event in news))
    return derive(news, await run.call(services.index.tails, owner, sessions))


async def _told(run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> Sequence[Event]:
    """The events, claims with the origin of their turn: those of older stores do not say it."""
    silent = {
        event.position: event.payload["source"]
        for event in events
        if event.kind is EventKind.CLAIM and "text" in event.payload and "origin" not in event.payload
    }
    if not silent:
        return events
    turns = await at_positions(run, services, owner, set(silent.values()))
    origins = {turn.position: turn.origin.value for turn in turns if turn.kind is EventKind.MESSAGE}
    return [
        replace(event, payload={**event.payload, "origin": origins.get(silent[event.position])})
        if event.position in silent
        else event
        for event in events
    ]


async def _anew(run: Runner, services: Services, record: Record) -> Entry:
    """What the index takes of a turn once more, since another one stands before it now."""
    turns = await run.call(
        services.truth.read, record.scope, upto=record.id, kinds=(EventKind.MESSAGE,), limit=3, newest=True
    )
    derived = derive(learnt(services, [event for event in turns if event.scope == record.scope]), {})
    before = derived[-1].previous if derived else None
    return Entry(record, index_terms(record, before, services.config.cleaning))
