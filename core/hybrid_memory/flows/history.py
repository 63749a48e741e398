"""``history``: the messages as they were said."""

from __future__ import annotations

from datetime import datetime

from hybrid_memory.compute.runners import Runner
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.flows.world import World
from hybrid_memory.types import Message, Scope


async def history(
    run: Runner,
    world: World,
    scope: Scope,
    *,
    limit: int | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[Message]:
    """The messages of the scope, oldest first; with a limit the newest ones of them.

    Raises:
        InvalidInputError: a negative limit, or an instant without a time zone.
    """
    if limit is not None and limit < 0:
        raise InvalidInputError(f"limit must be 0 or more, got {limit}")
    check_span(since, until)
    events = await run.call(world.log.read, scope, since=since, until=until, limit=limit, newest=True)
    return [event.message for event in events]


def check_span(since: datetime | None, until: datetime | None) -> None:
    """Raise `InvalidInputError` unless both instants are aware and in order."""
    for name, instant in (("since", since), ("until", until)):
        if instant is not None and instant.tzinfo is None:
            raise InvalidInputError(f"{name} needs a time zone, got {instant!r}: use datetime(..., tzinfo=UTC)")
    if since is not None and until is not None and since > until:
        raise InvalidInputError(f"since ({since}) is after until ({until})")
