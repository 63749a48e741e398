"""What a session's queue is: its last state in the log, and the turns since."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from hybrid_memory.context.queue import Session, Unit, queue
from hybrid_memory.context.state import QueueState
from hybrid_memory.context.summary import Line
from hybrid_memory.errors import IdConflictError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import PRESSURE, RESERVED
from hybrid_memory.log.port import Draft, EventLog
from hybrid_memory.log.visible import MAX_POSITION
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.reading import at_positions, placed
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view, present

STATES = (EventKind.COMPACTION, EventKind.RESET)
TURNS = (EventKind.MESSAGE, EventKind.RECALLED)


async def load(run: Runner, services: Services, scope: Scope) -> Session:
    """The session as the log has it now; the cost is that of what is behind the cursor."""
    services = await in_view(run, services, scope)
    state = await state_of(run, services, scope)
    if services.viewed and (last := await _last_state(run, services.truth, scope)) is not None:
        # What a rollback hides keeps its numbers.
        state = replace(state, number=QueueState.of(last).number)
    kept = {*state.kept, *([state.anchor] if state.anchor else [])}
    events = await at_positions(run, services, scope, sorted(position for position in kept if position <= state.cursor))
    events += await run.call(services.log.read, scope, after=state.cursor, kinds=TURNS)
    # What was recalled of superseded words is not shown again, but recalled anew.
    lost = set(services.superseded.values())
    events = [event for event in events if event.kind is not EventKind.RECALLED or lost.isdisjoint(event.sources)]
    return Session(scope=scope, state=state, queue=queue(placed(events, state.cursor, kept, state.stretches)))


async def state_of(run: Runner, services: Services, scope: Scope) -> QueueState:
    """What stands for the turns before the queue, without lines of superseded ones; ``services`` in view."""
    state = QueueState.of(await _last_state(run, services.log, scope))
    lost = set(services.superseded.values())
    return replace(state, lines=tuple(line for line in state.lines if not _outdated(line, lost))) if lost else state


def _outdated(line: Line, lost: Collection[str]) -> bool:
    """Whether most of what a line was made of is superseded."""
    return bool(line.sources) and 2 * sum(source in lost for source in line.sources) >= len(line.sources)


async def hosted(
    run: Runner, services: Services, session: Session, ids: Collection[str], began: str | None
) -> tuple[Session, int]:
    """The session as its host has it, and where its state began: from there on only the messages with these ids.

    What was edited or said anew stands in it where the host still has it, as in another branch of the conversation.
    ``began`` is the id of the first message that the host's state ever had; without one it is the first of these that
    the log has. ``services`` as `in_view` gives them.
    """
    lost = sorted(place for place, name in services.superseded.items() if place > session.state.cursor and name in ids)
    again = await at_positions(run, replace(services, log=services.truth), session.scope, lost)
    units = session.queue.units
    if again:
        said = [event for unit in units for event in unit.events]
        notes = {unit.events[0].id: unit for unit in units if unit.note is not None}
        units = _noted(queue(sorted([*said, *again], key=lambda event: event.position)).units, notes)
    first = await run.call(services.truth.get, session.scope, [began]) if began else []
    start = _beginning(first, units, ids)
    if start is None:
        return session, MAX_POSITION
    kept = tuple(
        unit for unit in units if unit.first < start or _warns(unit) or any(event.id in ids for event in unit.events)
    )
    return replace(session, queue=replace(session.queue, units=kept)), start


def _beginning(first: Sequence[Event], units: Sequence[Unit], ids: Collection[str]) -> int | None:
    """Position from which on the host knows the conversation; None if it shares nothing with the log."""
    if first:
        return first[0].message.replaces or first[0].position
    return next((unit.first for unit in units if any(event.id in ids for event in unit.events)), None)


def _noted(units: Sequence[Unit], notes: Mapping[str, Unit]) -> tuple[Unit, ...]:
    """The units with the notes that they had."""
    before = [notes.get(unit.events[0].id) for unit in units]
    return tuple(
        unit if old is None else replace(unit, note=old.note, recalled=old.recalled)
        for unit, old in zip(units, before, strict=True)
    )


def _warns(unit: Unit) -> bool:
    """Whether it is the memory's own warning, which no caller has."""
    return unit.messages[0].event == PRESSURE


async def _last_state(run: Runner, log: EventLog, scope: Scope) -> Event | None:
    # A handle without a session reads every session, but its queue has a state of its own.
    limit = None if scope.session is None else 1
    found = await run.call(log.read, scope, kinds=STATES, limit=limit, newest=True)
    return next((event for event in reversed(found) if event.scope.session == scope.session), None)


async def write_state(
    run: Runner, services: Services, scope: Scope, state: QueueState, *, kind: EventKind, payload: dict[str, object]
) -> bool:
    """Append the next revision of the state; False if another process was faster."""
    draft = Draft(
        id=f"{RESERVED}queue:{state.number}",
        fixed_id=False,
        session=scope.session,
        kind=kind,
        at=services.clock(),
        payload=payload,
        sources=(),
    )
    try:
        await run.call(present(services).truth.append, scope.owner, [draft])
    except IdConflictError:
        return False
    return True


async def reset(run: Runner, services: Services, scope: Scope, kept: Sequence[str]) -> bool:
    """Let the conversation start anew with these messages; False if another process was faster."""
    services = await in_view(run, services, scope)
    session = await load(run, services, scope)
    events = await run.call(services.log.get, scope, list(kept))
    state = QueueState(number=session.state.number + 1)
    positions = [event.position for event in events if event.kind is EventKind.MESSAGE]
    return await write_state(run, services, scope, state, kind=EventKind.RESET, payload={"kept": positions})
