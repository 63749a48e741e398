"""What recall found lately, as long as nothing was written since."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime

from hybrid_memory.index.record import Where
from hybrid_memory.log.event import EventKind
from hybrid_memory.recall.hit import Hit
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services

NOTES = frozenset(
    {EventKind.USED, EventKind.RECALLED, EventKind.COMPACTION, EventKind.LEARNED, EventKind.BLOCK, EventKind.STEP}
)
WRITES = tuple(kind for kind in EventKind if kind not in NOTES)
"""What makes an answer old: all but what a memory notes of its own doings."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """An answer; ``heads`` are the last positions of the owners that it was made from, ``at`` when."""

    hits: list[Hit]
    heads: dict[Scope, int]
    at: datetime


def question(where: Where, *rest: Hashable) -> Hashable:
    """What two recalls must have in common to have the same answer."""
    metadata = json.dumps(dict(where.metadata), sort_keys=True)
    return (where.scope, where.kinds, where.categories, where.since, where.until, metadata, *rest)


async def heads(run: Runner, services: Services, owners: Sequence[Scope]) -> dict[Scope, int]:
    """How far the log of each owner goes."""
    there: dict[Scope, int] = {}
    for owner in owners:
        there |= await run.call(services.truth.heads, owner)
    return there


async def lookup(run: Runner, services: Services, key: Hashable, now: dict[Scope, int]) -> list[Hit] | None:
    """The answer, if it is not too old and nothing was written since."""
    entry = services.answers.get(key)
    if entry is None:
        return None
    if not await _stands(run, services, entry, now):
        services.answers.reject(key)
        return None
    return _copies(entry.hits)


async def _stands(run: Runner, services: Services, entry: Remembered, now: dict[Scope, int]) -> bool:
    age = services.clock() - entry.at
    if (
        not -services.config.recall.cache_ttl < age < services.config.recall.cache_ttl
        or entry.heads.keys() != now.keys()
    ):
        return False
    for owner, head in now.items():
        after = entry.heads[owner]
        if head != after:
            written = await run.call(services.truth.read, owner, after=after, kinds=WRITES, limit=1)
            if written:
                return False
    return True


def keep(services: Services, key: Hashable, hits: list[Hit], heads: dict[Scope, int], *, since: int) -> None:
    """Keep an answer for the next time, unless all answers were dropped while it was made.

    Not where records are hidden by their age: that changes without a write.
    """
    if not services.config.retention.ttl:
        services.answers.put(key, Remembered(_copies(hits), heads, services.clock()), since=since)


def _copies(hits: Sequence[Hit]) -> list[Hit]:
    """The same hits; what a caller does to their metadata stays with that caller."""
    return [replace(hit, record=replace(hit.record, metadata=deepcopy(hit.record.metadata))) for hit in hits]
