"""``stats``: what a store holds, and how far the index follows the log."""

from __future__ import annotations

from hybrid_memory.compute.runners import Runner
from hybrid_memory.flows.world import World
from hybrid_memory.types import Stats


async def stats(run: Runner, world: World) -> Stats:
    """Counts over all owners."""
    log = await run.call(world.log.size)
    index = await run.call(world.index.size)
    heads = await run.call(world.log.heads)
    unindexed = 0
    for owner, head in heads.items():
        applied = await run.call(world.index.applied, owner)
        if applied < head:
            unindexed += await run.call(world.log.count, owner, after=applied)
    return Stats(
        url=world.config.url,
        owners=log.owners,
        sessions=log.sessions,
        events=log.events,
        records=index.records,
        vectors=index.vectors,
        unindexed=unindexed,
        pending=index.pending,
        size_bytes=log.bytes,
        embedder=None if world.embedder is None else world.embedder.name,
        query_cache=(world.queries.hits, world.queries.misses),
    )
