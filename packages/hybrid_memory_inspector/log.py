"""The log of an owner, newest first, a single event, and forgetting events in two steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from starlette.exceptions import HTTPException

from hybrid_memory import Event, EventKind, Fact, HybridMemory, Tier
from hybrid_memory.analysis import handle, spoken
from hybrid_memory.display import counted
from hybrid_memory_inspector.reading import KINDS, MESSAGES, RECENT, PageRequest, holds, moment_of, state_of, tiers_of

PAGE = 50
SHOWN_CHARS = 500
EVERYTHING = "everything"
SCANNED = 5_000
"""Events that are read for one page of those that hold some words."""

Moment: TypeAlias = int | datetime | None
NEIGHBOURS = 3
"""Messages of the session before and after an event."""

AROUND = 200
"""Events among which those are looked for, on each side."""

MOST_CLAIMS = 1_000
"""Of an owner with more the facts of single events are not shown."""


@dataclass(frozen=True, slots=True)
class Row:
    """An event on a page.

    Attributes:
        speaker: of a message; who wrote it, of anything else.
        text: the words, or what it did; cut where ``more`` is left.
        tiers: that have it.
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
    """A page of the log, newest first: of one kind, messages unless another is chosen, and with all of the words."""
    kind, words = request.query.get("kind", ""), request.query.get("q", "").strip()
    if kind not in KINDS:
        kind = kind if kind == EVERYTHING else EventKind.MESSAGE.value
    kinds = () if kind == EVERYTHING else (EventKind(kind),)
    before = moment_of(request.query.get("before", ""))
    if words:
        events, older = _holding(request, words, kinds, before)
    else:
        newest = request.scoped.events(**_until(before), kinds=kinds, limit=PAGE + 1)
        events = newest[-PAGE:]
        older = events[0].position if len(newest) > PAGE else None
    return {
        "rows": rows_of(request, events),
        "kind": kind,
        "kinds": {**KINDS, EVERYTHING: EVERYTHING},
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
    matches: list[Event] = []
    limits = _until(before)
    for _ in range(SCANNED // RECENT):
        events = request.scoped.events(**limits, kinds=kinds, limit=RECENT)
        for event in reversed(events):
            if holds(f"{_speaker(event)} {_text(event)}", query):
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
    with suppress(KeyError, TypeError, IndexError, ValueError, AttributeError):  # or another version's payload
        return _DESCRIPTIONS[event.kind](event.payload)
    return json.dumps(event.payload, ensure_ascii=False)


def _prompt(payload: Mapping[str, Any]) -> str:
    took = f" ({payload['tokens']:,} tokens, {payload['ms']:,.0f} ms)" if "tokens" in payload else ""
    return f"for “{payload['query']}”{took}, recalled:\n{payload['text'] or 'nothing'}"


_DESCRIPTIONS: Mapping[EventKind, Callable[[Mapping[str, Any]], str]] = {
    EventKind.CLAIM: lambda p: (
        f"{p['subject']} · {p['attribute']}: {p['value']} ({p['stance']}, extracted by {p['by']})"
    ),
    EventKind.LEARNED: lambda p: f"messages read for facts up to #{max(p['cursors'].values())}",
    EventKind.USED: lambda p: f"{counted(len(p['uses']), 'message')} counted as recalled",
    EventKind.COMPACTION: lambda p: (
        f"summarised up to #{p['cursor']} by the strategy {p['summary']['strategy']}: "
        f"{counted(len(p['summary']['lines']), 'line')} for {counted(len(p['summary']['stretches']), 'part')}"
    ),
    EventKind.RECALLED: _prompt,
    EventKind.PAYLOAD: lambda p: str(p["text"]),
    EventKind.ROLLBACK: lambda p: f"back to #{p['to']}",
    EventKind.ERASED: lambda p: "forgotten: " + ", ".join(handle(first, last) for first, last in p["positions"]),
    EventKind.BLOCK: lambda p: f"{p['change']} {p['label']!r}: {p.get('value', '')}",
}


def event(request: PageRequest) -> dict[str, Any]:
    """One event: its words, what it was made from and what was made from it, what is around it, and its JSON.

    Raises:
        HTTPException: the owner has no such event, or it is not to be seen as of then.
    """
    position = request.number("position", 0, least=0)
    owner, now = request.seen(request.scope.owner), request.memory.for_scope(request.scope.owner)
    newest = owner.events(before=position + 1, limit=1)
    if not newest or newest[0].position != position:
        raise HTTPException(404, f"{request.scope.owner} has no event {handle(position, position)} to be seen.")
    (event,) = newest
    records = request.memory.records(now.scope, [position])
    sources = [source for source in now.events(which=event.sources) if source.position < position]
    states = {session: state_of(request, session) for session in dict.fromkeys((event.scope.session, None))}
    fields = {"position": position, "id": event.id, "kind": event.kind.value, "at": event.at.isoformat()}
    fields |= {"scope": str(event.scope), "author": event.author, "origin": event.origin.value}
    fields |= {"sources": list(event.sources), "payload": event.payload}
    return {
        "event": event,
        "row": row_of(event, tiers_of(request, newest)[position], most=len(json.dumps(event.payload))),
        "record": records[0] if records else None,
        "sources": [row_of(source, []) for source in sources],
        "facts": facts_from(request, {position}),
        "lines": [
            (session, line) for session, at in states.items() for line in at.summary.lines if event.id in line.sources
        ],
        "around": _around(request, event),
        "json": json.dumps(fields, ensure_ascii=False, indent=2),
        "opens": event.kind is EventKind.MESSAGE and event.message.opens,
    }


def facts_from(request: PageRequest, positions: set[int]) -> list[Fact] | None:
    """What was extracted from these events; None of an owner whose facts take too long to resolve for a page."""
    now = request.memory.for_scope(request.scope.owner)
    if len(now.events(kinds=(EventKind.CLAIM,), limit=MOST_CLAIMS)) == MOST_CLAIMS:
        return None
    facts = request.seen(request.scope.owner).facts(history=True)
    return [fact for fact in facts if positions & {fact.id, *fact.positions}]


def _around(request: PageRequest, event: Event) -> list[Row]:
    """The messages of its session next to it, in their order, itself among them if it is one."""
    scoped = request.seen(event.scope)
    before = scoped.events(before=event.position + 1, kinds=MESSAGES, limit=NEIGHBOURS + 1)
    after = scoped.events(before=event.position + 1 + AROUND, kinds=MESSAGES, limit=AROUND)
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
