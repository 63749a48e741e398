"""What of an owner's memory a verb sees: without what a rollback hides or an edit replaced, up to a view's horizon."""

from __future__ import annotations

from dataclasses import replace

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.visible import VisibleLog, hidden, joined, replaced, visible
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services


async def in_view(run: Runner, services: Services, scope: Scope) -> Services:
    """The services as this owner's handle sees it."""
    if services.viewed:
        return services
    changes = await run.call(services.log.read, scope.owner, kinds=(EventKind.ROLLBACK, EventKind.SUPERSEDED))
    if not changes and services.horizon is None:
        return services
    stretches = hidden([event for event in changes if event.kind is EventKind.ROLLBACK], services.horizon)
    edits = [event for event in changes if event.kind is EventKind.SUPERSEDED and visible(event.position, stretches)]
    before = None if services.horizon is None else services.horizon.before
    done = [event for event in edits if before is None or event.at < before]
    superseded = replaced(done)
    # An edited message has the time of the one that it replaces.
    later = [name for event in edits if event not in done for name in event.payload["by"].values()]
    unsaid = await run.call(services.log.get, scope.owner, later) if later else []
    everything = joined([*stretches, *((place, place) for place in [*superseded, *(one.position for one in unsaid)])])
    log = VisibleLog(services.log, everything, services.horizon)
    return replace(services, log=log, whole=services.log, hidden=everything, superseded=superseded, viewed=True)


def present(services: Services) -> Services:
    """The services, if they can be written to; raises `InvalidInputError` for a view of the past, or read-only."""
    if services.read_only:
        raise InvalidInputError(f"{services.config.url} is opened read-only: open it without read_only to change it")
    if services.horizon is not None:
        raise InvalidInputError("this is a view of the past, to be read only: write to the memory itself")
    return services
