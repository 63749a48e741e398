"""What a session's queue is: its last state in the log, and the turns since."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from hybrid_memory.compute.runners import Runner
from hybrid_memory.errors import IdConflictError
from hybrid_memory.flows.visible import in_view, present
from hybrid_memory.flows.world import World
from hybrid_memory.ports import Draft, EventLog
from hybrid_memory.tiers.queue import Queue, Unit, queue
from hybrid_memory.tiers.state import QueueState
from hybrid_memory.types import PRESSURE, RESERVED, Event, EventKind, Scope

STATES = (EventKind.COMPACTION, EventKind.RESET)
TURNS = (EventKind.MESSAGE, EventKind.RECALLED)


@dataclass(frozen=True, slots=True)
class Session:
    """A session's queue and the state that it follows from. Without a session: over all sessions of the owner."""

    scope: Scope
    state: QueueState
    queue: Queue


async def load(run: Runner, world: World, scope: Scope) -> Session:
    """The session as the log has it now; the cost is that of what is behind the cursor."""
    world = await in_view(run, world, scope)
    state = await state_of(run, world, scope)
    if world.viewed and (last := await _last_state(run, world.truth, scope)) is not None:
        # What a rollback hides keeps its numbers.
        state = replace(state, number=QueueState.of(last).number)
    before = sorted({*state.kept, *([state.anchor] if state.anchor else [])})
    events = await at_positions(run, world, scope, before)
    events += await run.call(world.log.read, scope, after=state.cursor, kinds=TURNS)
    return Session(scope=scope, state=state, queue=queue(events))


async def state_of(run: Runner, world: World, scope: Scope) -> QueueState:
    """What stands for the turns before the queue; ``world`` as `in_view` gives it."""
    return QueueState.of(await _last_state(run, world.log, scope))


def among(session: Session, ids: Collection[str] | None) -> Session:
    """The session without what it holds behind the first of these messages and is not one of them."""
    units = session.queue.units
    first = next((unit.first for unit in units if _one_of(unit, ids or ())), None)
    if ids is None or first is None:
        return session
    kept = tuple(unit for unit in units if unit.first < first or _warns(unit) or _one_of(unit, ids))
    return session if len(kept) == len(units) else replace(session, queue=replace(session.queue, units=kept))


def _warns(unit: Unit) -> bool:
    """Whether it is the memory's own warning, which no caller has."""
    return unit.messages[0].event == PRESSURE


def _one_of(unit: Unit, ids: Collection[str]) -> bool:
    return any(event.id in ids for event in unit.events)


async def _last_state(run: Runner, log: EventLog, scope: Scope) -> Event | None:
    # A handle without a session reads every session, but its queue has a state of its own.
    limit = None if scope.session is None else 1
    found = await run.call(log.read, scope, kinds=STATES, limit=limit, newest=True)
    return next((event for event in reversed(found) if event.scope.session == scope.session), None)


async def at_positions(run: Runner, world: World, scope: Scope, positions: Iterable[int]) -> list[Event]:
    """The events at these positions, which grow; a run of neighbours is read at once."""
    events: list[Event] = []
    for first, last in runs(positions):
        events += await run.call(world.log.read, scope, after=first - 1, upto=last)
    return events


def runs(positions: Iterable[int]) -> list[tuple[int, int]]:
    """First and last of each run of consecutive numbers."""
    found: list[tuple[int, int]] = []
    for position in positions:
        if found and position == found[-1][1] + 1:
            found[-1] = (found[-1][0], position)
        else:
            found.append((position, position))
    return found


async def write_state(
    run: Runner, world: World, scope: Scope, state: QueueState, *, kind: EventKind, payload: dict[str, object]
) -> bool:
    """Append the next revision of the state; False if another process was faster."""
    draft = Draft(
        id=f"{RESERVED}queue:{state.number}",
        fixed_id=False,
        session=scope.session,
        kind=kind,
        at=world.clock(),
        payload=payload,
        sources=(),
    )
    try:
        await run.call(present(world).truth.append, scope.owner, [draft])
    except IdConflictError:
        return False
    return True


async def reset(run: Runner, world: World, scope: Scope, kept: Sequence[str]) -> bool:
    """Let the conversation start anew with these messages; False if another process was faster."""
    world = await in_view(run, world, scope)
    session = await load(run, world, scope)
    events = await run.call(world.log.get, scope, list(kept))
    state = QueueState(number=session.state.number + 1)
    positions = [event.position for event in events if event.kind is EventKind.MESSAGE]
    return await write_state(run, world, scope, state, kind=EventKind.RESET, payload={"kept": positions})
