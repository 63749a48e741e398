"""What the retention policy hides: turns beyond their time, and turns that are forgotten."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array, Ids
from hybrid_memory.index.port import RecordColumns
from hybrid_memory.index.record import RecordKind, Where
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.indexing import index_texts
from hybrid_memory.store.retention import retention
from hybrid_memory.store.services import Services

WHOLE_BATCH = 10_000


def retained(services: Services, places: RecordColumns) -> npt.NDArray[np.bool_]:
    """Which of the records are remembered well enough to be found; all where nothing is to be forgotten."""
    return kept(services, np.maximum(places.at, places.last_used), places.importance.astype(np.float64), places.uses)


def kept(services: Services, fresh: Array, importance: Array, uses: Ids) -> npt.NDArray[np.bool_]:
    """The same for columns; ``fresh`` is when each was said or used last, in seconds since 1970."""
    policy = services.config.retention
    if policy.half_life is None:
        return np.ones(len(fresh), dtype=bool)
    age = np.maximum(services.clock().timestamp() - fresh, 0.0)
    left = retention(age, importance, uses, policy.half_life.total_seconds())
    enough: npt.NDArray[np.bool_] = left >= policy.least
    return enough


async def expired_turns(run: Runner, services: Services, scope: Scope) -> list[Event]:
    """The turns of the scope that the policy hides, by position."""
    await index_texts(run, services, scope.owner)
    now = services.clock()
    events = await run.call(services.truth.read, scope, kinds=(EventKind.MESSAGE,))
    age = services.config.retention.ttl.get(RecordKind.TURN.value)
    old = {event.position for event in events if age is not None and event.at < now - age}
    for start in range(0, len(events), WHOLE_BATCH):
        ids = np.array([event.position for event in events[start : start + WHOLE_BATCH]], dtype=np.int64)
        places = await run.call(services.index.columns, ids, Where(scope), 0)
        old |= set(places.ids[~retained(services, places)].tolist())
    return [event for event in events if event.position in old]
