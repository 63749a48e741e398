"""The prompt as it is laid out for a turn, with the reason for each piece; and what prompts took, as the log has it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hybrid_memory import Context, EventKind, Origin
from hybrid_memory.analysis import LEAST_TOKENS, handle, spoken
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.text.tokens import message_tokens
from hybrid_memory_inspector.reading import MESSAGES, RECENT, PageRequest, state_of

MOST_TOKENS = 1_000_000
AROUND = 400
"""Events of the session, on each side, among which the turns next to the chosen one are looked for."""

MOST_QUEUED = 1000
"""Messages that no summary replaces; laying out more of them than this takes too long for a page."""

LISTED = 12
"""Turns to choose from, on each side."""

MEASURED = 50
"""Newest prompts whose figures are listed."""


def prompts(request: PageRequest) -> dict[str, Any]:
    """The prompt for one turn, that of the newest recorded prompt if none is chosen, with the budget that it had."""
    chosen = request.number("turn", 0, least=0)
    request = _with_session(request, chosen)
    # The turns that ask for something, next to the chosen one or the newest, oldest first.
    before = chosen + 1 + AROUND if chosen else None
    events = request.scoped.events(before=before, kinds=MESSAGES, limit=2 * AROUND)
    if chosen and all(event.position != chosen for event in events):
        events = request.scoped.events(before=chosen + 1, kinds=MESSAGES, limit=AROUND)
    turns = [event for event in events if event.message.opens and event.origin is not Origin.ASSISTANT]  # no notes
    page: dict[str, Any] = {"request": request, "tokens": None, "turns": [], "sessions": request.sessions()}
    if not turns:
        return page
    noted = request.scoped.events(before=before, kinds=(EventKind.RECALLED,), limit=2 * AROUND)
    recorded = {event.payload.get("turn"): event for event in noted}
    places = [event.position for event in turns]
    newest = max((row for row, event in enumerate(turns) if event.id in recorded), default=len(turns) - 1)
    row = places.index(chosen) if chosen in places else newest
    record = recorded.get(turns[row].id)
    budget = record.payload.get("max_tokens") if record else None
    tokens = request.number(
        "tokens", budget or request.memory.config.compaction.max_tokens, least=LEAST_TOKENS, most=MOST_TOKENS
    )
    near = turns[max(0, row - LISTED) : row + LISTED + 1]
    page |= {
        "tokens": tokens,
        "turn": turns[row],
        "turns": [(event.position, event.message.text[:80]) for event in near],
        "previous": places[row - 1] if row else None,
        "next": places[row + 1] if row + 1 < len(turns) else None,
    }
    try:
        context = _context(request, places[row], tokens)
    except InvalidInputError as error:
        return page | {"refused": str(error)}
    handles = [re.findall(r"\d+", piece.handle) for piece in context.plan]
    plan = [(piece, int(ends[-1]) if ends else None) for piece, ends in zip(context.plan, handles, strict=True)]
    return page | {"context": context, "messages": _messages(request, context), "plan": plan}


def _with_session(request: PageRequest, chosen: int) -> PageRequest:
    """The same for the session of the chosen turn, or of the newest prompt or message, if all are not asked for."""
    if request.scope.session or "all" in request.query:
        return request
    events = request.scoped.events(before=chosen + 1, kinds=MESSAGES, limit=1) if chosen else []
    for kind in (EventKind.RECALLED, EventKind.MESSAGE):
        events = events or request.scoped.events(kinds=(kind,), limit=1)
    return replace(request, scope=events[0].scope) if events else request


def _context(request: PageRequest, turn: int, tokens: int) -> Context:
    """The prompt as it was when the turn was the last one: with what was recalled for it, before anybody answered."""
    earlier = request.scoped.events(before=turn, kinds=MESSAGES, limit=MOST_QUEUED + 1)
    if len(earlier) > MOST_QUEUED and earlier[0].position > state_of(request, request.scope.session).cursor:
        raise InvalidInputError(
            f"more than {MOST_QUEUED:,} messages before this turn have no summary yet: call compact() first"
        )
    following = request.scoped.events(before=turn + 1 + AROUND, kinds=MESSAGES, limit=AROUND)
    after = next((event.position for event in following if event.position > turn), None)
    scoped = request.memory.for_scope(request.scope)
    if after is not None:
        scoped = scoped.as_of(after - 1)
    elif request.at is not None:
        scoped = scoped.as_of(request.at)
    return scoped.assemble(max_tokens=tokens)


def _messages(request: PageRequest, context: Context) -> list[dict[str, Any]]:
    ids = [message.id for message in context.messages if message.id]
    logged = {event.id: event for event in request.memory.for_scope(request.scope).events(which=ids)}
    rows: list[dict[str, Any]] = []
    for row, message in enumerate(context.messages):
        event = logged.get(message.id or "")
        words = event.message.text if event is not None and event.kind is EventKind.MESSAGE else ""
        rows.append(
            {
                "role": spoken(message.speaker, message.spoken_by),
                "tokens": message_tokens(message, request.memory.token_counter),
                "text": message.text,
                # Memories may be shown in front of it.
                "own": words if words and message.text.endswith(words) else message.text,
                "position": None if event is None else event.position,
                "breakpoint": row in context.breakpoints,
            }
        )
    return rows


def figures(request: PageRequest) -> dict[str, Any]:
    """Tokens and latency of the newest prompts, of all processes, and what the messages would take."""
    noted = request.scoped.events(kinds=(EventKind.RECALLED,), limit=RECENT)
    measured = [event for event in noted if "tokens" in event.payload]
    messages = request.scoped.events(kinds=MESSAGES, limit=RECENT)
    return {
        "measured": len(measured),
        "listed": [(event, handle(event.position, event.position)) for event in measured[: -MEASURED - 1 : -1]],
        "tokens": _quantiles([event.payload["tokens"] for event in measured]),
        "ms": _quantiles([event.payload["ms"] for event in measured]),
        "messages": len(messages),
        "cut": len(messages) == RECENT,
        "message_tokens": sum(message_tokens(event.message, request.memory.token_counter) for event in messages),
    }


def _quantiles(values: Sequence[float]) -> dict[str, float] | None:
    """Half of the values, and 95 of 100, are no greater; None without values."""
    ordered = sorted(values)
    if not ordered:
        return None
    return {f"p{percent}": ordered[(len(ordered) * percent - 1) // 100] for percent in (50, 95)}
