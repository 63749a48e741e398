"""Retention: what is hidden by age, and would be destroyed by ``forget(expired=True)``."""

from __future__ import annotations

from collections.abc import AsyncIterator

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array, Ids, Numbers
from hybrid_memory.index.port import RecordColumns
from hybrid_memory.index.record import RecordKind, Where
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.erasure import stream
from hybrid_memory.store.indexing import TextIndex
from hybrid_memory.store.services import Services

IMPORTANT = 8.0
"""How many times more slowly the most important memories are forgotten than the least important."""

WHOLE_BATCH = 10_000


def retention(age_seconds: Array, importance: Array, uses: Numbers, half_life_seconds: float) -> Array:
    """``0.5 ** (age / (half_life * 8 ** importance * (1 + uses)))``, in (0, 1]; 1 now and in the future.

    After one half-life, 0.5 remains of what has no importance and was never used. Age counts from the last use, so that
    a use both refreshes and strengthens. Exponential forgetting over a strength is the model of Woźniak et al. 1995 for
    Ebbinghaus' curve. A half-life that grows exponentially with the features of a memory is from Settles and Meeder
    2016, and a strength that each use increases by one from MemoryBank (Zhong et al. 2023).
    """
    strength = IMPORTANT**importance * (1.0 + uses)
    left = np.exp2(-np.maximum(age_seconds, 0.0) / (half_life_seconds * strength))
    return np.asarray(np.maximum(left, np.finfo(np.float64).tiny))


def retained(services: Services, columns: RecordColumns) -> npt.NDArray[np.bool_]:
    """The records that are remembered well enough to be found; all if nothing is forgotten."""
    return kept(
        services, np.maximum(columns.at, columns.last_used), columns.importance.astype(np.float64), columns.uses
    )


def kept(services: Services, fresh: Array, importance: Array, uses: Ids) -> npt.NDArray[np.bool_]:
    """The same for columns; ``fresh`` is when each was said or last used, in seconds since 1970."""
    policy = services.config.retention
    if policy.half_life is None:
        return np.ones(len(fresh), dtype=bool)
    age = np.maximum(services.clock().timestamp() - fresh, 0.0)
    left = retention(age, importance, uses, policy.half_life.total_seconds())
    enough: npt.NDArray[np.bool_] = left >= policy.least
    return enough


async def expired_turns(run: Runner, services: Services, scope: Scope) -> AsyncIterator[list[Event]]:
    """The scope's turns that the retention policy hides, by position, in batches."""
    await services.state(TextIndex).follow(run, services, scope.owner)
    now = services.clock()
    age = services.config.retention.ttl.get(RecordKind.TURN.value)
    async for events in stream(run, services.truth, scope, kinds=(EventKind.MESSAGE,), size=WHOLE_BATCH):
        ids = np.array([event.position for event in events], dtype=np.int64)
        columns = await run.call(services.index.columns, ids, Where(scope), 0)
        hidden = set(columns.ids[~retained(services, columns)].tolist())
        yield [event for event in events if event.position in hidden or (age is not None and event.at < now - age)]
