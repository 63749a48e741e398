"""L2: the words and meanings of turns, facts and items, as an index that follows the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.index.derive import derive, index_terms, passage
from hybrid_memory.index.port import Entry
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.models.port import Embedder
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.progress import Progress
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.indexing import Erased, IndexProjection, content_key, embedding, put_vectors, scrubbed
from hybrid_memory.store.projection import projections
from hybrid_memory.store.remember import learnt
from hybrid_memory.store.services import Services

EMBED_BATCH = 32


class TextIndex(IndexProjection):
    """The index of texts.

    Args:
        embeddings: vectors of queries and texts, as the embedder caches them.
    """

    def __init__(self, embeddings: LruCache[bytes, Floats] | None = None) -> None:
        self._embeddings = embeddings

    def clear(self) -> None:
        """Drop the vectors of what was asked and said."""
        if self._embeddings is not None:
            self._embeddings.clear()

    def sources(self, item: object) -> Sequence[str] | None:
        """Ids of the events behind a record."""
        return item.sources if isinstance(item, Record) else None

    def port(self, services: Services) -> SemanticIndex:
        """The index itself."""
        return services.index

    def embeds(self, services: Services) -> bool:
        """Whether there is an embedder."""
        return services.embedder is not None

    async def entries(self, run: Runner, services: Services, owner: Scope, events: Sequence[Event]) -> list[Entry]:
        """What the index takes of new events, without what is not to be found any more."""
        for projection in projections(services):
            events = await projection.findable(run, services, owner, events)
        news = learnt(services, events)
        sessions = list(dict.fromkeys(event.scope.session for event in news))
        derived = derive(news, await run.call(services.index.tails, owner, sessions))
        return [
            Entry(item.record, index_terms(item.record, item.previous, services.config.cleaning)) for item in derived
        ]

    async def unindex(self, run: Runner, services: Services, owner: Scope, erased: Sequence[Erased]) -> None:
        """Drop the records of what was erased, and clean the log up behind them."""
        for one in erased:
            await _unindexed(run, services, owner, one)
        if any(one.get("scrub", "now") == "now" for one in erased):
            await scrubbed(run, services.truth.scrub)

    async def indexed(self, run: Runner, services: Services, events: Sequence[Event]) -> int:
        """How many records there are of these events."""
        return len(await run.call(services.index.get, [event.position for event in events]))

    async def scrub(self, run: Runner, services: Services) -> None:
        """Overwrite what was destroyed, where the index has files of its own."""
        if services.config.index.url not in {None, services.config.url}:
            await run.call(services.index.scrub)

    async def embed(
        self,
        run: Runner,
        services: Services,
        owner: Scope,
        progress: Progress | None = None,
        donor: SemanticIndex | None = None,
    ) -> int:
        """Give waiting records their vectors; ends early where a rebuild with another embedder begins."""
        count, embedder = 0, services.embedder
        while embedder is not None and services.embedder is embedder:
            waiting = await run.call(services.index.pending, owner, EMBED_BATCH)
            if not waiting or not await self._embed_batch(run, services, embedder, waiting, donor):
                break
            count += len(waiting)
            if progress is not None:
                progress(count, count + (await run.call(services.index.size)).pending)
        return count

    async def _embed_batch(
        self,
        run: Runner,
        services: Services,
        embedder: Embedder,
        waiting: Sequence[tuple[Record, Record | None]],
        donor: SemanticIndex | None,
    ) -> bool:
        texts = {record.id: passage(record, previous, services.config.cleaning) for record, previous in waiting}
        keys = {number: content_key(embedder.name, text) for number, text in texts.items()}
        by_key = {keys[number]: text for number, text in texts.items()}

        async def embed(missing: list[bytes]) -> Floats:
            return await embedding(run, embedder.embed_documents, [by_key[key] for key in missing])

        def wanted() -> bool:  # unless a rebuild with another embedder has begun meanwhile
            return services.embedder is embedder

        return await put_vectors(run, services.index, embedder.name, keys, embed, wanted=wanted, donor=donor)

    async def stats(self, run: Runner, services: Services, heads: Mapping[Scope, int]) -> dict[str, Any]:
        """What the index holds, and how far it follows the log."""
        size, unindexed = await run.call(services.index.size), 0
        for owner, head in heads.items():
            applied = await run.call(services.index.applied, owner)
            if applied < head:
                unindexed += await run.call(services.log.count, owner, after=applied)
        return {"records": size.records, "vectors": size.vectors, "pending": size.pending, "unindexed": unindexed}


async def _unindexed(run: Runner, services: Services, owner: Scope, erased: Erased) -> None:
    """Drop the records of what was erased; the turns after it are indexed again without its words."""
    ids = np.array([place for first, last in erased["positions"] for place in range(first, last + 1)], dtype=np.int64)
    records = await run.call(services.index.get, ids.tolist())
    if all(record.kind is RecordKind.ITEM for record in records):  # nothing was made with their words
        await run.call(services.index.delete, [record.id for record in records])
        return
    around = await run.call(services.index.columns, ids, Where(owner.owner), 1)
    gone = np.isin(around.ids, ids)
    keys = set(zip(around.segments[gone].tolist(), (around.ordinals[gone] + 1).tolist(), strict=True))
    places = zip(around.ids.tolist(), around.segments.tolist(), around.ordinals.tolist(), strict=True)
    followers = [place for place, segment, ordinal in places if (segment, ordinal) in keys and place not in ids]
    entries = []
    for record in await run.call(services.index.get, followers):
        said = await run.call(
            services.truth.read, record.scope, upto=record.id, kinds=(EventKind.MESSAGE,), limit=3, newest=True
        )
        derived = derive(learnt(services, [event for event in said if event.scope == record.scope]), {})
        before = derived[-1].previous if derived else None
        entries.append(Entry(record, index_terms(record, before, services.config.cleaning)))
    if entries:
        at = await run.call(services.index.applied, owner)
        await run.call(services.index.upsert, owner, entries, after=at, upto=at)
    await run.call(services.index.delete, around.ids[gone].tolist())
