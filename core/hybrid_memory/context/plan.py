"""The plan of a prompt: which parts of a session it shows, in which form, and why.

What fits is shown in full. If space is short, parts are reduced in this order: memories recalled for earlier turns,
long messages that were answered, memories recalled now, the summary, the oldest turns, and finally what was not
answered yet.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hybrid_memory.context.layout import Parts, memory_mark, messages
from hybrid_memory.context.memories import Memories, fitting, memory_note, shared_note
from hybrid_memory.context.shortening import shortened
from hybrid_memory.context.view import LEAST_INLINE, Long, PromptView, note_room, relieved
from hybrid_memory.log.message import Message
from hybrid_memory.text.tokenize import terms
from hybrid_memory.text.tokens import PRIMING

END = 400
"""Characters at either end of a long question that determine which of its parts matter."""

PRESSED = (0.6, 0.3, 0.15)
"""Shares of the available space for an unanswered message, tried in turn."""

_Start: TypeAlias = tuple[int, int | None]
"""Where the turns begin, and the turn that then precedes them, if any."""


@dataclass
class PromptPlan:
    """A planned prompt.

    Attributes:
        seen: the session that it shows.
        parts: the parts of its layout.
        memories: those that it contains.
        short: the original tokens of each shortened message, by id.
        needed: the tokens it would need with everything that it should contain.
        laid: its messages, with ``tokens`` in total, tools included.
        reader: the tool that the prompt names; empty if none.
    """

    seen: PromptView
    parts: Parts
    memories: Memories = field(default_factory=Memories)
    short: dict[str, int] = field(default_factory=dict)
    needed: int = 0

    def __post_init__(self) -> None:
        seen, costs = self.seen, self.seen.costs
        self.laid = messages(self.parts, seen.request.layout)
        self.tokens = costs.of(self.laid) + seen.tools + PRIMING
        self.reader = costs.reader if self.short or self.parts.summary or costs.handles else ""


def plan(seen: PromptView, memories: Memories) -> PromptPlan:
    """The prompt with everything it should contain, or with as much of it as fits.

    It always contains the caller's own parts and the last turn, so it may exceed its budget.
    """
    needed = 0
    for made in _attempts(seen, memories):
        needed = needed or made.tokens
        if made.tokens <= seen.budget:
            break
    made.needed = needed
    return made


def _attempts(seen: PromptView, memories: Memories) -> Iterator[PromptPlan]:
    kept = memories
    if memories:
        kept = fitting(memories, seen.words, note_room(seen), seen.costs.count, before=seen.shown_note or "")
    while True:
        own = seen.shown_note
        if own is None:
            own = memory_note(kept.hits, seen.words, statements=kept.statements, unsure=kept.unsure)
        note = "\n".join(filter(None, (own, shared_note(kept.shared, seen.words) if kept.shared else "")))
        relief = relieved(seen, seen.costs.count(memory_mark(note, seen.request.marks)) + 1 if note else 0)
        yield _with_turns(seen, relief.short, relief.bare, note, kept=kept)
        if not kept:
            break
        kept = kept.half()
    yield _with_turns(seen, relief.short, relief.bare, note, share=0.5)
    yield from _without_turns(seen, relief.short)


def _with_turns(
    seen: PromptView,
    longs: Mapping[int, Long],
    bare: Collection[int],
    note: str = "",
    *,
    kept: Memories | None = None,
    share: float = 1.0,
) -> PromptPlan:
    """All turns, these of them shortened, and without the notes of those in ``bare``."""
    turns: list[tuple[Message, str]] = []
    for row, unit in enumerate(seen.units):
        own = note if row == seen.asked else unit.note or ""
        for place, event in enumerate(unit.events):
            long = longs.get(event.position)
            if long is None:
                message = seen.costs.whole(event)[0]
            else:
                message = seen.costs.short(event, long.limit, long.question, fresh=False)[0]
            turns.append((message, own if place == 0 and unit.first not in bare else ""))
    parts = seen.parts if share == 1.0 else seen.with_summary(share)
    parts = replace(parts, turns=turns, note=note, question=seen.question if seen.asked is None else None)
    return PromptPlan(seen, parts, kept or Memories(), {long.event.id: long.tokens for long in longs.values()})


def _without_turns(seen: PromptView, longs: Mapping[int, Long]) -> Iterator[PromptPlan]:
    """Fewer rounds; then the last one with shortened messages, then with fewer steps; finally all of it shortened.

    Notes are left out. Unanswered messages are shortened before a step of their round is dropped.
    """
    whole = _with_turns(seen, longs, {unit.first for unit in seen.units}, share=0.5)
    yield whole
    rounds, steps = _starts(seen)

    def starting(start: _Start) -> PromptPlan:
        return replace(whole, parts=replace(whole.parts, turns=_from(whole.parts.turns, start)))

    # Fewer turns never need more tokens, and a session that was never compacted may have very many.
    for start in rounds[bisect_left(rounds, True, key=lambda start: starting(start).tokens <= seen.budget) :]:
        yield starting(start)
    last = rounds[-1] if rounds else (0, None)
    for share in PRESSED:
        yield _pressed(whole, longs, last, limit=int(share * seen.room))
    for start in steps:
        yield _pressed(whole, longs, start, limit=int(PRESSED[-1] * seen.room))
    limit = 2 * max(LEAST_INLINE, int(PRESSED[-1] * seen.room))
    while limit > LEAST_INLINE:
        limit = max(LEAST_INLINE, limit // 2)
        yield _pressed(whole, longs, steps[-1] if steps else last, limit=limit, share=0)


def _pressed(
    whole: PromptPlan, longs: Mapping[int, Long], start: _Start, *, limit: int, share: float = 0.5
) -> PromptPlan:
    """The turns from here on, each message cut to this many tokens, like one that is not answered yet.

    What was shortened stays as it is, unless that is still too much.
    """
    seen, limit, short = whole.seen, max(limit, LEAST_INLINE), dict(whole.short)
    turns: list[tuple[Message, str]] = []
    events = (event for unit in seen.units for event in unit.events)
    for event, (message, _) in zip(events, whole.parts.turns, strict=True):
        tokens = seen.costs.whole(event)[1]
        long = longs.get(event.position)
        if (long.limit if long else tokens) <= limit:
            turns.append((message, ""))
            continue
        asked = _ends(event.message.text) if event.id == seen.question_id else _ends(seen.words)
        turns.append((seen.costs.short(event, limit, asked, fresh=True)[0], ""))
        short[event.id] = tokens
    parts = replace(seen.with_summary(share), turns=_from(turns, start), question=whole.parts.question)
    if parts.question is not None:
        wanted = terms(_ends(seen.words))
        cut = shortened(parts.question, handle="", max_tokens=limit, count=seen.costs.count, words=wanted, fresh=True)
        parts = replace(parts, question=cut)
    return PromptPlan(seen, parts, short=short)


def _ends(text: str) -> str:
    """The beginning and end of a long text, which usually contain its request."""
    return text if len(text) <= 2 * END else f"{text[:END]}\n{text[-END:]}"


def _starts(seen: PromptView) -> tuple[list[_Start], list[_Start]]:
    """Where the turns may begin: at each later round, then at each later step of the last one.

    The first remaining message is always the user's: the question, if it is not one of the turns.
    """
    sizes = [len(unit.events) for unit in seen.units]
    anchor = next((row for row in reversed(range(len(sizes))) if seen.units[row].opens), 0)
    opening = sum(sizes[:anchor])
    rounds: list[_Start] = []
    steps: list[_Start] = []
    start = 0
    for row, size in enumerate(sizes[:-1]):
        start += size
        if row >= anchor:
            steps.append((start, opening))
        elif seen.units[row + 1].opens:
            rounds.append((start, None))
    if seen.asked is None and seen.question is not None:
        return [*rounds, (sum(sizes), None)], []
    return rounds, steps


def _from(turns: Sequence[tuple[Message, str]], start: _Start) -> list[tuple[Message, str]]:
    first, opening = start
    return list(turns[first:]) if opening is None else [turns[opening], *turns[first:]]
