"""What the log came to: facts with their sources, and summaries with the words behind each line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybrid_memory import Block, EventKind, Fact, ScopedMemory, Section
from hybrid_memory.analysis import handle
from hybrid_memory.errors import InvalidInputError
from hybrid_memory_inspector.log import row_of
from hybrid_memory_inspector.reading import PageRequest, holds, state_of

FACTS = 300
"""Listed at once, the newest; older ones are found by the filter."""

SOURCES = 400
"""Turns that a page shows behind the lines of a summary."""

SOURCE_CHARS = 4000


def knowledge(request: PageRequest) -> dict[str, Any]:
    """Facts by topic, and working blocks, as of then."""
    scoped = request.seen(request.scope.owner)
    facts = scoped.facts(history=True)
    by_id = {fact.id: fact for fact in facts}
    history = request.query.get("history") == "1"
    words = request.query.get("q", "").strip()
    chosen = [fact for fact in facts if (history or fact.current) and holds(f"{fact} {fact.text}", words)]
    listed = sorted(chosen, key=lambda fact: (fact.valid_from, fact.id))[-FACTS:]
    fields = {
        (by_id[number].subject, by_id[number].attribute): name.replace("_", " ")
        for name, entries in scoped.profile().sources.items()
        for entry in entries
        for number in entry.facts
        if number in by_id
    }
    # In the order of the profile, which has notes last; then what is about others.
    topics: dict[str, list[Fact]] = {name: [] for name in dict.fromkeys(fields.values())}
    for fact in reversed(listed):
        about = (fact.subject, fact.attribute)
        topics.setdefault(fields.get(about) or " · ".join(about).replace("_", " "), []).append(fact)
    blocks: list[Block] = [] if request.scope.space else list(scoped.blocks().values())
    # Whether the newest message was read for facts yet; what was read late counts from its turn on.
    newest = scoped.events(kinds=(EventKind.MESSAGE,), limit=1)
    learned = request.memory.for_scope(request.scope.owner).events(kinds=(EventKind.LEARNED,), limit=1)
    upto = max(learned[0].payload["cursors"].values(), default=0) if learned else 0
    return {
        "topics": {name: listed for name, listed in topics.items() if listed},
        "blocks": blocks,
        "more": len(chosen) - len(listed),
        "by_id": by_id,
        "current": sum(fact.current for fact in facts),
        "history": history,
        "q": words,
        "unread": bool(newest) and newest[0].position > upto,
    }


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


def summaries(request: PageRequest) -> dict[str, Any]:
    """The summary of a session, or of the whole owner, each line with the turns that it replaces."""
    state = state_of(request, request.scope.session)
    summary = state.summary  # as the verb has it, which would read all turns since
    ids = list(dict.fromkeys(source for line in summary.lines for source in line.sources))[:SOURCES]
    # What is behind a summary that is to be seen, is to be seen too.
    turns = {event.id: event for event in request.memory.for_scope(request.scope).events(which=ids)}
    sections = {
        section: [
            {
                "line": line,
                "rows": [row_of(turns[source], [], most=SOURCE_CHARS) for source in line.sources if source in turns],
                "missing": sum(source not in turns for source in line.sources),
            }
            for line in summary.section(section)
        ]
        for section in Section
    }
    return {
        "summary": summary,
        "cursor": state.cursor,
        "sections": {section: lines for section, lines in sections.items() if lines},
        "stretches": [(handle(first, last), last) for first, last in summary.stretches],
        "sessions": request.sessions(),
    }
