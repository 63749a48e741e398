"""What a store holds, and how far its index follows the log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hybrid_memory import display
from hybrid_memory.context.summary import Audit
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.statistics import WorkStats
from hybrid_memory.store.projection import projections
from hybrid_memory.store.services import Services
from hybrid_memory.urls import shown_url


@dataclass(frozen=True, slots=True)
class Stats:
    """What a store holds, and how far its index is behind the log.

    Attributes:
        owners, sessions, events, records, vectors: counts.
        unindexed: events not indexed yet; pending: records without a vector yet.
        size_bytes: size of all files on disk; 0 in memory.
        embedder: the embedder's name, or None without one.
        work: counts, latencies and caches of this process.
        waiting: messages in the outbox.
        compactions: what became of the critical items in all compacted turns.
        vectors_of: the embedder that made the stored vectors; None before the first.
    """

    url: str
    owners: int
    sessions: int
    events: int
    records: int
    vectors: int
    unindexed: int
    pending: int
    size_bytes: int
    embedder: str | None
    work: WorkStats
    waiting: int = 0
    compactions: Audit = field(default_factory=Audit)
    vectors_of: str | None = None

    def __repr__(self) -> str:
        behind = f"; {self.unindexed:,} to be indexed, {self.pending:,} to be embedded" if self._behind else ""
        return f"<Stats of {self.url}: {self._log}, {self._index}, {self.size_bytes / 1e6:,.1f} MB{behind}>"

    @property
    def _log(self) -> str:
        counts = {"owner": self.owners, "session": self.sessions, "event": self.events}
        return ", ".join(display.counted(number, noun) for noun, number in counts.items())

    @property
    def _index(self) -> str:
        return f"{display.counted(self.records, 'record')}, {display.counted(self.vectors, 'vector')}"

    @property
    def _behind(self) -> bool:
        return bool(self.unindexed or self.pending)


async def stats(run: Runner, services: Services) -> Stats:
    """Counts over all owners."""
    log, stored = await run.call(services.log.size), await run.call(services.index.embedder)
    heads = await run.call(services.log.heads)
    derived: dict[str, Any] = {}
    for projection in projections(services):
        derived |= await projection.stats(run, services, heads)
    return Stats(
        url=shown_url(services.config.url),
        owners=log.owners,
        sessions=log.sessions,
        events=log.events,
        size_bytes=log.bytes,
        embedder=None if services.embedder is None else services.embedder.name,
        work=services.statistics.snapshot(),
        waiting=0 if services.outbox is None else (await run.call(services.outbox.size)).events,
        vectors_of=None if stored is None else stored[0],
        **derived,
    )
