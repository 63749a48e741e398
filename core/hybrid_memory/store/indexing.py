"""The index of texts (L2): its records, their vectors, and the erasure of events with all that is indexed of them."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.config import CleaningLevel
from hybrid_memory.display import Progress
from hybrid_memory.errors import ModelError
from hybrid_memory.index.derive import Derived, derive, index_terms, passage_and_alone
from hybrid_memory.index.port import Entry, SemanticIndex, Status
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.views import runs
from hybrid_memory.models.port import Embedder
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tracing import Span, traced
from hybrid_memory.scope import Scope
from hybrid_memory.store.following import EMBED_BATCH, Erased, IndexProjection, Pending, scrubbed
from hybrid_memory.store.projection import projections
from hybrid_memory.store.remember import learnt
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import at_positions
from hybrid_memory.text.asking import SHORT_CHARS, SURE, emptiness, says_nothing, tells

T = TypeVar("T")


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


async def put_vectors(
    run: Runner,
    index: SemanticIndex,
    embedder: str,
    content: Mapping[int, tuple[bytes, T]],
    embed: Callable[[list[T]], Awaitable[Floats]],
    *,
    is_needed: Callable[[], bool] = lambda: True,
    storing: AbstractContextManager[Any] | None = None,
) -> bool:
    """Give records the vectors for their content keys; each distinct content is embedded only once.

    Returns False and stores nothing if the vectors are no longer ``is_needed`` once they were made; ``storing`` is held
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
            if is_needed():
                index.put_vectors((embedder, width), keys, fresh)
                return True
            return False

    return await run.call(put)


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


async def passages(
    pending: Pending,
    cleaning: CleaningLevel,
    embedder: str,
    embed: Callable[[list[str]], Awaitable[Floats]],
) -> dict[int, str]:
    """The passages by record id. Otherwise "Alright." after a question would be as similar to it as a real answer."""
    texts: dict[int, str] = {}
    doubtful: dict[int, str] = {}
    for record, before in pending:
        texts[record.id], alone = passage_and_alone(record, before, cleaning)
        if texts[record.id] == alone:
            continue
        if says_nothing(record.text):
            texts[record.id] = alone
        elif len(record.text) <= SHORT_CHARS and tells(embedder):
            doubtful[record.id] = alone
    if doubtful:
        told = emptiness(await embed(list(doubtful.values())))
        texts |= {number: doubtful[number] for number, share in zip(doubtful, told, strict=True) if share > SURE}
    return texts


class TextIndex(IndexProjection):
    """The index of texts.

    Args:
        embeddings: vectors of queries and texts, as cached for the embedder.
    """

    version = "3"

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

        def is_needed() -> bool:
            return services.embedder is embedder

        while is_needed() and (pending := await run.call(services.index.pending, owner, EMBED_BATCH)):
            texts = await passages(pending, cleaning, embedder.name, embed)
            content = {number: (content_key(embedder.name, text), text) for number, text in texts.items()}
            if await put_vectors(
                run, services.index, embedder.name, content, embed, is_needed=is_needed, storing=self.storing
            ):
                count += len(pending)
            await self.go_on(run, services, owner)
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
        size, unindexed = await run.call(services.index.size), 0
        for owner, status in (await run.call(services.index.statuses, list(heads))).items():
            if status.applied < heads[owner]:
                unindexed += await run.call(services.log.count, owner, after=status.applied)
        counts = {"records": size.records, "vectors": size.vectors, "pending": size.pending}
        return {**counts, "unindexed": unindexed}


async def _derived(run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> list[Derived]:
    """The records for these events, which follow the turns it already has; claims have the metadata of their turn."""
    for projection in projections(services):
        events = await projection.findable(run, services, owner, events)
    sources = {
        event.position: event.payload["source"]
        for event in events
        if event.kind is EventKind.CLAIM and "text" in event.payload
    }
    read = await at_positions(run, services, owner, set(sources.values())) if sources else []
    metadata = {turn.position: turn.message.metadata for turn in read if turn.kind is EventKind.MESSAGE}
    events = [
        replace(event, payload={"metadata": metadata[source], **event.payload})
        if (source := sources.get(event.position)) in metadata
        else event
        for event in events
    ]
    news = learnt(services, events)
    sessions = list(dict.fromkeys(event.scope.session for event in news))
    return derive(news, await run.call(services.index.tails, owner, sessions))
