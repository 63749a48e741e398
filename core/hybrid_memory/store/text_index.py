"""L2: the words and meanings of turns, facts and items, as an index that follows the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.display import Progress
from hybrid_memory.index.derive import derive, index_terms, passage
from hybrid_memory.index.port import Entry
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.runtime.caches import LruCache
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

    async def unindex(self, run: Runner, services: Services, owner: Scope, erased: Erased) -> int:
        """Drop the records of what was erased; the turns after it are indexed again without its words."""
        index, positions = services.index, [p for first, last in erased["positions"] for p in range(first, last + 1)]
        records = await run.call(index.get, positions)
        if all(record.kind is RecordKind.ITEM for record in records):  # nothing was made with their words
            return await run.call(index.delete, [record.id for record in records])
        ids = np.array(positions, dtype=np.int64)
        around = await run.call(index.columns, ids, Where(owner.owner), 1)
        gone = np.isin(around.ids, ids)
        keys = set(zip(around.segments[gone].tolist(), (around.ordinals[gone] + 1).tolist(), strict=True))
        rows = zip(around.ids.tolist(), around.segments.tolist(), around.ordinals.tolist(), strict=True)
        followers = [place for place, segment, ordinal in rows if (segment, ordinal) in keys and place not in ids]
        if entries := [await _anew(run, services, record) for record in await run.call(index.get, followers)]:
            at = await run.call(index.applied, owner)
            await run.call(index.upsert, owner, entries, after=at, upto=at)
        return await run.call(index.delete, around.ids[gone].tolist())

    async def clean(self, run: Runner, services: Services, erased: Sequence[Erased], count: int) -> None:
        """Clean up the log behind what another process erased, unless that can wait."""
        if any(one.get("scrub", "now") == "now" for one in erased):
            await scrubbed(run, services.truth.scrub)

    async def scrub(self, run: Runner, services: Services) -> None:
        """Overwrite what was destroyed, where the index has files of its own."""
        if services.config.index.url not in {None, services.config.url}:
            await run.call(services.index.scrub)

    async def embed(self, run: Runner, services: Services, owner: Scope, progress: Progress | None = None) -> int:
        """Give waiting records their vectors; ends early where a rebuild with another embedder begins."""
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
        """What the index holds, and how far it follows the log."""
        size, unindexed = await run.call(services.index.size), 0
        for owner, head in heads.items():
            applied = await run.call(services.index.applied, owner)
            if applied < head:
                unindexed += await run.call(services.log.count, owner, after=applied)
        return {"records": size.records, "vectors": size.vectors, "pending": size.pending, "unindexed": unindexed}


async def _anew(run: Runner, services: Services, record: Record) -> Entry:
    """What the index takes of a turn once more, since another one stands before it now."""
    turns = await run.call(
        services.truth.read, record.scope, upto=record.id, kinds=(EventKind.MESSAGE,), limit=3, newest=True
    )
    derived = derive(learnt(services, [event for event in turns if event.scope == record.scope]), {})
    before = derived[-1].previous if derived else None
    return Entry(record, index_terms(record, before, services.config.cleaning))
