"""What the memory's own tools repeated of turns that are forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybrid_memory.log.echoes import without
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services


async def rewritten_echoes(
    run: Runner, services: Services, scope: Scope, turns: Sequence[Event]
) -> dict[int, dict[str, Any]]:
    """The payloads of echoes without the words of these turns, by position; only those that change."""
    gone = [event for event in turns if event.kind is EventKind.MESSAGE]
    said = await run.call(services.truth.read, scope.owner, kinds=(EventKind.MESSAGE,)) if gone else []
    cleared = {event.position: without(event, gone) for event in said}
    return {position: payload for position, payload in cleared.items() if payload is not None}
