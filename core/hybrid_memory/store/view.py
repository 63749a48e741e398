"""The part of an owner's log that a verb sees: views of the past, rollbacks (which hide, not destroy), and history.

And retention: what is hidden by age, and would be destroyed by ``forget(expired=True)``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array, Ids, Numbers
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.index.port import RecordColumns
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.moment import MomentLog
from hybrid_memory.log.port import EventLog, LogState, Receipt, receipt_of
from hybrid_memory.log.views import Horizon, Stretches, VisibleLog, hidden, joined, replaced, runs, visible, within
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.projection import FoldedProjection
from hybrid_memory.store.services import Services
from hybrid_memory.urls import shown_url
from hybrid_memory.validation import check_span, shown, whole

HIDING = frozenset({EventKind.ROLLBACK, EventKind.SUPERSEDED, EventKind.ERASED})
"""Kinds of the events that hide parts of a log."""

IMPORTANT = 8.0  # how many times more slowly the most important memories are forgotten than the least important


@dataclass(slots=True, kw_only=True)
class View(Services):
    """The services with the log as one owner sees it: up to its horizon, without hidden events.

    Attributes:
        owner: the owner of the view; whole: the log including what is hidden.
        hidden: stretches hidden by rollbacks or edits; rolled: those of rollbacks alone.
        superseded: hidden messages that were edited or regenerated: their ids by position.
    """

    owner: Scope
    whole: EventLog
    hidden: Stretches = ()
    rolled: Stretches = ()
    superseded: Mapping[int, str] = field(default_factory=dict)

    @property
    def truth(self) -> EventLog:
        """The log including what a rollback hides."""
        return self.whole

    @property
    def partial(self) -> bool:
        """Whether some events may be invisible."""
        return bool(self.hidden) or self.horizon is not None


@dataclass(frozen=True, slots=True)
class Changes:
    """The hidden parts of an owner's log.

    Attributes:
        position: of the last event that this takes into account.
        rolled: stretches hidden by rollbacks; superseded: messages hidden by edits, their ids by position.
        hidden: the stretches of both.
    """

    position: int = 0
    rolled: Stretches = ()
    superseded: Mapping[int, str] = field(default_factory=dict)
    hidden: Stretches = ()

    def after(self, events: Iterable[Event]) -> Changes:
        """The changes after these events, of which only the first ones may be rollbacks."""
        news = list(events)
        rolled = hidden([event for event in news if event.kind is EventKind.ROLLBACK]) or self.rolled
        edits = [event for event in news if event.kind is EventKind.SUPERSEDED and visible(event.position, rolled)]
        superseded = replaced(edits, self.superseded)
        everything = joined([*rolled, *((place, place) for place in superseded)])
        return Changes(news[-1].position, rolled, superseded, everything)


class ChangesProjection(FoldedProjection[Changes]):
    """The hidden parts of each owner's log."""

    start = Changes
    follows = HIDING
    anew = HIDING - {EventKind.SUPERSEDED}


def in_a_moment(services: Services) -> Services:
    """The services with the log as it is when a verb begins, until that writes to it; see `MomentLog`."""
    if isinstance(services, View) or isinstance(services.log, MomentLog) or not services.log.sends_tail:
        return services
    return replace(services, log=MomentLog(services.log))


async def in_view(run: Runner, services: Services, scope: Scope, state: LogState | None = None) -> View:
    """The services as this owner sees them; an existing view of the owner is returned unchanged.

    ``state`` is that of the owner's log, with the kinds `HIDING`, if known.
    """
    if isinstance(services, View) and services.owner == scope.owner:
        return services
    log, horizon = services.truth, services.horizon
    if horizon is None:
        changes = await services.state(ChangesProjection).read_log(run, log, (scope.owner, (), None), state)
    else:
        events = await run.call(log.read, scope.owner, kinds=(EventKind.ROLLBACK, EventKind.SUPERSEDED))
        rolled = hidden([event for event in events if event.kind is EventKind.ROLLBACK], horizon)
        edits = [event for event in events if event.kind is EventKind.SUPERSEDED and visible(event.position, rolled)]
        done = [event for event in edits if horizon.before is None or event.at < horizon.before]
        superseded = replaced(done)
        # An edited message has the time of the one that it replaces.
        later = [name for event in edits if event not in done for name in event.payload["by"].values()]
        unsaid = [event.position for event in await run.call(log.get, scope.owner, later)] if later else []
        everything = joined([*rolled, *((place, place) for place in [*superseded, *unsaid])])
        changes = Changes(0, rolled, superseded, everything)
    seen = VisibleLog(log, changes.hidden, horizon) if changes.hidden or horizon is not None else log
    return view_of(services, scope, seen, changes)


def view_of(services: Services, scope: Scope, log: EventLog, changes: Changes | None = None) -> View:
    """The services with this log in view, from which these changes are hidden."""
    own = {name: getattr(services, name) for name in Services.__dataclass_fields__}
    own |= {name: getattr(changes, name) for name in ("hidden", "rolled", "superseded") if changes is not None}
    return View(**{**own, "log": log, "owner": scope.owner, "whole": services.truth})


def present(services: Services) -> Services:
    """The services, if they are writable; raises `InvalidInputError` for a view of the past, or if read-only."""
    if services.read_only:
        raise InvalidInputError(
            f"{shown_url(services.config.url)} is opened read-only: open it without read_only to change it"
        )
    if services.horizon is not None:
        raise InvalidInputError("this view of the past is read-only: write to the memory itself")
    return services


def horizon(moment: datetime | int) -> Horizon:
    """The horizon for a position or an instant; raises `InvalidInputError` if this has no time zone."""
    if not isinstance(moment, datetime):
        return Horizon(upto=whole("a position", moment, 0))
    if moment.utcoffset() is None:
        raise InvalidInputError(f"give a datetime with a time zone or a log position, got {shown(moment)}")
    return Horizon(until=moment)


async def check_horizon(run: Runner, services: Services, scope: Scope, moment: Horizon) -> None:
    """Raise `InvalidInputError` if it is a position behind the last one that the owner's log has now."""
    if moment.upto:
        head = await run.call(services.truth.head, scope.owner)
        if moment.upto > head:
            raise InvalidInputError(f"the log of {scope.owner} ends at position {head}: there is no {moment}")


async def rollback(run: Runner, services: Services, scope: Scope, to: datetime | int) -> Receipt:
    """Go back (or forward again) to a position in the log: everything after it is hidden."""
    present(services)
    wanted = horizon(to)
    await check_horizon(run, services, scope, wanted)
    position = wanted.upto
    if position is None:
        last = await run.call(services.truth.read, scope.owner, until=wanted.before, limit=1, newest=True)
        position = last[0].position if last else 0
    draft = services.draft(EventKind.ROLLBACK, {"to": position}, author=services.author)
    (appended,) = await run.call(services.truth.append, scope.owner, [draft])
    return receipt_of([appended])


async def newest_messages(
    run: Runner,
    services: View,
    scope: Scope,
    most: int | None,
    *,
    after: int = 0,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[Event]:
    """Messages by position, including the newest in the order of `placed`; all without a limit.

    An edited message comes later in the log than in the conversation.
    """
    limit = most
    kinds = (EventKind.MESSAGE,)
    while True:
        events = await run.call(
            services.log.read, scope,
            after=after, since=since, until=until, kinds=kinds, limit=limit, newest=True,
        )  # fmt: skip
        if limit is None or most is None or len(events) < limit:
            return events
        last = sum((_replaces(event) or event.position) >= events[0].position for event in events)
        if last >= most:
            return events
        limit = 2 * limit


async def events(
    run: Runner,
    services: Services,
    scope: Scope,
    *,
    before: int | None = None,
    kinds: Collection[EventKind | str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int | None = None,
) -> list[Event]:
    """The log entries before this position, oldest first; with a limit, the newest of them."""
    most = None if limit is None else whole("limit", limit, 0)
    upto = None if before is None else whole("before", before, 1) - 1
    check_span(since, until)
    try:
        wanted = tuple(EventKind(kind) for kind in kinds)
    except ValueError:
        known = ", ".join(EventKind)
        raise InvalidInputError(f"kinds must be a collection of these: {known}; got {shown(kinds)}") from None
    services = await in_view(run, services, scope)
    return await run.call(
        services.log.read, scope, upto=upto, since=since, until=until, kinds=wanted, limit=most, newest=True
    )


async def entries(run: Runner, services: Services, scope: Scope, which: Collection[str | int]) -> list[Event]:
    """The entries with these ids or positions, by position, including hidden ones."""
    names = [one for one in which if isinstance(one, str)]
    events = await run.call(services.truth.get, scope, names) if names else []
    for position in (one for one in which if not isinstance(one, str)):
        events += await run.call(services.truth.read, scope, after=position - 1, upto=position)
    return sorted({event.position: event for event in events}.values(), key=lambda event: event.position)


def placed(
    events: Sequence[Event], cursor: int, kept: Collection[int] = (), stretches: Sequence[tuple[int, int]] = ()
) -> list[Event]:
    """The events, with each edited message in the place of the one it replaces.

    An edited message whose place is before the cursor is left out, unless it is kept, or the place was compacted but
    the edited message was not: then it is shown until it is compacted too.
    """
    if not any(_replaces(event) for event in events):
        return list(events)

    def shown(event: Event) -> bool:
        place = _replaces(event) or event.position
        if place > cursor or event.position <= cursor or not {place, event.position}.isdisjoint(kept):
            return True
        return within(place, stretches) and not within(event.position, stretches)

    return sorted(filter(shown, events), key=lambda event: _replaces(event) or event.position)


def _replaces(event: Event) -> int | None:
    return event.message.replaces if event.kind is EventKind.MESSAGE else None


async def at_positions(run: Runner, services: Services, scope: Scope, positions: Iterable[int]) -> list[Event]:
    """The events at these positions, in their order; adjacent ones are read together."""
    events: list[Event] = []
    for first, last in runs(positions):
        events += await run.call(services.log.read, scope, after=first - 1, upto=last)
    return events


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
