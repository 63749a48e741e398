"""``stats``: what a store holds, and how far the index follows the log."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_memory.compute.runners import Runner
from hybrid_memory.flows.world import World
from hybrid_memory.tiers.state import QueueState
from hybrid_memory.types import Audit, EventKind, Scope, Stats

MAX_READ = 1000
"""Compactions of one owner that are looked at, the newest ones; a session without one among them is left out."""


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
        work=world.statistics.snapshot(),
        waiting=0 if world.outbox is None else (await run.call(world.outbox.size)).events,
        compactions=await _compactions(run, world, list(heads)),
    )


async def owners(run: Runner, world: World) -> list[Scope]:
    """Every owner that something was written for, spaces among them, by name."""
    return sorted(await run.call(world.truth.heads), key=str)


async def _compactions(run: Runner, world: World, owners: Sequence[Scope]) -> Audit:
    """The sum over all sessions; each carries its own sum in its newest compaction."""
    total = Audit()
    for owner in owners:
        kinds = (EventKind.COMPACTION,)
        events = await run.call(world.log.read, owner, kinds=kinds, limit=MAX_READ, newest=True)
        newest = {event.scope: event for event in events}
        for event in newest.values():
            total += QueueState.of(event).audit
    return total
