"""The log of an owner, newest first, a single event, and forgetting events in two steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from hybrid_memory import Event, EventKind, Fact, HybridMemory, Line, Tier
from hybrid_memory.analysis import handle, spoken
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.validation import shown
from hybrid_memory_inspector.home import activity_of
from hybrid_memory_inspector.reading import RECENT, PageRequest, moment_of, state_of, tiers_of
from hybrid_memory_inspector.words import KINDS

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
    kind, wanted = request.query.get("kind", ""), request.query.get("q", "").strip()
    kinds = (EventKind(kind),) if kind in set(EventKind) else ()
    before = moment_of(request.query.get("before", ""))
    events, older = _holding(request, wanted, kinds, before) if wanted else _newest(request, kinds, before)
    return {
        "rows": rows_of(request, events),
        "kind": kind if kinds else "",
        "kinds": KINDS,
        "q": wanted,
        "sessions": request.sessions(),
        "before": request.query.get("before", "").strip(),
        "older": older,
        "activity": activity_of(request.memory, request.scope),
    }


def _newest(request: PageRequest, kinds: Sequence[EventKind], before: Moment) -> tuple[list[Event], int | None]:
    """A page of events, and from where on there are older ones."""
    events = request.scoped.events(**_until(before), kinds=kinds, limit=PAGE + 1)
    shown_now = events[-PAGE:]
    return shown_now, shown_now[0].position if len(events) > PAGE else None


def _until(before: Moment) -> dict[str, Any]:
    return {"until": before} if isinstance(before, datetime) else {"before": before or None}


def _holding(
    request: PageRequest, wanted: str, kinds: Sequence[EventKind], before: Moment
) -> tuple[list[Event], int | None]:
    """The newest events with all of these words, in any case, and from where on to look for older ones."""
    words = wanted.casefold().split()
    found: list[Event] = []
    speakers: dict[tuple[object, ...], str] = {}
    limits = _until(before)
    for _ in range(SCANNED // RECENT):
        events = request.scoped.events(**limits, kinds=kinds, limit=RECENT)
        for event in reversed(events):
            text = _searched(event, speakers).casefold()
            if all(word in text for word in words):
                found.append(event)
                if len(found) == PAGE:
                    return found[::-1], event.position
        if len(events) < RECENT:
            return found[::-1], None
        limits = {**limits, "before": events[0].position}
    return found[::-1], limits["before"]


def _searched(event: Event, speakers: dict[tuple[object, ...], str]) -> str:
    """Speaker and words; of a plain message without making the message, which takes most of the time of a filter."""
    payload = event.payload
    content = payload.get("content")
    if event.kind is not EventKind.MESSAGE or not isinstance(content, str) or payload.get("tool_calls"):
        return f"{_speaker(event)} {_text(event)}"
    who = (payload.get("role"), payload.get("name"), payload.get("origin"), event.author, event.scope.space)
    if who not in speakers:
        speakers[who] = _speaker(event)
    return f"{speakers[who]} {content}"


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
    tell = _TELLERS.get(event.kind)
    try:
        return json.dumps(event.payload, ensure_ascii=False) if tell is None else tell(event.payload)
    except (KeyError, TypeError, IndexError):  # another version's payload
        return json.dumps(event.payload, ensure_ascii=False)


def _prompt(payload: Mapping[str, Any]) -> str:
    took = f" ({payload['tokens']:,} tokens, {payload['ms']:,.0f} ms)" if "tokens" in payload else ""
    return f"for “{payload['query']}”{took}, recalled:\n{payload['text'] or 'nothing'}"


_TELLERS: Mapping[EventKind, Callable[[Mapping[str, Any]], str]] = {
    EventKind.CLAIM: lambda p: (
        f"{p['subject']} · {p['attribute']}: {p['value']} ({p['stance']}, extracted by {p['by']})"
    ),
    EventKind.COMPACTION: lambda p: (
        f"summarised up to #{p['cursor']} by the strategy {p['strategy']}: {len(p['lines'])} lines for "
        f"{len(p['stretches'])} stretches of the log, {p['latest']['items']} critical items in the last one"
    ),
    EventKind.RESET: lambda p: f"the conversation started again with {len(p['kept'])} messages",
    EventKind.RECALLED: _prompt,
    EventKind.PAYLOAD: lambda p: str(p["text"]),
    EventKind.LEARNED: lambda p: "; ".join(f"{name} extracted up to #{upto}" for name, upto in p["cursors"].items()),
    EventKind.ROLLBACK: lambda p: f"back to #{p['to']}",
    EventKind.ERASED: lambda p: "forgotten: " + ", ".join(handle(first, last) for first, last in p["positions"]),
    EventKind.BLOCK: lambda p: f"{p['change']} {p['label']!r}: {p.get('value', '')}",
    EventKind.USED: lambda p: "recalled: " + ", ".join(f"#{number} ×{count}" for number, count in p["uses"]),
}


def event(request: PageRequest) -> dict[str, Any]:
    """One event: its words, what it was made from, what stands around it, and all of it as JSON.

    Raises:
        InvalidInputError: the owner has no such event, or it is not to be seen as of then.
    """
    position = request.number("position", 0, least=0)
    scoped = request.seen(request.scope.owner)
    result = scoped.events(before=position + 1, limit=1)
    if not result or result[0].position != position:
        raise InvalidInputError(f"{request.scope.owner} has no event {shown(handle(position, position))} to be seen")
    (event,) = result
    records = request.memory.for_scope(request.scope.owner).records([position])
    return {
        "event": event,
        "row": row_of(event, tiers_of(request, result)[position], most=len(json.dumps(event.payload))),
        "record": records[0] if records else None,
        "sources": _sources(request, event),
        "facts": _facts(request, position),
        "lines": _lines(request, event),
        "around": _around(request, event),
        "json": json.dumps(_as_json(event), ensure_ascii=False, indent=2),
        "has_session": event.scope.session is not None,
        "opens": event.kind is EventKind.MESSAGE and event.message.opens,
    }


def _sources(request: PageRequest, event: Event) -> list[Row]:
    existing = request.memory.for_scope(request.scope.owner).events(which=event.sources)
    visible = [source for source in existing if source.position < event.position]
    return [row_of(source, []) for source in visible]


def _facts(request: PageRequest, position: int) -> list[Fact] | None:
    """The facts that this turn or claim led to; None of an owner with too many claims."""
    claims = request.memory.for_scope(request.scope.owner).events(kinds=(EventKind.CLAIM,), limit=MOST_CLAIMS)
    if len(claims) == MOST_CLAIMS:
        return None
    known = request.seen(request.scope.owner).facts(history=True)
    return [fact for fact in known if position in fact.positions or fact.id == position]


def _lines(request: PageRequest, event: Event) -> list[tuple[str | None, Line]]:
    """The lines of summaries that replace this turn: of its session, and of the whole owner."""
    sessions = dict.fromkeys((event.scope.session, None))
    states = {session: state_of(request, session) for session in sessions}
    return [(session, line) for session, state in states.items() for line in state.lines if event.id in line.sources]


def _around(request: PageRequest, event: Event) -> list[Row]:
    """The messages of its session next to it, in their order, itself among them if it is one."""
    scoped = request.seen(event.scope)
    said = (EventKind.MESSAGE,)
    before = scoped.events(before=event.position + 1, kinds=said, limit=NEIGHBOURS + 1)
    after = scoped.events(before=event.position + 1 + AROUND, kinds=said, limit=AROUND)
    later = [other for other in after if other.position > event.position][:NEIGHBOURS]
    return [row_of(other, []) for other in (*before, *later)]


def _as_json(event: Event) -> dict[str, Any]:
    return {
        "position": event.position,
        "id": event.id,
        "kind": event.kind.value,
        "at": event.at.isoformat(),
        "scope": str(event.scope),
        "author": event.author,
        "origin": event.origin.value,
        "sources": list(event.sources),
        "payload": event.payload,
    }


MOST_FORGOTTEN = 200
"""Turns to forget at once."""

FORGOTTEN_CHARS = 2000


def positions_of(values: Sequence[str]) -> list[int]:
    """The positions that a form names, each once.

    Raises:
        InvalidInputError: none is named, too many, or something else.
    """
    numbers = [value.strip().removeprefix("#") for value in values if value.strip()]
    if wrong := [number for number in numbers if not number.isdecimal() or len(number) > 18]:  # noqa: PLR2004 - 64 bits
        raise InvalidInputError(f"{shown(wrong[0])} is not a position in the log")
    positions = list(dict.fromkeys(map(int, numbers)))
    if not 1 <= len(positions) <= MOST_FORGOTTEN:
        raise InvalidInputError(f"choose 1 to {MOST_FORGOTTEN} events to forget, got {len(positions)}")
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
    receipt = memory.for_scope(request.scope.owner).forget(ids=names, dry_run=True)
    events = request.memory.for_scope(request.scope.owner).events(which=receipt.positions)
    tiers = tiers_of(request, events)
    return {
        "positions": positions,
        "receipt": receipt,
        "rows": [row_of(event, tiers[event.position], most=FORGOTTEN_CHARS) for event in events],
    }


def forgetting(memory: HybridMemory, request: PageRequest, positions: Sequence[int]) -> dict[str, Any]:
    """What went with these turns; see `asking`."""
    names = [handle(position, position) for position in positions]
    return {"receipt": memory.for_scope(request.scope.owner).forget(ids=names)}
