"""Forgetting in two steps: what would go, and what went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybrid_memory.apps.inspector.pages.timeline import row_of
from hybrid_memory.apps.inspector.reading import PageRequest, handle_of, services_of, tiers_of
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.event import handle
from hybrid_memory.memory import HybridMemory
from hybrid_memory.validation import shown

MOST = 200
"""Turns to forget at once."""

SHOWN_CHARS = 2000


def positions_of(values: Sequence[str]) -> list[int]:
    """The positions that a form names, each once.

    Raises:
        InvalidInputError: none is named, too many, or something else.
    """
    numbers = [value.strip().removeprefix("#") for value in values if value.strip()]
    if wrong := [number for number in numbers if not number.isdecimal() or len(number) > 18]:  # noqa: PLR2004 - 64 bits
        raise InvalidInputError(f"{shown(wrong[0])} is no position in the log")
    positions = list(dict.fromkeys(map(int, numbers)))
    if not 1 <= len(positions) <= MOST:
        raise InvalidInputError(f"choose 1 to {MOST} events to forget, got {len(positions)}")
    return positions


def asking(memory: HybridMemory, request: PageRequest, positions: Sequence[int]) -> dict[str, Any]:
    """What would go with these turns.

    Args:
        memory: that may be written to.
        request: of now.
        positions: of the turns.

    Raises:
        InvalidInputError: one of them is no turn of this owner.
    """
    names = [handle(position, position) for position in positions]
    receipt = handle_of(memory, request.scope.owner).forget(ids=names, dry_run=True)
    log = services_of(request.memory).log
    events = [
        event for place in receipt.positions for event in log.read(request.scope.owner, after=place - 1, upto=place)
    ]
    tiers = tiers_of(request, events)
    return {
        "positions": positions,
        "receipt": receipt,
        "rows": [row_of(event, tiers[event.position], most=SHOWN_CHARS) for event in events],
    }


def forgetting(memory: HybridMemory, request: PageRequest, positions: Sequence[int]) -> dict[str, Any]:
    """What went with these turns; see `asking`."""
    names = [handle(position, position) for position in positions]
    return {"receipt": handle_of(memory, request.scope.owner).forget(ids=names)}
