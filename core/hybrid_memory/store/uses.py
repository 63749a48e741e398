"""Heat: which records were recalled how often, noted in the log in batches."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_memory.index.port import Use
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Draft
from hybrid_memory.recall.hit import Hit
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services


def count_uses(services: Services, owner: Scope, hits: Sequence[Hit]) -> bool:
    """Whether there is something to note of what the owner was shown; nothing is written yet.

    Hits of shared spaces do not count, nor does a look into the past.
    """
    if services.horizon is not None or services.read_only or not services.config.recall.count_uses:
        return False
    mine = [hit.record.id for hit in hits if hit.record.scope.owner == owner]
    services.uses.add(owner, mine)
    return bool(mine)


async def note_uses(run: Runner, services: Services, owner: Scope) -> None:
    """Write what was counted since the last time, as one event; what cannot be written is counted again."""
    counts = services.uses.take(owner)
    if not counts:
        return
    uses = [[number, count] for number, count in sorted(counts.items())]
    note = Draft(
        id=services.new_id(),
        fixed_id=False,
        session=None,
        kind=EventKind.USED,
        at=services.clock(),
        payload={"uses": uses},
    )
    try:
        await run.call(services.truth.append, owner, [note])
    except BaseException:
        services.uses.add(owner, [number for number, count in counts.items() for _ in range(count)])
        raise


def uses_of(events: Sequence[Event]) -> dict[int, Use]:
    """How often these events say that each record was used."""
    uses: dict[int, Use] = {}
    for event in events:
        if event.kind is EventKind.USED:
            for number, count in event.payload["uses"]:
                before = uses.get(number, Use(0, event.at))
                uses[number] = Use(before.count + count, max(before.at, event.at))
    return uses
