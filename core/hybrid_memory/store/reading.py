"""Events of the log, as a conversation has them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.visible import within
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services


def placed(
    events: Sequence[Event], cursor: int, kept: Collection[int] = (), stretches: Sequence[tuple[int, int]] = ()
) -> list[Event]:
    """The events with an edited message in the place of the one that it replaces.

    One whose place lies before the cursor is left out, unless it is kept; or that place was folded, and it was not: it
    is shown until it is folded too.
    """
    if not any(_replaces(event) for event in events):
        return list(events)

    def there(event: Event) -> bool:
        place = _replaces(event) or event.position
        if place > cursor or event.position <= cursor or not {place, event.position}.isdisjoint(kept):
            return True
        return within(place, stretches) and not within(event.position, stretches)

    return sorted(filter(there, events), key=lambda event: _replaces(event) or event.position)


def _replaces(event: Event) -> int | None:
    return event.message.replaces if event.kind is EventKind.MESSAGE else None


async def at_positions(run: Runner, services: Services, scope: Scope, positions: Iterable[int]) -> list[Event]:
    """The events at these positions, which grow; a run of neighbours is read at once."""
    events: list[Event] = []
    for first, last in runs(positions):
        events += await run.call(services.log.read, scope, after=first - 1, upto=last)
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
