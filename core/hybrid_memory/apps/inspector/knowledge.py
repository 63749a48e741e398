"""What the log came to: profile and facts with their sources, and summaries with the words behind each line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from hybrid_memory import Block, Event, EventKind, Fact, Line, ProfileEntry, ScopedMemory, Section, Summary, UserProfile
from hybrid_memory.analysis import Ledger, first_said, handle
from hybrid_memory.apps.inspector.log import Row, row_of
from hybrid_memory.apps.inspector.reading import RECENT, PageRequest, state_of
from hybrid_memory.errors import InvalidInputError

THINGS = 60
"""Of which facts are told, on one page."""

SPANS = 40
"""Of each of them; older ones are found by the filter."""

ENTRIES = 20
"""Of a field of the profile."""

NEWEST = 100
"""Messages that the axis of the facts ends with."""

TICKS = 5
LEAST_WIDTH = 0.6
"""Percent of the axis; a span of an instant is still seen."""


@dataclass(frozen=True, slots=True)
class Axis:
    """The time that spans are drawn on."""

    since: datetime
    until: datetime

    def place(self, instant: datetime) -> float:
        """In percent from the left, in [0, 100]."""
        whole = (self.until - self.since).total_seconds()
        return min(max(100 * (instant - self.since).total_seconds() / whole, 0.0), 100.0)

    @property
    def ticks(self) -> list[tuple[float, datetime]]:
        """Instants along it, with their places."""
        step = (self.until - self.since) / TICKS
        return [(100 * number / TICKS, self.since + number * step) for number in range(TICKS + 1)]


@dataclass(frozen=True, slots=True)
class Span:
    """A fact, and the stretch of the axis in which it holds, in percent."""

    fact: Fact
    start: float
    width: float
    handles: list[str]


@dataclass(frozen=True, slots=True)
class Thing:
    """What facts tell of: one attribute of one subject, its newest facts, oldest first, and how many more."""

    subject: str
    attribute: str
    spans: list[Span]
    more: int


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the profile: what stands in it, and what it held before, each with the positions of its turns.

    Only the newest of each; ``more`` are not listed.
    """

    name: str
    standing: list[tuple[ProfileEntry, list[int]]]
    former: list[tuple[ProfileEntry, list[int]]]
    more: int


def knowledge(request: PageRequest) -> dict[str, Any]:
    """Profile, facts and working blocks, as of then."""
    scoped = request.seen(request.scope.owner)
    known = scoped.facts(history=True)
    history = request.query.get("history", "1") != "0"
    wanted = request.query.get("q", "").strip().lower()
    chosen = [fact for fact in known if (history or fact.current) and wanted in str(fact).lower()]
    things = [list(group) for _, group in groupby(sorted(chosen, key=_thing), key=_thing)]
    page = request.number("page", 1)
    axis = _axis(known, _last(request))
    profile = scoped.profile()
    by_id = {fact.id: fact for fact in known}
    told: set[tuple[str, str]] = set()
    return {
        "fields": [_field(profile, name, by_id, told) for name in type(profile).model_fields],
        "blocks": _blocks(request),
        "axis": axis,
        "things": [_drawn(group, axis) for group in things[(page - 1) * THINGS : page * THINGS]],
        "known": by_id,
        "facts": len(chosen),
        "standing": sum(fact.current for fact in known),
        "page": page,
        "pages": max(1, -(-len(things) // THINGS)),
        "history": history,
        "q": request.query.get("q", "").strip(),
        "unread": _unread(request),
    }


def _thing(fact: Fact) -> tuple[str, str]:
    return fact.subject, fact.attribute


def _last(request: PageRequest) -> datetime | None:
    """The latest time of the newest messages, which may have been imported out of order."""
    said = request.seen(request.scope.owner).events(kinds=(EventKind.MESSAGE,), limit=NEWEST)
    return max((event.at for event in said), default=None)


def _axis(facts: Sequence[Fact], last: datetime | None) -> Axis:
    """From the first fact to the newest message, or to where a fact ends after it."""
    instants = [*(fact.valid_from for fact in facts), *(fact.valid_to for fact in facts if fact.valid_to)]
    instants += [last] if last else []
    since = min(instants, default=datetime(1970, 1, 1, tzinfo=UTC))
    return Axis(since, max(*instants, since + timedelta(hours=1)) if instants else since + timedelta(hours=1))


def _drawn(group: Sequence[Fact], axis: Axis) -> Thing:
    spans = []
    ordered = sorted(group, key=lambda fact: (fact.valid_from, fact.id))
    for fact in ordered[-SPANS:]:
        start = axis.place(fact.valid_from)
        end = axis.place(fact.valid_to) if fact.valid_to else 100.0
        width = max(end - start, LEAST_WIDTH)
        handles = [handle(position, position) for position in fact.positions]
        spans.append(Span(fact, min(start, 100 - width), width, handles))
    return Thing(group[0].subject, group[0].attribute, spans, max(len(ordered) - SPANS, 0))


def _field(profile: UserProfile, name: str, facts: Mapping[int, Fact], told: set[tuple[str, str]]) -> Field:
    sources = profile.sources.get(name, ())
    existing = {number for entry in sources for number in entry.facts}
    standing = [entry for entry in sources if first_said(told, name, entry.value)]
    former = [entry for entry in profile.history(name) if not existing.intersection(entry.facts)]

    def with_turns(entries: Sequence[ProfileEntry]) -> list[tuple[ProfileEntry, list[int]]]:
        return [
            (entry, sorted({place for number in entry.facts if number in facts for place in facts[number].positions}))
            for entry in entries[-ENTRIES:]
        ]

    more = max(len(standing) - ENTRIES, 0) + max(len(former) - ENTRIES, 0)
    return Field(name.replace("_", " "), with_turns(standing), with_turns(former), more)


def _blocks(request: PageRequest) -> list[Block]:
    return [] if request.scope.space else list(request.seen(request.scope.owner).blocks().values())


def _unread(request: PageRequest) -> bool:
    """Whether the newest message was not read for facts yet; what was read late counts from its turn on."""
    said = request.seen(request.scope.owner).events(kinds=(EventKind.MESSAGE,), limit=1)
    read = request.memory.for_scope(request.scope.owner).events(kinds=(EventKind.LEARNED,), limit=1)
    upto = max(read[0].payload["cursors"].values(), default=0) if read else 0
    return bool(said) and said[0].position > upto


def decide(memory: ScopedMemory, fields: Mapping[str, str]) -> None:
    """Approve, correct or reject the fact that a form names."""
    fact = next((fact for fact in memory.facts(history=True) if str(fact.id) == fields.get("fact")), None)
    if fact is None:
        raise InvalidInputError("this fact is no longer there: look at the facts again")
    match fields.get("does"):
        case "approve":
            memory.resolve(fact)
        case "reject":
            memory.resolve(fact, reject=True)
        case "correct":
            memory.resolve(fact, value=fields.get("value", ""))
        case _:
            raise InvalidInputError("choose to approve, correct or reject it")


SOURCES = 400
"""Turns that a page shows behind the lines; the rest is linked."""

STRETCH_CHARS = 4000


def summaries(request: PageRequest) -> dict[str, Any]:
    """The sessions of the owner, and the summary of the one that was chosen, or of the whole owner if there is one."""
    listed = _sessions(request)
    summary = _summary(request)
    chosen = request.scope.session is not None or not listed or bool(summary["summary"])
    return {"sessions": listed, "summary": summary if chosen else None, "whole": request.scope.session is None}


def _sessions(request: PageRequest) -> list[dict[str, Any]]:
    """The newest sessions, the last one first, with the place up to which each was summarised."""
    owner = request.seen(request.scope.owner)
    recent = owner.events(limit=RECENT)
    last: dict[str, Event] = {event.scope.session: event for event in recent if event.scope.session}
    compacted: dict[str | None, Event] = {}
    for event in owner.events(kinds=(EventKind.COMPACTION,), limit=RECENT):
        compacted[event.scope.session] = event
        if event.scope.session:
            last.setdefault(event.scope.session, event)
    ordered = sorted(last.values(), key=lambda event: event.position, reverse=True)
    return [
        {
            "session": event.scope.session,
            "at": event.at,
            "position": event.position,
            "lines": len(compacted[event.scope.session].payload.get("lines", ()))
            if event.scope.session in compacted
            else 0,
        }
        for event in ordered
    ]


def _summary(request: PageRequest) -> dict[str, Any]:
    state = state_of(request, request.scope.session)
    # As the verb has it, which would read all turns since.
    summary = Summary(state.lines, state.ledger, state.stretches, state.audit, state.latest, state.strategy)
    wanted = list(dict.fromkeys(source for line in summary.lines for source in line.sources))[:SOURCES]
    result = {event.id: event for event in _turns(request, wanted)}
    return {
        "summary": summary,
        "cursor": state.cursor,
        "sections": [
            (section, [_line(line, result) for line in lines])
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
    return request.memory.for_scope(request.scope).events(which=ids)


def _line(line: Line, result: dict[str, Event]) -> dict[str, Any]:
    rows: list[Row] = [row_of(result[source], [], most=STRETCH_CHARS) for source in line.sources if source in result]
    return {"line": line, "rows": rows, "missing": sum(source not in result for source in line.sources)}


def _ledger(ledger: Ledger) -> list[tuple[str, list[str]]]:
    parts = {
        "files": [
            f"{file.operation}: {file.moved_from} to {file.path}"
            if file.moved_from
            else f"{file.operation}: {file.path}"
            for file in ledger.files
        ],
        "tests": [" ".join([run.outcome, *run.failing]) for run in ledger.tests],
        **{
            name: [mention.text for mention in getattr(ledger, name)]
            for name in ("errors", "ids", "urls", "commands")
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
