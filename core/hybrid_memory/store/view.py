"""What of an owner's memory a verb sees: without what a rollback hides or an edit replaced, up to a view's horizon."""

from __future__ import annotations

from dataclasses import replace

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.visible import VisibleLog, hidden, joined, replaced, visible
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import World


async def in_view(run: Runner, world: World, scope: Scope) -> World:
    """The world as this owner's handle sees it."""
    if world.viewed:
        return world
    changes = await run.call(world.log.read, scope.owner, kinds=(EventKind.ROLLBACK, EventKind.SUPERSEDED))
    if not changes and world.horizon is None:
        return world
    stretches = hidden([event for event in changes if event.kind is EventKind.ROLLBACK], world.horizon)
    edits = [event for event in changes if event.kind is EventKind.SUPERSEDED and visible(event.position, stretches)]
    before = None if world.horizon is None else world.horizon.before
    done = [event for event in edits if before is None or event.at < before]
    superseded = replaced(done)
    # An edited message has the time of the one that it replaces.
    later = [name for event in edits if event not in done for name in event.payload["by"].values()]
    unsaid = await run.call(world.log.get, scope.owner, later) if later else []
    everything = joined([*stretches, *((place, place) for place in [*superseded, *(one.position for one in unsaid)])])
    log = VisibleLog(world.log, everything, world.horizon)
    return replace(world, log=log, whole=world.log, hidden=everything, superseded=superseded, viewed=True)


def present(world: World) -> World:
    """The world, if it can be written to; raises `InvalidInputError` for a view of the past, or read-only."""
    if world.read_only:
        raise InvalidInputError(f"{world.config.url} is opened read-only: open it without read_only to change it")
    if world.horizon is not None:
        raise InvalidInputError("this is a view of the past, to be read only: write to the memory itself")
    return world
