"""What of an owner's memory a verb sees: views of the past, and rollbacks, which hide and destroy nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.port import EventLog
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.log.visible import Horizon, Stretches, VisibleLog, hidden, joined, replaced, visible
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services
from hybrid_memory.validation import check_span, checked_count, shown


@dataclass(slots=True, kw_only=True)
class View(Services):
    """The services with the log as one owner's handle sees it: up to its horizon, without what is hidden.

    Attributes:
        owner: whose view it is; whole: the log with what is hidden.
        hidden: what a rollback hides, or an edit replaced.
        superseded: the hidden messages that were edited or said anew: their ids by position.
    """

    owner: Scope
    whole: EventLog
    hidden: Stretches = ()
    superseded: Mapping[int, str] = field(default_factory=dict)

    @property
    def truth(self) -> EventLog:
        """The log with what a rollback hides."""
        return self.whole

    @property
    def partial(self) -> bool:
        """Whether there may be events that are not to be seen."""
        return bool(self.hidden) or self.horizon is not None


async def in_view(run: Runner, services: Services, scope: Scope) -> View:
    """The services as this owner's handle sees them; a view of the owner stays as it is."""
    if isinstance(services, View) and services.owner == scope.owner:
        return services
    log, horizon = services.truth, services.horizon
    changes = await run.call(log.read, scope.owner, kinds=(EventKind.ROLLBACK, EventKind.SUPERSEDED))
    if not changes and horizon is None:
        return view_of(services, scope, log)
    stretches = hidden([event for event in changes if event.kind is EventKind.ROLLBACK], horizon)
    edits = [event for event in changes if event.kind is EventKind.SUPERSEDED and visible(event.position, stretches)]
    before = None if horizon is None else horizon.before
    done = [event for event in edits if before is None or event.at < before]
    superseded = replaced(done)
    # An edited message has the time of the one that it replaces.
    later = [name for event in edits if event not in done for name in event.payload["by"].values()]
    unsaid = await run.call(log.get, scope.owner, later) if later else []
    everything = joined([*stretches, *((place, place) for place in [*superseded, *(one.position for one in unsaid)])])
    return view_of(services, scope, VisibleLog(log, everything, horizon), hidden=everything, superseded=superseded)


def view_of(services: Services, scope: Scope, log: EventLog, **seen: Any) -> View:
    """The services with this log in view; what is not given is hidden from nobody."""
    own = {part.name: getattr(services, part.name) for part in fields(Services)}
    return View(**{**own, "log": log, "owner": scope.owner, "whole": services.truth, **seen})


def present(services: Services) -> Services:
    """The services, if they can be written to; raises `InvalidInputError` for a view of the past, or read-only."""
    if services.read_only:
        raise InvalidInputError(f"{services.config.url} is opened read-only: open it without read_only to change it")
    if services.horizon is not None:
        raise InvalidInputError("this is a view of the past, to be read only: write to the memory itself")
    return services


def horizon(moment: Any) -> Horizon:
    """How far a view reaches; raises `InvalidInputError` for what is neither a position nor an aware instant."""
    if isinstance(moment, datetime):
        check_span(moment, None)
        return Horizon(until=moment)
    if isinstance(moment, bool) or not isinstance(moment, int):
        raise InvalidInputError(f"give an aware datetime or a position of the log, got {shown(moment)}")
    return Horizon(upto=checked_count("a position", moment, least=0))


async def rollback(run: Runner, services: Services, scope: Scope, to: Any) -> Receipt:
    """Go back, or forward again, to this place in the log: what came after is hidden.

    Raises:
        InvalidInputError: it is no place in this owner's log.
    """
    present(services)
    wanted = horizon(to)
    heads = await run.call(services.truth.heads, scope.owner)
    head = heads.get(scope.owner, 0)
    position = wanted.upto
    if position is None:
        last = await run.call(services.truth.read, scope.owner, until=wanted.before, limit=1, newest=True)
        position = last[0].position if last else 0
    if position > head:
        raise InvalidInputError(f"the log of {scope.owner} ends at position {head}, cannot go to {position}")
    draft = services.draft(EventKind.ROLLBACK, {"to": position}, author=services.author)
    (appended,) = await run.call(services.truth.append, scope.owner, [draft])
    return Receipt(ids=(appended.id,), positions=(appended.position,))
