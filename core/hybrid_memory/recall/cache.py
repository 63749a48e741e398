"""What recall caches: answers, until something is written, and the number of uses of records."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

from hybrid_memory.display import Progress
from hybrid_memory.index.record import Where
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.port import Receipt
from hybrid_memory.recall.hit import Hit
from hybrid_memory.runtime.caches import Counts, LruCache
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.projection import Newest, Projection
from hybrid_memory.store.services import Services

ANSWERS_CACHE = 128
"""Cached answers; one with a hundred hits takes about 100 kB, and expires with the owner's next write."""

RECORDS = frozenset({EventKind.USED, EventKind.RECALLED, EventKind.COMPACTION, EventKind.LEARNED, EventKind.BLOCK})
WRITES = tuple(kind for kind in EventKind if kind not in RECORDS)
"""Kinds that invalidate an answer: all except records of the memory's own work."""


Heads: TypeAlias = dict[Scope, tuple[int, str]]
"""The last position of each owner's log, and the mark of the event there: a restored log reuses positions."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A cached answer; ``heads`` are the last events of the owners it is based on, ``at`` is its time."""

    hits: list[Hit]
    heads: Heads
    at: datetime


class RecallProjection(Projection):
    """Recall's caches: recent answers, and uses that were not written yet."""

    kinds = frozenset({EventKind.USED})

    def __init__(self) -> None:
        self.answers: LruCache[Hashable, Answer] = LruCache(ANSWERS_CACHE)
        self.uses: Counts[Scope] = Counts()

    def clear(self, owner: Scope | None = None) -> None:
        """Drop the answers."""
        self.answers.clear(lambda _, answer: owner is None or owner in answer.heads)

    def sources(self, item: object) -> Sequence[str] | None:
        """Ids of the events behind a hit."""
        return item.sources if isinstance(item, Hit) else None

    async def unfinished(self, run: Runner, services: Services, newest: Newest) -> set[Scope]:
        """The owners with counted uses."""
        return set(self.uses.counted())

    async def derive(self, run: Runner, services: Services, owner: Scope, progress: Progress | None) -> Receipt:
        """Write the counted uses to the log."""
        await note_uses(run, services, owner)
        return Receipt()


def question(where: Where, *rest: Hashable) -> Hashable:
    """A key that two recalls share if they have the same answer."""
    metadata = json.dumps(dict(where.metadata), sort_keys=True) if where.metadata else ""
    return (where.scope, where.kinds, where.categories, where.since, where.until, where.origins, metadata, *rest)


async def lookup(run: Runner, services: Services, key: Hashable, heads: Heads) -> list[Hit] | None:
    """The cached answer, if it is recent enough and nothing was written since."""
    answers, ttl = services.state(RecallProjection).answers, services.config.recall.cache_ttl
    entry = answers.get(key)
    if entry is None:
        return None
    valid = -ttl < services.clock() - entry.at < ttl and entry.heads.keys() == heads.keys()
    for owner, head in heads.items() if valid else ():
        after, mark = entry.heads[owner]
        if head != (after, mark):
            same = mark == await run.call(services.truth.mark, owner, after)
            valid = same and not await run.call(services.truth.read, owner, after=after, kinds=WRITES, limit=1)
            if not valid:
                break
    if not valid:
        answers.reject(key)
        return None
    return _copies(entry.hits)


def keep(services: Services, key: Hashable, hits: list[Hit], heads: Heads, *, since: int) -> None:
    """Cache an answer, unless the cache was cleared in the meantime, or retention hides records without a write."""
    if not services.config.retention.ttl:
        services.state(RecallProjection).answers.put(key, Answer(_copies(hits), heads, services.clock()), since=since)


def _copies(hits: Sequence[Hit]) -> list[Hit]:
    """The hits, with metadata that a caller may change."""
    return [
        replace(hit, record=hit.record.copied(), asked=hit.asked and hit.asked.copied())
        if hit.record.metadata or hit.asked
        else hit
        for hit in hits
    ]


def count_uses(services: Services, owner: Scope, hits: Sequence[Hit]) -> bool:
    """Count uses; returns whether there are any. Hits of shared spaces and views of the past do not count."""
    if services.horizon is not None or services.read_only or not services.config.recall.count_uses:
        return False
    mine = [hit.record.id for hit in hits if hit.record.scope.owner == owner]
    services.state(RecallProjection).uses.add(owner, mine)
    return bool(mine)


async def note_uses(run: Runner, services: Services, owner: Scope) -> None:
    """Write the uses counted since the last time as one event; if that fails, they are counted again."""
    uses = services.state(RecallProjection).uses
    counts = uses.take(owner)
    if not counts:
        return
    payload = {"uses": [[number, count] for number, count in sorted(counts.items())]}
    try:
        await run.call(services.truth.append, owner, [services.draft(EventKind.USED, payload)])
    except BaseException:
        uses.add(owner, [number for number, count in counts.items() for _ in range(count)])
        raise
