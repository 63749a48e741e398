"""The prompt as it is laid out for a turn: its parts, why each stands as it does, and what a provider has cached."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hybrid_memory import Context, Event, EventKind, Message, Role, Tier
from hybrid_memory import Piece as Planned
from hybrid_memory.analysis import LEAST_TOKENS, escaped, handle, memory_mark, spoken
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.text.tokens import message_tokens
from hybrid_memory_inspector.reading import PageRequest, state_of

MOST_TOKENS = 1_000_000
AROUND = 400
"""Events of the session, on each side, among which the turns next to the chosen one are looked for."""

MOST_QUEUED = 1000
"""Messages that no summary replaces; laying out more of them than this takes too long for a page."""

LISTED = 12
"""Turns to choose from, on each side."""

PLANNED = 400
"""Of a plan that is longer the beginning and the end are listed."""

OPERATORS = ("identity", "instructions")
STANDING = ("profile", "summary", "artifacts")
"""Parts of the system message, and of what is marked before the conversation, in their order."""

TIER_OF = {
    "blocks": Tier.CONTEXT,
    "profile": Tier.SEMANTIC,
    "summary": Tier.CONTEXT,
    "artifacts": Tier.CONTEXT,
    "recalled": Tier.SEMANTIC,
    "turns": Tier.CONTEXT,
    "question": Tier.CONTEXT,
}
"""Where a part of a prompt comes from; what is not here comes from the caller."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a message: what it is, and the tier that it comes from."""

    part: str
    tier: Tier | None
    text: str


@dataclass(frozen=True, slots=True)
class Laid:
    """A message of the prompt.

    Attributes:
        cached: the prompt for the turn before began with it too.
        breakpoint: the next prompt begins with all up to here.
    """

    row: int
    role: str
    tokens: int
    pieces: list[Piece]
    handle: str
    position: int | None
    cached: bool
    breakpoint: bool


def prompts(request: PageRequest) -> dict[str, Any]:
    """The prompt for one turn, the last one if none is chosen: of a session, or of all sessions of the owner.

    A handle without a session has one conversation out of all that the owner said; where nobody has compacted it, a
    session is asked for first.
    """
    budget = request.memory.config.compaction.max_tokens
    tokens = request.number("tokens", budget, least=LEAST_TOKENS, most=MOST_TOKENS)
    chosen = request.number("turn", 0, least=0)
    turns = _turns(request, chosen)
    sessions = [] if request.scope.session else request.sessions()
    whole = bool(sessions) and ("all" in request.query or state_of(request, None).cursor > 0)
    shown: dict[str, Any] = {"tokens": tokens, "turns": [], "sessions": sessions, "whole": whole, "context": None}
    if (sessions and not whole) or not turns:
        return shown
    places = [event.position for event in turns]
    row = places.index(chosen) if chosen in places else len(turns) - 1
    shown |= {
        "turn": turns[row],
        "turns": [
            (event.position, event.message.text[:80]) for event in turns[max(0, row - LISTED) : row + LISTED + 1]
        ],
        "previous": places[row - 1] if row else None,
        "next": places[row + 1] if row + 1 < len(turns) else None,
    }
    try:
        _check_length(request, places[row])
        context = _context(request, places[row], tokens)
    except InvalidInputError as error:
        return shown | {"refused": str(error)}
    before = _before(request, places[row - 1], tokens) if row else ()
    return shown | _laid_out(request, context, before, places[row])


def _turns(request: PageRequest, chosen: int) -> list[Event]:
    """The turns that ask for something, next to the chosen one or the newest, oldest first."""
    scoped = request.scoped
    said = (EventKind.MESSAGE,)
    before = chosen + 1 + AROUND if chosen else None
    events = scoped.events(before=before, kinds=said, limit=2 * AROUND)
    if chosen and all(event.position != chosen for event in events):
        events = scoped.events(before=chosen + 1, kinds=said, limit=AROUND)
    return [event for event in events if event.message.opens]


def _check_length(request: PageRequest, turn: int) -> None:
    """Raise `InvalidInputError` if too many messages stand before this turn that no summary replaces."""
    cursor = state_of(request, request.scope.session).cursor
    said = request.scoped.events(before=turn, kinds=(EventKind.MESSAGE,), limit=MOST_QUEUED + 1)
    if len(said) > MOST_QUEUED and said[0].position > cursor:
        raise InvalidInputError(
            f"more than {MOST_QUEUED:,} messages before this turn have no summary yet: call compact() first"
        )


def _context(request: PageRequest, turn: int, tokens: int) -> Context:
    """The prompt as it was when the turn stood last: with what was recalled for it, before anybody answered."""
    following = request.scoped.events(before=turn + 1 + AROUND, kinds=(EventKind.MESSAGE,), limit=AROUND)
    after = next((event.position for event in following if event.position > turn), None)
    scoped = request.memory.for_scope(request.scope)
    if after is not None:
        scoped = scoped.at(after - 1)
    elif request.at is not None:
        scoped = scoped.at(request.at)
    return scoped.assemble(max_tokens=tokens)


def _before(request: PageRequest, turn: int, tokens: int) -> Sequence[Message]:
    try:
        return _context(request, turn, tokens).messages
    except InvalidInputError:  # too little room for that question
        return ()


def _laid_out(request: PageRequest, context: Context, before: Sequence[Message], turn: int) -> dict[str, Any]:
    count = request.memory.token_counter
    costs = [message_tokens(message, count) for message in context.messages]
    same = _same(context.messages, before)
    notes = _notes(request, context, turn)
    places = _positions(request, context.messages)
    laid = [
        Laid(
            row=row,
            role=spoken(message.speaker, message.spoken_by),
            tokens=cost,
            pieces=_pieces(message, context, notes),
            handle=handle(place, place) if (place := places.get(message.id or "")) else "",
            position=place,
            cached=row < same,
            breakpoint=row in context.breakpoints,
        )
        for row, (message, cost) in enumerate(zip(context.messages, costs, strict=True))
    ]
    return {
        "context": context,
        "laid": laid,
        "sections": _sections(context),
        "plan": _plan(context),
        "same": same,
        "cached_tokens": sum(costs[:same]),
        "cached_share": sum(costs[:same]) / sum(costs) if costs else 0.0,
    }


def _plan(context: Context) -> list[tuple[Planned, tuple[int, int] | None]]:
    """The plan with the ends of each handle."""
    plan = context.plan
    if len(plan) > PLANNED:
        plan = (*plan[: PLANNED // 2], *plan[-PLANNED // 2 :])
    return [(piece, _ends(piece.handle)) for piece in plan]


def _ends(name: str) -> tuple[int, int] | None:
    """First and last position of a handle."""
    ends = [int(number) for number in re.findall(r"\d+", name)]
    return (ends[0], ends[-1]) if ends else None


def _same(messages: Sequence[Message], before: Sequence[Message]) -> int:
    """How many messages both prompts begin with."""
    for row, (message, other) in enumerate(zip(messages, before, strict=False)):
        if message != other:
            return row
    return min(len(messages), len(before))


def _sections(context: Context) -> list[tuple[str, Tier | None, int, float]]:
    """Name, tier, tokens and share of the whole, of each part; the question is among the turns."""
    sections = {name: tokens for name, tokens in context.section_tokens.items() if name != "question"}
    framing = max(context.tokens - sum(sections.values()), 0)
    named = {**sections, "framing": framing} if framing else sections
    whole = max(sum(named.values()), context.max_tokens)
    return [(name, TIER_OF.get(name), tokens, 100 * tokens / whole) for name, tokens in named.items()]


def _notes(request: PageRequest, context: Context, turn: int) -> list[str]:
    """What was recalled for the turns of the prompt as it is marked there, longest first."""
    noted = request.scoped.events(before=turn + 1 + AROUND, kinds=(EventKind.RECALLED,), limit=AROUND)
    texts = {context.note, *(str(event.payload.get("text", "")) for event in noted)}
    marks = request.memory.config.prompt
    return sorted((memory_mark(text, marks) for text in texts if text), key=len, reverse=True)


def _positions(request: PageRequest, messages: Sequence[Message]) -> dict[str, int]:
    ids = [message.id for message in messages if message.id]
    result = request.memory.for_scope(request.scope).events(which=ids)
    return {event.id: event.position for event in result}


def _pieces(message: Message, context: Context, notes: Sequence[str]) -> list[Piece]:
    text = message.text
    if message.role is Role.SYSTEM:
        pieces, rest = _cut(text, context.sections, OPERATORS)
        return [*pieces, *_piece("blocks" if "blocks" in context.sections else "system", rest)]
    standing = context.standing
    pieces = []
    if standing and text.startswith(standing):
        pieces, rest = _cut(standing, context.sections, STANDING)
        pieces += _piece("heading", rest)
        text = text.removeprefix(standing).lstrip("\n")
    note = next((note for note in notes if text == note or text.startswith(f"{note}\n\n")), "")
    own = text.removeprefix(note).lstrip("\n") if note else text
    return [*pieces, *_piece("recalled", note), *_piece("turn", own)]


def _cut(text: str, sections: Mapping[str, str], names: Sequence[str]) -> tuple[list[Piece], str]:
    """The text cut where these parts begin, and what follows the last; what stands between them is a heading."""
    pieces: list[Piece] = []
    for name in names:
        part = sections.get(name, "") if name in OPERATORS else escaped(sections.get(name, ""))
        place = text.find(part) if part else -1
        if place >= 0:
            pieces += [*_piece("heading", text[:place]), *_piece(name, part)]
            text = text[place + len(part) :]
    return pieces, text


def _piece(part: str, text: str) -> list[Piece]:
    """The piece, unless it says nothing."""
    tier = Tier.CONTEXT if part == "turn" else TIER_OF.get(part)
    return [Piece(part, tier, text.strip("\n"))] if text.strip() else []
