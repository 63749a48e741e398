"""The log of an owner, newest first, a single event, and forgetting events in two steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from hybrid_memory import Event, EventKind, HybridMemory, Tier
from hybrid_memory.analysis import handle, spoken
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.validation import shown
from hybrid_memory_inspector.reading import KINDS, RECENT, PageRequest, moment_of, state_of, tiers_of

PAGE = 50
SHOWN_CHARS = 500
SCANNED = 5_000
"""Events that are read for one page of those that hold some words."""

Moment: TypeAlias = int | datetime | None
NEIGHBOURS = 3
"""Messages of the session before and after an event."""

AROUND = 200
"""Events among which those are looked for, on each side."""

MOST_CLAIMS = 1_000
"""Of an owner with more the facts are not resolved for the page of an event."""


@dataclass(frozen=True, slots=True)
class Row:
    """An event on a page.

    Attributes:
        speaker: of a message; who wrote it, of anything else.
        text: the words, or what it did; cut where ``more`` is left.
        tiers: it stands in.
    """

    position: int
    handle: str
    kind: str
    at: datetime
    session: str | None
    speaker: str
    text: str
    more: int
    tiers: list[Tier]


def timeline(request: PageRequest) -> dict[str, Any]:
    """A page of the log, newest first: of one kind, and with all of the words that are looked for."""
    kind, words = request.query.get("kind", ""), request.query.get("q", "").strip()
    kinds = (EventKind(kind),) if kind in set(EventKind) else ()
    before = moment_of(request.query.get("before", ""))
    if words:
        events, older = _holding(request, words, kinds, before)
    else:
        newest = request.scoped.events(**_until(before), kinds=kinds, limit=PAGE + 1)
        events = newest[-PAGE:]
        older = events[0].position if len(newest) > PAGE else None
    return {
        "rows": rows_of(request, events),
        "kind": kind if kinds else "",
        "kinds": KINDS,
        "q": words,
        "sessions": request.sessions(),
        "before": request.query.get("before", "").strip(),
        "older": older,
    }


def _until(before: Moment) -> dict[str, Any]:
    return {"until": before} if isinstance(before, datetime) else {"before": before or None}


def _holding(
    request: PageRequest, query: str, kinds: Sequence[EventKind], before: Moment
) -> tuple[list[Event], int | None]:
    """The newest events with all of these words, in any case, and from where on to look for older ones."""
    words = query.casefold().split()
    matches: list[Event] = []
    limits = _until(before)
    for _ in range(SCANNED // RECENT):
        events = request.scoped.events(**limits, kinds=kinds, limit=RECENT)
        for event in reversed(events):
            text = f"{_speaker(event)} {_text(event)}".casefold()
            if all(word in text for word in words):
                matches.append(event)
                if len(matches) == PAGE:
                    return matches[::-1], event.position
        if len(events) < RECENT:
            return matches[::-1], None
        limits = {**limits, "before": events[0].position}
    return matches[::-1], limits["before"]


def rows_of(request: PageRequest, events: list[Event]) -> list[Row]:
    """The events as rows, the last one first."""
    tiers = tiers_of(request, events)
    return [row_of(event, tiers[event.position]) for event in reversed(events)]


def row_of(event: Event, tiers: list[Tier], *, most: int = SHOWN_CHARS) -> Row:
    """The event as a row."""
    text = _text(event)
    return Row(
        position=event.position,
        handle=handle(event.position, event.position),
        kind=event.kind.value,
        at=event.at,
        session=event.scope.session,
        speaker=_speaker(event),
        text=text[:most],
        more=max(len(text) - most, 0),
        tiers=tiers,
    )


def _text(event: Event) -> str:
    return event.message.text if event.kind is EventKind.MESSAGE else description(event)


def _speaker(event: Event) -> str:
    if event.kind is not EventKind.MESSAGE:
        return event.author
    message = event.message
    name = message.speaker if message.speaker == message.role else f"{message.speaker} ({message.role})"
    name = name if event.origin.value == message.role.value else spoken(name, event.origin)
    return f"{name} by {event.author}" if event.author else name


def description(event: Event) -> str:
    """What an event that is no message says, in a line or two."""
    describe = _DESCRIPTIONS.get(event.kind)
    try:
        return json.dumps(event.payload, ensure_ascii=False) if describe is None else describe(event.payload)
    except (KeyError, TypeError, IndexError):  # another version's payload
        return json.dumps(event.payload, ensure_ascii=False)


def _prompt(payload: Mapping[str, Any]) -> str:
    took = f" ({payload['tokens']:,} tokens, {payload['ms']:,.0f} ms)" if "tokens" in payload else ""
    return f"for “{payload['query']}”{took}, recalled:\n{payload['text'] or 'nothing'}"


_DESCRIPTIONS: Mapping[EventKind, Callable[[Mapping[str, Any]], str]] = {
    EventKind.CLAIM: lambda p: (
        f"{p['subject']} · {p['attribute']}: {p['value']} ({p['stance']}, extracted by {p['by']})"
    ),
    EventKind.COMPACTION: lambda p: (
        f"summarised up to #{p['cursor']} by the strategy {p['strategy']}: {len(p['lines'])} lines for "
        f"{len(p['stretches'])} stretches of the log, {p['latest']['items']} critical items in the last one"
    ),
    EventKind.RECALLED: _prompt,
    EventKind.PAYLOAD: lambda p: str(p["text"]),
    EventKind.ROLLBACK: lambda p: f"back to #{p['to']}",
    EventKind.ERASED: lambda p: "forgotten: " + ", ".join(handle(first, last) for first, last in p["positions"]),
    EventKind.BLOCK: lambda p: f"{p['change']} {p['label']!r}: {p.get('value', '')}",
}


def event(request: PageRequest) -> dict[str, Any]:
    """One event: its words, what it was made from and what was made from it, what stands around it, and its JSON.

    Raises:
        InvalidInputError: the owner has no such event, or it is not to be seen as of then.
    """
    position = request.number("position", 0, least=0)
    owner, now = request.seen(request.scope.owner), request.memory.for_scope(request.scope.owner)
    newest = owner.events(before=position + 1, limit=1)
    if not newest or newest[0].position != position:
        raise InvalidInputError(f"{request.scope.owner} has no event {shown(handle(position, position))} to be seen")
    (event,) = newest
    records = request.memory.records(now.scope, [position])
    sources = [source for source in now.events(which=event.sources) if source.position < position]
    # Of an owner with many claims the facts take too long to resolve for the page of an event.
    few = len(now.events(kinds=(EventKind.CLAIM,), limit=MOST_CLAIMS)) < MOST_CLAIMS
    facts = owner.facts(history=True) if few else []
    states = {session: state_of(request, session) for session in dict.fromkeys((event.scope.session, None))}
    fields = {"position": position, "id": event.id, "kind": event.kind.value, "at": event.at.isoformat()}
    fields |= {"scope": str(event.scope), "author": event.author, "origin": event.origin.value}
    fields |= {"sources": list(event.sources), "payload": event.payload}
    return {
        "event": event,
        "row": row_of(event, tiers_of(request, newest)[position], most=len(json.dumps(event.payload))),
        "record": records[0] if records else None,
        "sources": [row_of(source, []) for source in sources],
        "facts": [fact for fact in facts if position in fact.positions or fact.id == position] if few else None,
        "lines": [
            (session, line) for session, state in states.items() for line in state.lines if event.id in line.sources
        ],
        "around": _around(request, event),
        "json": json.dumps(fields, ensure_ascii=False, indent=2),
        "has_session": event.scope.session is not None,
        "opens": event.kind is EventKind.MESSAGE and event.message.opens,
    }


def _around(request: PageRequest, event: Event) -> list[Row]:
    """The messages of its session next to it, in their order, itself among them if it is one."""
    scoped = request.seen(event.scope)
    messages = (EventKind.MESSAGE,)
    before = scoped.events(before=event.position + 1, kinds=messages, limit=NEIGHBOURS + 1)
    after = scoped.events(before=event.position + 1 + AROUND, kinds=messages, limit=AROUND)
    later = [other for other in after if other.position > event.position][:NEIGHBOURS]
    return [row_of(other, []) for other in (*before, *later)]


def asking(memory: HybridMemory, request: PageRequest) -> dict[str, Any]:
    """What would go with a turn.

    Args:
        memory: that may be written to.
        request: of now, with the position.

    Raises:
        InvalidInputError: it is no turn of this owner.
    """
    position = request.number("position", 0)
    receipt = memory.for_scope(request.scope.owner).forget(ids=handle(position, position), dry_run=True)
    events = request.memory.for_scope(request.scope.owner).events(which=receipt.positions)
    return {"position": position, "receipt": receipt, "rows": rows_of(request, events)}
