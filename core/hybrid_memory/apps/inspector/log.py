"""Owners, the log of one, newest first, a single event, and forgetting events in two steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from hybrid_memory import Event, EventKind, HybridMemory, Tier
from hybrid_memory.analysis import handle, spoken
from hybrid_memory.apps.inspector.reading import PageRequest, key_of, tiers_of
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.validation import shown

OWNERS = 50
"""On one page; each is counted."""


def overview(memory: HybridMemory, query: dict[str, str]) -> dict[str, Any]:
    """The owners whose name holds what is looked for, with how much there is of each; and the figures of the store."""
    wanted = query.get("q", "").strip()
    owners = [owner for owner in memory.owners() if wanted.lower() in str(owner).lower()]
    text = query.get("page", "")
    page = min(int(text) if text.isdecimal() and len(text) < 10 else 1, len(owners) // OWNERS + 1)  # noqa: PLR2004
    chosen = owners[(max(page, 1) - 1) * OWNERS : max(page, 1) * OWNERS]
    heads = memory.heads()
    work = memory.work
    return {
        "q": wanted,
        "page": max(page, 1),
        "pages": max(1, -(-len(owners) // OWNERS)),
        "found": len(owners),
        "owners": [
            {
                "scope": owner,
                "key": key_of(owner),
                "events": memory.for_scope(owner).count(),
                "head": heads.get(owner, ""),
            }
            for owner in chosen
        ],
        "stats": memory.stats(),
        "kinds": [(kind, asdict(figures)) for kind, figures in sorted(work.kinds.items())],
        "caches": sorted(work.caches.items()),
        "work": work,
    }


PAGE = 50
SHOWN_CHARS = 500
NEIGHBOURS = 3
"""Messages of the session before and after an event."""

AROUND = 200
"""Events among which those are looked for, on each side."""


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
    """A page of the log, newest first."""
    kind = request.query.get("kind", "")
    before = request.number("before", 0) or None
    kinds = (EventKind(kind),) if kind in set(EventKind) else ()
    events = request.scoped.events(before=before, kinds=kinds, limit=PAGE + 1)
    shown_now = events[-PAGE:]
    return {
        "rows": rows_of(request, shown_now),
        "kind": kind if kinds else "",
        "kinds": list(EventKind),
        "sessions": request.sessions(),
        "before": before,
        "older": shown_now[0].position if len(events) > PAGE else None,
    }


def rows_of(request: PageRequest, events: list[Event]) -> list[Row]:
    """The events as rows, the last one first."""
    tiers = tiers_of(request, events)
    return [row_of(event, tiers[event.position]) for event in reversed(events)]


def row_of(event: Event, tiers: list[Tier], *, most: int = SHOWN_CHARS) -> Row:
    """The event as a row."""
    said = event.kind is EventKind.MESSAGE
    text = event.message.text if said else description(event)
    return Row(
        position=event.position,
        handle=handle(event.position, event.position),
        kind=event.kind.value,
        at=event.at,
        session=event.scope.session,
        speaker=_speaker(event) if said else event.author,
        text=text[:most],
        more=max(len(text) - most, 0),
        tiers=tiers,
    )


def _speaker(event: Event) -> str:
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


_TELLERS: Mapping[EventKind, Callable[[Mapping[str, Any]], str]] = {
    EventKind.CLAIM: lambda p: f"{p['subject']} · {p['attribute']}: {p['value']} ({p['stance']}, read by {p['by']})",
    EventKind.COMPACTION: lambda p: (
        f"folded up to #{p['cursor']} with {p['strategy']}: {len(p['lines'])} lines for "
        f"{len(p['stretches'])} stretches; {p['latest']['items']} critical items in the last one"
    ),
    EventKind.RESET: lambda p: f"the conversation began anew with {len(p['kept'])} messages",
    EventKind.RECALLED: lambda p: f"for “{p['query']}” the prompt was given:\n{p['text'] or '(nothing)'}",
    EventKind.PAYLOAD: lambda p: str(p["text"]),
    EventKind.LEARNED: lambda p: "; ".join(f"{name} read up to #{upto}" for name, upto in p["cursors"].items()),
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
        "around": _around(request, event),
        "json": json.dumps(_as_json(event), ensure_ascii=False, indent=2),
        "has_session": event.scope.session is not None,
        "opens": event.kind is EventKind.MESSAGE and event.message.opens,
    }


def _sources(request: PageRequest, event: Event) -> list[Row]:
    existing = request.memory.for_scope(request.scope.owner).events(which=event.sources)
    visible = [source for source in existing if source.position < event.position]
    return [row_of(source, []) for source in visible]


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
