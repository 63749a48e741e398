"""Makes an index follow the log, and gives its records their vectors; the index of texts (L2)."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.display import Progress, counted
from hybrid_memory.errors import ModelError, StoreUnavailableError
from hybrid_memory.index.derive import Derived, derive, index_terms, suspicion_of
from hybrid_memory.index.port import Entry, Status, Use
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import LogState
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.log.visible import runs
from hybrid_memory.models.port import Embedder, MediaEmbedder
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tracing import Span, traced
from hybrid_memory.scope import Scope
from hybrid_memory.store.engine import astray
from hybrid_memory.store.passages import Pending, passages
from hybrid_memory.store.projection import Projection, projections
from hybrid_memory.store.remember import learnt
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import at_positions

T = TypeVar("T")

Erased: TypeAlias = Mapping[str, Any]
"""The payload of an event that records an erasure."""


EMBED_BATCH = 32

AT_ONCE = 2_000
"""A recall makes up to this many missing vectors itself; more are left to background work, if enabled."""

SEEN_CACHE = 4096
"""For how many owners a process remembers the last event it saw."""

MAX_LISTED = 1_000_000
"""Records of one owner listed at once; the maximum of the Redis Query Engine."""

_log = logging.getLogger(__name__)


class IndexProjection(Projection):
    """An index of records that follows the log.

    Attributes:
        reads: kinds of the events it follows; empty for all.
        batch: how many events to read at once; taken: how many records whose vectors are taken over at once.
        emptied: whether it was dropped and does not contain everything in the log yet.
        left: owners whose vectors a recall left to background work.
        storing: held while vectors are stored, and while the embedder is replaced.
    """

    reads: ClassVar[tuple[EventKind, ...]] = ()
    batch: ClassVar[int] = 2048
    taken: ClassVar[int] = 512

    def __init__(self) -> None:
        self._seen: LruCache[Scope, tuple[int, str]] = LruCache(SEEN_CACHE)
        self._filling = Counter[Scope]()
        self._lock = threading.Lock()
        self.storing = threading.Lock()
        self.emptied = False
        self.left: set[Scope] = set()

    @abstractmethod
    def port(self, services: Services) -> SemanticIndex:
        """The index itself."""

    def exists(self, services: Services) -> bool:
        """Whether this memory has it."""
        return True

    @abstractmethod
    def model(self, services: Services) -> Embedder | MediaEmbedder | None:
        """The embedder of its records; None if they get no vectors."""

    def embeds(self, services: Services) -> bool:
        """Whether its records get vectors."""
        return self.model(services) is not None

    @abstractmethod
    async def entries(self, run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> list[Entry]:
        """The index entries for new events."""

    @abstractmethod
    async def unindex(self, run: Runner, services: Services, owner: Scope, erased: Erased) -> int:
        """Drop the records of erased events; returns how many there were."""

    @abstractmethod
    async def embed(self, run: Runner, services: Services, owner: Scope, progress: Progress | None = None) -> int:
        """Give pending records their vectors, in batches that each survive a crash; returns how many."""

    async def take_over(
        self, run: Runner, services: Services, owner: Scope, donor: SemanticIndex
    ) -> AsyncIterator[int]:
        """Give pending records vectors that another index has for their content; yields how many, per batch."""
        index, without = self.port(services), 0
        model, embedder = self.model(services), await run.call(donor.embedder)
        if model is None or embedder is None or embedder[0] != model.name:
            return
        while pending := (await run.call(index.status, owner, pending=without + self.taken)).pending[without:]:
            records = await run.call(index.get, pending)
            before = await run.call(index.previous, owner, records)
            keys = await self.keys(run, services, owner, [(one, before.get(one.id)) for one in records], donor)
            known = await run.call(donor.known, list(dict.fromkeys(keys.values())))
            found = {number: key for number, key in keys.items() if key in known}
            if found:
                await run.call(index.put_vectors, embedder, found, known)
            without += len(pending) - len(found)
            yield len(found)

    @abstractmethod
    async def keys(
        self, run: Runner, services: Services, owner: Scope, pending: Pending, donor: SemanticIndex
    ) -> dict[int, bytes]:
        """For each record id, the content key under which another index may have its vector."""

    async def scrub(self, run: Runner, services: Services) -> None:
        """Overwrite destroyed data in files of its own; see `SemanticIndex.scrub`."""
        await run.call(self.port(services).scrub)

    async def clean(self, run: Runner, services: Services, erased: Sequence[Erased], count: int) -> None:
        """Finish the cleaning after another process erased something, in case that process was killed."""
        if count:
            await scrubbed(run, self.port(services).scrub)

    async def records(self, run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> Sequence[Record]:
        """The records of these events, without the fields that only the index needs."""
        return [entry.record for entry in await self.entries(run, services, owner, events)]

    def place(self, record: Record) -> int:
        """Position of the event that a record was made from."""
        return record.id

    async def follow(self, run: Runner, services: Services, owner: Scope) -> int:
        """Derive records from new events, and drop those of erased ones; returns how many are new."""
        state = await run.call(services.truth.state, owner)
        return (await self._followed(run, services, owner, state))[0]

    async def _followed(
        self, run: Runner, services: Services, owner: Scope, state: LogState, *, pending: int = 0, sums: bool = False
    ) -> tuple[int, Status]:
        """Bring the index up to this state of the log; returns how many records are new, and the index's own state."""
        count, index, head = 0, self.port(services), state.head
        marks, ask = {0: "", head: state.mark}, partial(run.call, index.status, owner, pending=pending, sums=sums)
        while (status := await self._checked(run, services, owner, ask, marks)).applied < head:
            after = status.applied
            events = await run.call(
                services.truth.read, owner.owner, after=after, upto=head, kinds=self.reads, limit=self.batch
            )
            if erased := [event.payload for event in events if event.kind is EventKind.ERASED]:
                dropped = sum([await self.unindex(run, services, owner, one) for one in erased])
                await self.clean(run, services, erased, dropped)
            entries = await self.entries(run, services, owner, events)
            upto = events[-1].position if len(events) == self.batch else head
            if upto < head:
                marks[upto] = events[-1].mark
            uses = uses_of(events)
            # Another process may have indexed the same events meanwhile; then nothing was stored, and we look again.
            seen, anchor = status.anchor, marks[upto]
            if await run.call(
                index.upsert, owner, entries, after=after, seen=seen, upto=upto, anchor=anchor, uses=uses
            ):
                count += len(entries)
        return count, status

    async def _checked(
        self,
        run: Runner,
        services: Services,
        owner: Scope,
        ask: Callable[[], Awaitable[Status]],
        marks: dict[int, str],
    ) -> Status:
        """The index's answer to ``ask``, after making sure that its position belongs to the log's history.

        ``marks`` are the known marks of the log's events, by position; others are added.
        """
        status = await ask()
        if status.applied not in marks:
            marks[status.applied] = await run.call(services.truth.mark, owner, status.applied)
        mended = await self._mended(run, services, owner, status, marks)
        return status if mended is status else await ask()

    async def _mended(
        self, run: Runner, services: Services, owner: Scope, status: Status, marks: Mapping[int, str]
    ) -> Status:
        """The index's position, after it was repaired if the log has another history."""
        mark = marks[status.applied]
        if mark != status.anchor and await run.call(astray, services.truth, owner, status):
            with services.statistics.timed("realigning"):
                return await self._realigned(run, services, owner, status)
        await self._note(run, services, owner.owner, (status.applied, mark), marks)
        return status

    async def _note(
        self, run: Runner, services: Services, owner: Scope, seen: tuple[int, str], marks: Mapping[int, str]
    ) -> None:
        """Drop cached data of a history that the log no longer has, if another process repaired the index."""
        before = self._seen.get(owner)
        if before == seen:
            return
        if before is not None:
            mark = marks.get(before[0]) or await run.call(services.truth.mark, owner, before[0])
            if mark != before[1]:
                _clear(services)
        self._seen.put(owner, seen)

    async def _realigned(self, run: Runner, services: Services, owner: Scope, status: Status) -> Status:
        """The index's position, after removing records whose events the log no longer has.

        The position is written last, so that whoever follows next finishes what a crash left undone.
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
                "the log of %s was restored to before its index, which had seen #%d: %d records of events that no "
                "longer exist were dropped, and events after #%d are indexed again",
                *(owner.owner, status.applied, len(stale), upto),
            )
        _clear(services)
        return await run.call(index.status, owner)

    async def _agreement(self, run: Runner, services: Services, owner: Scope, applied: int) -> tuple[int, set[int]]:
        """The position up to which the index agrees with the log, and the ids of the records up to there."""
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
        """Remove what the log has just erased from the index; returns how many records there were.

        ``between`` are turns that came after the index last followed and before the erasure.
        """
        count = await self.unindex(run, services, owner, erased)
        await self.follow(run, services, owner)
        return count

    async def derive(self, run: Runner, services: Services, owner: Scope, progress: Progress | None) -> Receipt:
        """Bring the owner's part of the index up to date, including vectors."""
        indexed = await self.follow(run, services, owner) if self.exists(services) else 0
        if not self.exists(services) or not self.embeds(services):
            return Receipt(indexed=indexed)
        with self.filling(owner):
            embedded = await self.embed(run, services, owner, progress)
        await run.call(self.port(services).train, owner)
        return Receipt(indexed=indexed, embedded=embedded)

    @contextmanager
    def filling(self, owner: Scope) -> Iterator[None]:
        """Inside the block, background work makes this owner's vectors, and a recall does not wait for all of them."""
        self.left.discard(owner)
        with self._lock:
            self._filling[owner] += 1
        try:
            yield
        finally:
            with self._lock:
                self._filling -= Counter([owner])

    async def catch_up(
        self, run: Runner, services: Services, owner: Scope, state: LogState | None = None
    ) -> tuple[Status, str]:
        """Index new events before a recall.

        Returns the state of the index, with sums if its records get vectors, and a note if vectors are missing or
        nothing may be indexed. ``state`` is that of the owner's log, if known.
        """
        embeds, most = self.embeds(services), EMBED_BATCH if self._filling[owner] else AT_ONCE
        state = await run.call(services.truth.state, owner) if state is None else state
        if services.read_only:
            return await self._as_it_is(run, services, owner, state)
        pending = most + 1 if embeds else 0
        _, status = await self._followed(run, services, owner, state, pending=pending, sums=embeds)
        if not status.pending:
            return status, ""
        note = await self._embedded(run, services, owner, len(status.pending), most)
        return await run.call(self.port(services).status, owner, sums=True), note

    async def _as_it_is(self, run: Runner, services: Services, owner: Scope, state: LogState) -> tuple[Status, str]:
        """The state of an index that must not be written, and what is missing in it."""
        embeds = self.embeds(services)
        status = await run.call(self.port(services).status, owner, pending=int(embeds), sums=embeds)
        if status.anchor != state.mark and await run.call(astray, services.truth, owner, status):
            raise StoreUnavailableError(f"the log of {owner} was restored to before its index: open it for writing")
        if status.applied < state.head:
            behind = await run.call(services.truth.count, owner, after=status.applied)
            return status, f"read-only: {behind:,} new events are not indexed"
        return status, await self._missing(run, services) if status.pending else ""

    async def _embedded(self, run: Runner, services: Services, owner: Scope, pending: int, most: int) -> str:
        """Make some of the missing vectors, as far as a recall waits for them; returns a note if some remain."""
        work = services.config.orchestration
        if pending > most and (self._filling[owner] or work.background):
            self.left |= set() if self._filling[owner] else {owner}
            return await self._missing(run, services)
        until = time.monotonic() + work.model_timeout.total_seconds()

        def enough(done: int, total: int) -> None:
            if done < total and time.monotonic() > until:
                raise ModelError(_unmade(total - done))

        try:
            await self.embed(run, services, owner, enough)
        except ModelError as error:
            _log.warning("%s; the records are indexed, their vectors are made later", error)
            return str(error)
        return ""

    async def _missing(self, run: Runner, services: Services) -> str:
        return _unmade((await run.call(self.port(services).size)).pending)


def _unmade(count: int) -> str:
    return f"{counted(count, 'vector')} still to be made, what has none is found by its words"


def _alike(record: Record, other: Record | None) -> bool:
    """Whether both were made from the same event."""
    return other is not None and all(
        getattr(record, name) == getattr(other, name) for name in ("scope", "kind", "text", "at", "turn", "sources")
    )


def _clear(services: Services) -> None:
    for projection in projections(services):
        projection.clear()


def indexes(services: Services) -> list[IndexProjection]:
    """The indexes of this memory."""
    return [state for state in services.states if isinstance(state, IndexProjection) and state.exists(services)]


async def erase(
    run: Runner,
    services: Services,
    owner: Scope,
    positions: Iterable[int],
    rewritten: Mapping[int, dict[str, Any]] | None = None,
    *,
    seen: int | None = None,
    **more: Any,
) -> int:
    """Destroy events of the owner, rewrite others, and remove both from the indexes.

    Returns how many records were removed. The log notes ``more``: ``scrub``, if followers should clean up immediately,
    and the tombstones.

    Raises:
        OutdatedError: there are events after ``seen``; nothing was destroyed.
    """
    gone = sorted(positions)
    payload = {"positions": [list(stretch) for stretch in runs(gone)], **more}
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
    """How often these events record a use of each record."""
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
    storing: AbstractContextManager[Any] | None = None,
) -> bool:
    """Give records the vectors for their content keys; each distinct content is embedded only once.

    Returns False and stores nothing if the vectors are no longer ``wanted`` once they were made; ``storing`` is held
    while that is asked and they are stored.
    """
    by_key = dict(content.values())
    known = await run.call(index.known, list(by_key))
    missing = [key for key in by_key if key not in known]
    fresh = dict(zip(missing, await embed([by_key[key] for key in missing]), strict=True)) if missing else {}
    # The width is the vectors': to ask a model for it may cost a call.
    width = len(next(iter((fresh or known).values())))
    keys = {number: key for number, (key, _) in content.items()}

    def put() -> bool:
        with storing or nullcontext():
            if wanted():
                index.put_vectors((embedder, width), keys, fresh)
                return True
            return False

    return await run.call(put)


async def scrubbed(run: Runner, scrub: Callable[[], None]) -> None:
    """Scrub now, or report that it will be done later if another process prevents it."""
    try:
        await run.call(scrub)
    except StoreUnavailableError as error:
        _log.warning("%s; erased data is cleaned up later", error)


async def embedding(run: Runner, method: Callable[[T], Floats], argument: T) -> Floats:
    """The embedder's result; any failure raises `ModelError`."""
    try:
        return await run.call(method, argument)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"the embedder failed: {type(error).__name__}: {error}") from error


def content_key(embedder: str, text: str) -> bytes:
    """A key for a text embedded by this embedder."""
    return hashlib.blake2b(f"{embedder}\x00{text}".encode(), digest_size=16).digest()


def embedded(span: Span, count: int) -> None:
    """Add the number of new vectors to the span of an index."""
    span.attributes["count"] = count


class TextIndex(IndexProjection):
    """The index of texts.

    Args:
        embeddings: vectors of queries and texts, as cached for the embedder.
    """

    def __init__(self, embeddings: LruCache[bytes, Floats] | None = None) -> None:
        super().__init__()
        self._embeddings = embeddings

    def clear(self, owner: Scope | None = None) -> None:
        """Drop the cached vectors of texts, which have no owner, when everything is rebuilt."""
        if self._embeddings is not None and owner is None:
            self._embeddings.clear()

    def sources(self, item: object) -> Sequence[str] | None:
        return item.sources if isinstance(item, Record) else None

    def port(self, services: Services) -> SemanticIndex:
        return services.index

    def model(self, services: Services) -> Embedder | None:
        return services.embedder

    async def entries(self, run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> list[Entry]:
        derived, cleaning = await _derived(run, services, owner, events), services.config.cleaning
        return [Entry(item.record, index_terms(item.record, cleaning)) for item in derived]

    async def records(self, run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> Sequence[Record]:
        return [item.record for item in await _derived(run, services, owner, events)]

    async def unindex(self, run: Runner, services: Services, owner: Scope, erased: Erased) -> int:
        """Drop the records of erased events; the turns after them are embedded again without their words."""
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
        """Remove it, along with terms that another process derived from it for turns written at this moment."""
        count = await super().drop(run, services, owner, erased, between)
        while True:
            status = await run.call(services.index.status, owner)
            if await self._again(run, services, owner, status, [event.position for event in between]):
                return count

    async def _again(
        self, run: Runner, services: Services, owner: Scope, status: Status, places: Sequence[int]
    ) -> bool:
        """Re-embed these turns; returns False and changes nothing if the index advanced since this status."""
        cleaning = services.config.cleaning
        records = await run.call(services.index.get, places)
        entries = [Entry(record, index_terms(record, cleaning)) for record in records]
        at, anchor = status.applied, status.anchor
        return not entries or await run.call(services.index.upsert, owner, entries, after=at, upto=at, anchor=anchor)

    async def clean(self, run: Runner, services: Services, erased: Sequence[Erased], count: int) -> None:
        """Clean up the log after another process erased something, unless that can wait."""
        if any(one.get("scrub", "now") == "now" for one in erased):
            await scrubbed(run, services.truth.scrub)

    async def scrub(self, run: Runner, services: Services) -> None:
        """Overwrite destroyed data, if the index has files of its own."""
        if services.config.index.url not in {None, services.config.url}:
            await run.call(services.index.scrub)

    @traced("index", after=embedded)
    async def embed(self, run: Runner, services: Services, owner: Scope, progress: Progress | None = None) -> int:
        count, total, embedder, cleaning = 0, 0, services.embedder, services.config.cleaning
        if embedder is None:
            return 0

        async def embed(texts: list[str]) -> Floats:
            return await embedding(run, embedder.embed_documents, texts)

        def wanted() -> bool:
            return services.embedder is embedder

        while wanted() and (pending := await run.call(services.index.pending, owner, EMBED_BATCH)):
            texts = await passages(pending, cleaning, embedder.name, embed)
            content = {number: (content_key(embedder.name, text), text) for number, text in texts.items()}
            if await put_vectors(
                run, services.index, embedder.name, content, embed, wanted=wanted, storing=self.storing
            ):
                count += len(pending)
            last = len(pending) < EMBED_BATCH
            if progress is not None:
                if not (total or last):  # once: many engines count all records for it
                    total = count + (await run.call(services.index.size)).pending
                progress(count, count if last else max(total, count))
            if last:
                break
        return count

    async def keys(
        self, run: Runner, services: Services, owner: Scope, pending: Pending, donor: SemanticIndex
    ) -> dict[int, bytes]:
        stored: tuple[str, int] | None = await run.call(donor.embedder)
        name, dim = stored or ("", 0)

        async def known(texts: list[str]) -> Floats:
            found = await run.call(donor.known, keys := [content_key(name, text) for text in texts])
            none = np.full(dim, np.nan, dtype=np.float32)
            return np.stack([found.get(key, none) for key in keys])

        texts = await passages(pending, services.config.cleaning, name, known)
        return {number: content_key(name, text) for number, text in texts.items()}

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
    """The index entries for these events, which follow the turns it already has."""
    for projection in projections(services):
        events = await projection.findable(run, services, owner, events)
    news = learnt(services, await _told(run, services, owner, events))
    sessions = list(dict.fromkeys(event.scope.session for event in news))
    return derive(news, await run.call(services.index.tails, owner, sessions))


async def _told(run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> Sequence[Event]:
    """The events; claims get the metadata and origin of their turn, which older stores do not record."""
    claims = {
        event.position: event.payload["source"]
        for event in events
        if event.kind is EventKind.CLAIM and "text" in event.payload
    }
    read = await at_positions(run, services, owner, set(claims.values())) if claims else []
    turns = {turn.position: turn for turn in read if turn.kind is EventKind.MESSAGE}
    return [
        replace(event, payload={**_of_turn(turns.get(claims[event.position])), **event.payload})
        if event.position in claims
        else event
        for event in events
    ]


def _of_turn(turn: Event | None) -> dict[str, Any]:
    """The fields that a claim takes from its turn."""
    return {"origin": None} if turn is None else {"origin": turn.origin.value, "metadata": turn.message.metadata}
