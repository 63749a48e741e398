"""The steps of an agent: read from the log where its work stands, and written with what they did, all or nothing."""

from __future__ import annotations

from dataclasses import replace

from hybrid_memory.compute.runners import Runner
from hybrid_memory.errors import IdConflictError
from hybrid_memory.flows.remember import draft_of
from hybrid_memory.flows.visible import in_view, present
from hybrid_memory.flows.world import World
from hybrid_memory.ports import Draft
from hybrid_memory.tiers.chain import Chain, Step, chain
from hybrid_memory.types import RESERVED, Event, EventKind, Scope

KINDS = (EventKind.MESSAGE, EventKind.STEP, EventKind.RESET)


async def work_left(run: Runner, world: World, scope: Scope) -> Chain:
    """Where the work of the session's agent stands."""
    seen = await in_view(run, world, scope)
    last = await _last(run, seen, scope)
    # What a rollback hides keeps its number.
    number = last if not seen.viewed else await _last(run, world, scope)
    since = 0 if last is None else last.payload["since"]
    events = await run.call(seen.log.read, scope, after=since, kinds=KINDS)
    found = chain(events, number=0 if number is None else int(number.id.rpartition(":")[2]), since=since)
    return replace(found, rewound=seen.viewed)


async def _last(run: Runner, world: World, scope: Scope) -> Event | None:
    found = await run.call(world.log.read, scope, kinds=(EventKind.STEP,), limit=1, newest=True)
    return found[-1] if found else None


async def advance(run: Runner, world: World, scope: Scope, before: Chain, step: Step) -> bool:
    """Write the next step with its messages, all or nothing; False if another process was faster."""
    drafts = [draft_of(present(world), scope, message) for message in step.messages]
    note = Draft(
        id=f"{RESERVED}step:{before.number + 1}",
        fixed_id=False,
        session=scope.session,
        kind=EventKind.STEP,
        at=world.clock(),
        payload=step.payload(before.since),
        sources=tuple(draft.id for draft in drafts[-1:]),
    )
    try:
        await run.call(world.truth.append, scope.owner, [note, *drafts])
    except IdConflictError:
        return False
    return True
