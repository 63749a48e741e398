"""``history``, ``events``: the messages as they were said, and all else that the log holds."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import Message
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.reading import placed
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view
from hybrid_memory.validation import checked_count, shown


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
    said = (EventKind.MESSAGE,)
    more = None if most is None else most + len(services.superseded)
    events = placed(
        await run.call(services.log.read, scope, since=since, until=until, kinds=said, limit=more, newest=True), 0
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
    found = await run.call(services.truth.get, scope, names) if names else []
    for place in (one for one in which if not isinstance(one, str)):
        found += await run.call(services.truth.read, scope, after=place - 1, upto=place)
    return sorted({event.position: event for event in found}.values(), key=lambda event: event.position)


def check_span(since: datetime | None, until: datetime | None) -> None:
    """Raise `InvalidInputError` unless both are aware instants and in order."""
    for name, instant in (("since", since), ("until", until)):
        if not isinstance(instant, datetime | None):
            raise InvalidInputError(f"{name} must be a datetime, got {shown(instant)}")
        if instant is not None and instant.utcoffset() is None:
            raise InvalidInputError(f"{name} needs a time zone, got {instant!r}: use datetime(..., tzinfo=UTC)")
    if since is not None and until is not None and since > until:
        raise InvalidInputError(f"since ({since}) is after until ({until})")
