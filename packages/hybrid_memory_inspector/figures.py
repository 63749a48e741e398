"""What prompts took, in tokens and in time, as the log has it: figures of all processes, of now and of earlier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hybrid_memory import Event, EventKind
from hybrid_memory.analysis import handle
from hybrid_memory.text.tokens import message_tokens
from hybrid_memory_inspector.reading import RECENT, PageRequest

PROMPTS = 120
"""Newest prompts that are drawn."""

LISTED = 20
COMPACTIONS = 20
LEAST_HEIGHT = 1.5


@dataclass(frozen=True, slots=True)
class Prompt:
    """The first prompt of a turn, as its event has it; heights in percent of the greatest."""

    position: int
    handle: str
    at: datetime
    session: str | None
    query: str
    tokens: int
    max_tokens: int
    ms: float
    token_height: float
    time_height: float


def figures(request: PageRequest) -> dict[str, Any]:
    """Tokens and latency of the newest prompts, and what compaction saves."""
    noted = request.scoped.events(kinds=(EventKind.RECALLED,), limit=RECENT)
    measured = [event for event in noted if "tokens" in event.payload]
    messages = request.scoped.events(kinds=(EventKind.MESSAGE,), limit=RECENT)
    count = request.memory.token_counter
    compacted = request.scoped.events(kinds=(EventKind.COMPACTION,), limit=COMPACTIONS)
    prompts = _drawn(measured[-PROMPTS:])
    return {
        "prompts": prompts,
        "listed": prompts[: -LISTED - 1 : -1],
        "measured": len(measured),
        "unmeasured": len(noted) - len(measured),
        "tokens": _quantiles([event.payload["tokens"] for event in measured]),
        "ms": _quantiles([event.payload["ms"] for event in measured]),
        "messages": len(messages),
        "cut": len(messages) == RECENT,
        "message_tokens": sum(message_tokens(event.message, count) for event in messages),
        "compactions": [_compaction(event) for event in reversed(compacted)],
        "most_tokens": max((prompt.tokens for prompt in prompts), default=0),
        "most_ms": max((prompt.ms for prompt in prompts), default=0.0),
    }


def _drawn(events: Sequence[Event]) -> list[Prompt]:
    most_tokens = max((event.payload["tokens"] for event in events), default=1) or 1
    most_ms = max((event.payload["ms"] for event in events), default=1) or 1
    return [
        Prompt(
            position=event.position,
            handle=handle(event.position, event.position),
            at=event.at,
            session=event.scope.session,
            query=str(event.payload["query"])[:300],
            tokens=event.payload["tokens"],
            max_tokens=event.payload["max_tokens"],
            ms=event.payload["ms"],
            token_height=max(100 * event.payload["tokens"] / most_tokens, LEAST_HEIGHT),
            time_height=max(100 * event.payload["ms"] / most_ms, LEAST_HEIGHT),
        )
        for event in events
    ]


def _quantiles(values: Sequence[float]) -> dict[str, float] | None:
    """Half of the values, and 95 of 100, are no greater; None without values."""
    ordered = sorted(values)
    if not ordered:
        return None
    return {f"p{percent}": ordered[(len(ordered) * percent - 1) // 100] for percent in (50, 95)}


def _compaction(event: Event) -> dict[str, Any]:
    state = event.payload
    return {
        "position": event.position,
        "handle": handle(event.position, event.position),
        "at": event.at,
        "session": event.scope.session,
        "cursor": state.get("cursor"),
        "strategy": state.get("strategy", ""),
        "lines": len(state.get("lines", ())),
        "critical": state.get("latest", {}).get("items", 0),
    }
