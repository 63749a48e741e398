"""Events of the log, as they were written and as a conversation has them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import Message
from hybrid_memory.log.visible import runs, within
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view
from hybrid_memory.validation import check_span, checked_count, shown


async def history(
    run: Runner,
    services: Services,
    scope: Scope,
    *,
    limit: int | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[Message]:
    """The messages of the scope, oldest first, an edited one where it was said; with a limit the newest ones of them.

    Raises:
        InvalidInputError: a negative limit, or an instant that is none or has no time zone.
    """
    most = None if limit is None else checked_count("limit", limit, least=0)
    check_span(since, until)
    services = await in_view(run, services, scope)
    kinds = (EventKind.MESSAGE,)
    more = None if most is None else most + len(services.superseded)
    events = placed(
        await run.call(services.log.read, scope, since=since, until=until, kinds=kinds, limit=more, newest=True), 0
    )
    return [event.message for event in (events if most is None else events[max(0, len(events) - most) :])]


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
    """The entries of the log below this position, oldest first; with a limit the newest ones of them.

    Raises:
        InvalidInputError: an unknown kind, a limit or a position out of range, an instant that has no time zone.
    """
    most = None if limit is None else checked_count("limit", limit, least=0)
    upto = None if before is None else checked_count("before", before, least=1) - 1
    check_span(since, until)
    try:
        wanted = tuple(EventKind(kind) for kind in kinds)
    except (TypeError, ValueError):
        known = ", ".join(EventKind)
        raise InvalidInputError(f"kinds must be a collection of these: {known}; got {shown(kinds)}") from None
    services = await in_view(run, services, scope)
    return await run.call(
        services.log.read, scope, upto=upto, since=since, until=until, kinds=wanted, limit=most, newest=True
    )


async def entries(run: Runner, services: Services, scope: Scope, which: Collection[str | int]) -> list[Event]:
    """The entries with these ids or positions, by position, also those that are hidden.

    Raises:
        InvalidInputError: one of them is neither.
    """
    if isinstance(which, str) or not all(isinstance(one, str | int) for one in which):
        raise InvalidInputError(f"which must be a collection of ids or positions, got {shown(which)}")
    names = [one for one in which if isinstance(one, str)]
    events = await run.call(services.truth.get, scope, names) if names else []
    for position in (one for one in which if not isinstance(one, str)):
        events += await run.call(services.truth.read, scope, after=position - 1, upto=position)
    return sorted({event.position: event for event in events}.values(), key=lambda event: event.position)


def placed(
    events: Sequence[Event], cursor: int, kept: Collection[int] = (), stretches: Sequence[tuple[int, int]] = ()
) -> list[Event]:
    """The events with an edited message in the place of the one that it replaces.

    One whose place lies before the cursor is left out, unless it is kept; or that place was folded, and it was not: it
    is shown until it is folded too.
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
    """The events at these positions, in their order; neighbours are read at once."""
    events: list[Event] = []
    for first, last in runs(positions):
        events += await run.call(services.log.read, scope, after=first - 1, upto=last)
    return events
