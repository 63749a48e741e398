"""What stands for the turns that were folded, each line with the words behind it."""

from __future__ import annotations

from typing import Any

from hybrid_memory.apps.inspector.pages.timeline import Row, row_of
from hybrid_memory.apps.inspector.reading import RECENT, PageRequest, services_of, state_of
from hybrid_memory.artifacts.ledger import Ledger
from hybrid_memory.context.summary import Line, Section, Summary
from hybrid_memory.log.event import Event, EventKind, handle

SOURCES = 400
"""Turns that a page shows behind the lines; the rest is linked."""

STRETCH_CHARS = 4000


def summaries(request: PageRequest) -> dict[str, Any]:
    """The sessions of the owner, and the summary of the one that was chosen."""
    listed = _sessions(request)
    session = request.scope.session
    chosen = session is not None or not listed or "all" in request.query
    return {"sessions": listed, "summary": _summary(request) if chosen else None}


def _sessions(request: PageRequest) -> list[dict[str, Any]]:
    """The newest sessions, the last one first, with how far each was folded."""
    owner = request.seen(request.scope.owner)
    recent = owner.events(limit=RECENT)
    last: dict[str, Event] = {event.scope.session: event for event in recent if event.scope.session}
    for event in owner.events(kinds=(EventKind.COMPACTION,), limit=RECENT):
        if event.scope.session:
            last.setdefault(event.scope.session, event)
    ordered = sorted(last.values(), key=lambda event: event.position, reverse=True)
    return [{"session": event.scope.session, "at": event.at, "position": event.position} for event in ordered]


def _summary(request: PageRequest) -> dict[str, Any]:
    state = state_of(request, request.scope.session)
    # As the verb has it, which would read all turns since.
    summary = Summary(state.lines, state.ledger, state.stretches, state.audit, state.latest, state.strategy)
    wanted = list(dict.fromkeys(source for line in summary.lines for source in line.sources))[:SOURCES]
    found = {event.id: event for event in _turns(request, wanted)}
    return {
        "summary": summary,
        "cursor": state.cursor,
        "sections": [
            (section, [_line(line, found) for line in lines])
            for section in Section
            if (lines := summary.section(section))
        ],
        "ledger": _ledger(summary.artifacts),
        "stretches": [
            {"handle": handle(first, last), "first": first, "last": last} for first, last in summary.stretches
        ],
    }


def _turns(request: PageRequest, ids: list[str]) -> list[Event]:
    """The turns with these ids: what is behind a summary that is to be seen, is to be seen too."""
    return services_of(request.memory).log.get(request.scope, ids) if ids else []


def _line(line: Line, found: dict[str, Event]) -> dict[str, Any]:
    rows: list[Row] = [row_of(found[source], [], most=STRETCH_CHARS) for source in line.sources if source in found]
    return {"line": line, "rows": rows, "missing": sum(source not in found for source in line.sources)}


def _ledger(ledger: Ledger) -> list[tuple[str, list[str]]]:
    parts = {
        "files": [
            f"{file.operation}: {file.moved_from} to {file.path}"
            if file.moved_from
            else f"{file.operation}: {file.path}{'' if file.exists else ' (gone)'}"
            for file in ledger.files
        ],
        "tests": [" ".join([run.outcome, *run.failing]) for run in ledger.tests],
        **{
            name: [mention.text for mention in getattr(ledger, name)]
            for name in ("errors", "ids", "urls", "commands", "mentioned")
        },
    }
    return [(name, lines) for name, lines in parts.items() if lines]


def stretch(request: PageRequest) -> dict[str, Any]:
    """The messages of a stretch of the log, oldest first; of a long one the last of them."""
    first, last = request.number("first", 1), request.number("last", 1)
    events = request.scoped.events(before=last + 1, kinds=(EventKind.MESSAGE,), limit=SOURCES)
    inside = [event for event in events if event.position >= first]
    return {
        "handle": handle(first, last),
        "rows": [row_of(event, [], most=STRETCH_CHARS) for event in inside],
        "cut": len(inside) == SOURCES,
    }
