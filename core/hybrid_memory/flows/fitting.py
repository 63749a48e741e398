"""What of a session goes into one prompt, and what has to stay out."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from hybrid_memory.compression.ledger import changed_since, render
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.flows.prompting import Request
from hybrid_memory.flows.viewing import LEAST_INLINE, PRIMING, View, as_shown, cost, with_summary
from hybrid_memory.flows.world import World
from hybrid_memory.text.asking import asking_share
from hybrid_memory.text.tokenize import terms
from hybrid_memory.tiers.context import HEADING, memory_line, memory_note
from hybrid_memory.tiers.prompt import Parts, messages
from hybrid_memory.types import Context, Dropped, Hit, Message, Role, handle

CHAT_RECALL = 0.1
"""Share of the room for recall that a turn gets which asks nothing: what it is shown stays in the prompt."""

FREE_RECALL = 0.6
"""Share of the room that is free for a question's recall, where that is more than the room set aside for it."""

PROGRESS = 0.1
"""Share of the budget for the files that the turns in the prompt changed."""

PROGRESS_HEADING = "Files changed in the turns above:"
SHOWN_CHARS = 60


@dataclass(frozen=True)
class Fitted:
    """A prompt within its budget.

    Attributes:
        wanted: tokens that the prompt would need with everything that was meant to be in it.
    """

    context: Context
    wanted: int


def _turns(seen: View) -> list[tuple[Message, str]]:
    return [
        (message, unit.note or "" if row == 0 else "")
        for unit, turn in zip(seen.units, seen.shown, strict=True)
        for row, message in enumerate(turn)
    ]


def _noting(seen: View, turns: Sequence[tuple[Message, str]], note: str) -> list[tuple[Message, str]]:
    """The turns with this note at the question, if it is one of them."""
    asked = seen.question_id
    return [(message, note if asked and message.id == asked else old) for message, old in turns]


def fit(world: World, seen: View, request: Request, hits: Sequence[Hit]) -> Fitted:
    """The prompt with everything that it was meant to have, or with as much of it as fits."""
    wanted = 0

    def priced(parts: Parts) -> tuple[Sequence[Message], int]:
        laid = messages(parts, request.layout)
        return laid, cost(world, laid) + seen.tools + PRIMING

    def fits(parts: Parts) -> bool:
        return priced(parts)[1] <= request.max_tokens

    for parts, kept in _attempts(world, seen, request, hits, fits):
        laid, tokens = priced(parts)
        wanted = wanted or tokens
        if tokens <= request.max_tokens:
            return Fitted(_context(world, seen, request, Attempt(parts, laid, tokens, kept), hits), wanted)
    raise InvalidInputError(
        f"max_tokens={request.max_tokens} is too little: identity, instructions, tools and the question alone need "
        f"{tokens}; put a long question into the log with remember() first, so that it can stand as a digest"
    )


@dataclass(frozen=True)
class Attempt:
    """A prompt, what it was laid out from, its tokens, and what of the hits is in it."""

    parts: Parts
    laid: Sequence[Message]
    tokens: int
    hits: Sequence[Hit]


def _attempts(
    world: World, seen: View, request: Request, hits: Sequence[Hit], fits: Callable[[Parts], bool]
) -> Iterator[tuple[Parts, list[Hit]]]:
    """Less and less: fewer recalled turns, a shorter summary, shorter messages, fewer turns."""
    config = world.config.compaction
    free = request.max_tokens - seen.fixed - sum(seen.costs)
    most = max(config.recall_ratio * request.max_tokens, FREE_RECALL * free)
    budget = int(most * max(CHAT_RECALL, asking_share(seen.words)))
    turns = _turns(seen)
    kept = affordable(world, hits, seen.words, budget)
    progress = "" if seen.noted is not None else _progress(world, seen, int(PROGRESS * request.max_tokens))

    def parts(kept: Sequence[Hit], share: float, turns: Sequence[tuple[Message, str]], *, noted: bool = True) -> Parts:
        new = "\n".join(part for part in (progress, memory_note(kept, seen.words, world.config.cleaning)) if part)
        note = (new if seen.noted is None else seen.noted) if noted else ""
        return replace(
            with_summary(world, seen.session, seen.texts, request.max_tokens, share),
            turns=_noting(seen, turns, note),
            note=note,
            question=seen.question if seen.asked is None else None,
        )

    yield parts(kept, 1, turns), kept
    while kept:
        kept = kept[: len(kept) // 2]
        yield parts(kept, 1, turns), kept
    yield parts([], 0.5, turns), []
    turns = [(message, "") for message, _ in turns]
    yield parts([], 0.5, turns, noted=False), []
    limit = seen.limit
    while limit > LEAST_INLINE:
        limit = max(LEAST_INLINE, limit // 2)
        turns = [(message, "") for unit in seen.units for message, _ in as_shown(world, unit, limit, asked=False)]
        yield parts([], 0.5, turns, noted=False), []
    starts = _starts(seen)
    # Fewer turns never need more tokens, and a session that was never folded may have very many.
    least = bisect_left(
        range(len(starts)), True, key=lambda row: fits(parts([], 0.5, _from(turns, starts[row]), noted=False))
    )
    for row in range(least, len(starts)):
        yield parts([], 0.5, _from(turns, starts[row]), noted=False), []
    question = [(message, "") for message, _ in turns if message.id == seen.question_id and seen.asked is not None]
    yield parts([], 0, question, noted=False), []


def _progress(world: World, seen: View, max_tokens: int) -> str:
    """Files that the turns in the prompt changed: the artifacts of the summary end where these turns begin.

    A note, and not part of the artifacts, because these must stay the same until the next compaction.
    """
    events = [message for unit in seen.units for message in unit.messages]
    if not any(message.tool_calls or "```" in message.text for message in events):
        return ""
    changed = render(changed_since(seen.session.state.ledger, events), max_tokens=max_tokens, count=world.count)
    return f"{PROGRESS_HEADING}\n{changed}" if changed else ""


def _starts(seen: View) -> list[tuple[int, int | None]]:
    """Where the turns may begin, one unit later each time, and the turn that then stands before them, if any.

    The first message left is always the user's.
    """
    sizes = [len(unit.events) for unit in seen.units]
    anchor = next((row for row in reversed(range(len(sizes))) if seen.units[row].opens), 0)
    opening = sum(sizes[:anchor])
    found: list[tuple[int, int | None]] = []
    start = 0
    for row, size in enumerate(sizes[:-1]):
        start += size
        if row >= anchor:
            found.append((start, opening))
        elif seen.units[row + 1].opens:
            found.append((start, None))
    return found


def _from(turns: Sequence[tuple[Message, str]], start: tuple[int, int | None]) -> list[tuple[Message, str]]:
    first, opening = start
    return list(turns[first:]) if opening is None else [turns[opening], *turns[first:]]


def affordable(world: World, hits: Sequence[Hit], query: str, budget: int) -> list[Hit]:
    """The best hits whose note fits the budget; the same words are not shown twice."""
    kept: list[Hit] = []
    said: set[str] = set()
    wanted = frozenset(terms(query))
    room = budget - world.count(f"{HEADING}\n")
    for hit in hits:
        # Lines counted one by one may come to a token more than the note, never to less.
        tokens = world.count(memory_line(hit.record, wanted, world.config.cleaning)) + 1
        if tokens <= room and hit.record.text not in said:
            kept.append(hit)
            said.add(hit.record.text)
            room -= tokens
    return kept


def _context(world: World, seen: View, request: Request, attempt: Attempt, hits: Sequence[Hit]) -> Context:
    parts, laid = attempt.parts, attempt.laid
    notes = [note for _, note in parts.turns]
    if request.layout == "classic" or seen.asked is None:
        notes.append(parts.note)
    sections = {
        "identity": parts.identity,
        "instructions": parts.instructions,
        "blocks": "\n".join(parts.blocks.values()),
        "profile": parts.profile,
        "summary": parts.summary,
        "artifacts": parts.artifacts,
        "turns": "\n".join(f"{message.role}: {message.text}" for message, _ in parts.turns),
        "recalled": "\n".join(note for note in notes if note),
        "question": seen.words,
    }
    sections = {name: text for name, text in sections.items() if text}
    passing = world.count(parts.note) if request.layout == "classic" else 0
    pressure = min((attempt.tokens - passing) / request.max_tokens, 1.0)
    return Context(
        messages=tuple(laid),
        sections=sections,
        section_tokens={name: world.count(text) for name, text in sections.items()},
        tokens=attempt.tokens,
        max_tokens=request.max_tokens,
        dropped=tuple(_dropped(world, seen, attempt, hits)),
        hits=tuple(attempt.hits),
        note=parts.note,
        breakpoints=_breakpoints(laid),
        pressure=pressure,
        under_pressure=pressure >= world.config.compaction.pressure,
    )


def _breakpoints(laid: Sequence[Message]) -> tuple[int, ...]:
    """After the system message, and after all of it: the next prompt begins with these messages."""
    first = [0] if laid and laid[0].role is Role.SYSTEM else []
    return tuple(dict.fromkeys([*first, len(laid) - 1]))


def _dropped(world: World, seen: View, attempt: Attempt, hits: Sequence[Hit]) -> Iterator[Dropped]:
    kept = {hit.record.id for hit in attempt.hits}
    for record in (hit.record for hit in hits if hit.record.id not in kept):
        what = f"{record.speaker}: {record.text[:SHOWN_CHARS]}"
        yield Dropped("recalled", what, handle(record.id, record.id), world.count(record.text))
    for line in seen.session.state.lines:
        if line.text not in attempt.parts.summary:
            yield Dropped("summary", line.text[:SHOWN_CHARS], line.handle, world.count(line.text))
    there = {message.id for message, _ in attempt.parts.turns}
    for unit, tokens in zip(seen.units, seen.costs, strict=True):
        message = unit.messages[0]
        if message.id not in there:
            what = f"{message.speaker}: {message.text[:SHOWN_CHARS]}"
            yield Dropped("turns", what, handle(unit.first, unit.last), tokens)
