"""A prompt: the plan of what it shows of a session, in which form, and why; and the result, ready to be sent.

What fits is shown in full. If space is short, parts are reduced in this order: memories recalled for earlier turns,
long messages that were answered, memories recalled now, the summary, the oldest turns, and finally what was not
answered yet.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, TypeAlias

from hybrid_memory import display
from hybrid_memory.context.layout import Parts, memory_mark, messages
from hybrid_memory.context.memories import Memories, fitting, memory_note, shared_note
from hybrid_memory.context.shortening import shortened
from hybrid_memory.context.view import LEAST_INLINE, Long, PromptView, note_room, relieved
from hybrid_memory.log.event import handle
from hybrid_memory.log.message import Message, Role
from hybrid_memory.recall.hit import Hit
from hybrid_memory.text.asking import ends
from hybrid_memory.text.tokenize import terms
from hybrid_memory.text.tokens import PRIMING

_OWN, _KEPT, _FOUND = "the caller's own", "L1: kept in the context", "L2: found or learned"

_SECTIONS = {
    "identity": (display.PLAIN, _OWN, "whole"),
    "instructions": (display.PLAIN, _OWN, "whole"),
    "blocks": ("213,94,0", _KEPT, ""),
    "profile": (display.SEMANTIC, _FOUND, "what is known of the user, within its share"),
    "summary": (display.EPISODIC, _KEPT, "for older turns, within its share"),
    "artifacts": ("204,121,167", _KEPT, "for older turns, within its share"),
    "turns": ("86,180,233", _KEPT, ""),
    "recalled": ("240,228,66", _FOUND, ""),
    "question": (display.CONTEXT, _KEPT, ""),
}
"""The hue of each in a bar; where it comes from, as colours are not told apart by everybody; why, if it is one text."""

SHOWN_CHARS = 60


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a prompt, or one that was left out, and why.

    Attributes:
        reason: such as ``whole`` or ``shortened: 9,100 tokens``.
        handle: pass it to `expand` to see the original; empty if it is not part of the log, or only a larger budget can
            show it.
        shown: whether it is in the prompt.
    """

    section: str
    what: str
    tokens: int
    reason: str
    handle: str = ""
    shown: bool = True

    def __repr__(self) -> str:
        return f"<Piece {self.section}: {self.what} ({self.tokens:,} tokens) {self.reason}>"


@dataclass(frozen=True, slots=True)
class Context:
    """A prompt made by `assemble`.

    Attributes:
        messages: the messages to send: at most one system message, then the conversation, starting with a user turn
            unless `Host.assistant_first`; memories come before the turn they were recalled for.
        sections: the text of each section by name, in order.
        tokens: the size of the prompt with message framing and tool schemas. It exceeds ``max_tokens`` only if
            identity, instructions, tools and the last turn alone do.
        dropped: what did not fit, and how to read it.
        hits: the memories recalled for this question now, best first; after them those of shared spaces.
        note: the memories shown with the question, recalled now or when it was first asked; may be empty.
        breakpoints: indexes of messages up to which the next prompt will be identical, for prompt caching.
        pressure: the share of the budget in use, in [0, 1].
        under_pressure: whether that exceeds the configured share.
        compacted: why older turns were compacted for this call; empty if none were.
        reader: the tool that the prompt names for reading more; empty if none.
        preface: the marked texts before the question, for hosts that add the question themselves.
        standing: profile, summary and texts of others, as marked before the conversation.
        plan: every part, with the reason for how it is shown.
        unwritten: why nothing could be written, such as a full disk; then nothing was compacted or learned. Empty if
            all went well.
    """

    messages: tuple[Message, ...]
    sections: Mapping[str, str]
    tokens: int
    max_tokens: int
    section_tokens: Mapping[str, int] = field(default_factory=dict)
    dropped: tuple[Piece, ...] = ()
    hits: tuple[Hit, ...] = ()
    note: str = ""
    breakpoints: tuple[int, ...] = ()
    pressure: float = 0.0
    under_pressure: bool = False
    compacted: str = ""
    reader: str = ""
    preface: str = ""
    standing: str = ""
    plan: tuple[Piece, ...] = ()
    unwritten: str = ""

    @property
    def text(self) -> str:
        """All messages as one text, each after its role."""
        return "\n\n".join(f"{message.role}: {message.text}" for message in self.messages)

    def as_dicts(self, *, cache_control: bool = False) -> list[dict[str, Any]]:
        """The messages in OpenAI's format.

        Args:
            cache_control: add ``{"cache_control": {"type": "ephemeral"}}`` to the last content block of each
                breakpoint, for providers that cache only marked prefixes.
        """
        dicts = []
        for row, message in enumerate(self.messages):
            content = message.content
            if cache_control and row in self.breakpoints and content:
                *plain, last = [{"type": "text", "text": content}] if isinstance(content, str) else content
                content = [*plain, {**last, "cache_control": {"type": "ephemeral"}}]
            values: dict[str, Any] = {"role": message.role.value, "content": content}
            if message.name is not None and message.role is not Role.SYSTEM:
                values["name"] = message.name
            if message.tool_calls:
                values["tool_calls"] = [call.as_openai() for call in message.tool_calls]
            if message.tool_call_id is not None:
                values["tool_call_id"] = message.tool_call_id
            dicts.append(values)
        return dicts

    def __repr__(self) -> str:
        parts = ", ".join(f"{name} {tokens}" for name, tokens in self.section_tokens.items())
        dropped = f"; {len(self.dropped)} dropped" if self.dropped else ""
        return f"<Context {self.tokens} of {self.max_tokens} tokens: {parts}{dropped}>"

    def _repr_html_(self) -> str:
        text, sections, parts = display.text, list[display.Part](), ""
        for name, words in self.sections.items():
            tokens, (hue, place, _) = self.section_tokens.get(name, 0), _SECTIONS[name]
            sections.append(display.Part(name, tokens / self.max_tokens, hue, f"{tokens:,}"))
            title = f"{text(name)} <small>{tokens:,} tokens</small>"
            parts += display.details(title, display.under(hue, text(words), place))
        rows = [
            (text(piece.section), f"{piece.handle} {text(piece.what)}".strip(), f"{piece.tokens:,}", text(piece.reason))
            for piece in self.plan
        ]
        plan = display.table(("part", "what", "tokens", "why"), rows)
        lost = f", {len(self.dropped):,} left out" if self.dropped else ""
        return display.card(
            f"{self.tokens:,} of {self.max_tokens:,} tokens",
            f"<div>{display.bar(sections, width='40em')}</div><small>{display.legend(sections)}</small>"
            + parts
            + (display.details(f"plan: {display.counted(len(self.plan), 'part')}{lost}", plan) if self.plan else "")
            + (f"<small>compacted: {text(self.compacted)}</small>" if self.compacted else ""),
        )


END = 400  # characters at either end of a long question, which usually have its request: they say what of it matters
PRESSED = (0.6, 0.3, 0.15)  # shares of the available space for an unanswered message, tried in turn

_Start: TypeAlias = tuple[int, slice]  # where the turns begin, and the turn that then precedes them, if any


@dataclass
class PromptPlan:
    """A planned prompt.

    Attributes:
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
    """All turns with fewer and fewer memories, then without notes; then fewer rounds, and shorter messages.

    Of the last round messages are shortened first, then steps go; finally all of it is shortened. Unanswered messages
    are shortened before a step of their round is dropped.
    """
    kept = memories
    if memories:
        kept = fitting(memories, seen.words, note_room(seen), seen.costs.count, before=seen.shown_note or "")
    while True:
        own = memory_note(kept, seen.words) if seen.shown_note is None else seen.shown_note
        note = "\n".join(filter(None, (own, shared_note(kept.shared, seen.words) if kept.shared else "")))
        relief = relieved(seen, seen.costs.count(memory_mark(note, seen.request.marks)) + 1 if note else 0)
        yield _with_turns(seen, relief.short, relief.bare, note, kept=kept)
        if not kept:
            break
        kept = kept.half()
    yield _with_turns(seen, relief.short, relief.bare, note, share=0.5)
    longs, bare = relief.short, {unit.first for unit in seen.units}
    yield (whole := _with_turns(seen, longs, bare, share=0.5))

    def starting(start: _Start) -> PromptPlan:
        return replace(whole, parts=replace(whole.parts, turns=_from(whole.parts.turns, start)))

    rounds, steps = _starts(seen)
    # Fewer turns never need more tokens, and a session that was never compacted may have very many.
    for start in rounds[bisect_left(rounds, True, key=lambda start: starting(start).tokens <= seen.budget) :]:
        yield starting(start)
    last = rounds[-1] if rounds else (0, slice(0))
    for share in PRESSED:
        yield _pressed(whole, longs, last, limit=int(share * seen.room))
    for start in steps:
        yield _pressed(whole, longs, start, limit=int(PRESSED[-1] * seen.room))
    limit = 2 * max(LEAST_INLINE, int(PRESSED[-1] * seen.room))
    while limit > LEAST_INLINE:
        limit = max(LEAST_INLINE, limit // 2)
        yield _pressed(whole, longs, steps[-1] if steps else last, limit=limit, share=0)


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
        own = "" if unit.first in bare else note if row == seen.asked else unit.note or ""
        for event in unit.events:
            long, costs = longs.get(event.position), seen.costs
            laid = costs.short(event, long.limit, long.question, fresh=False) if long else costs.whole(event)
            turns.append((laid[0], own))
            own = ""
    parts = seen.parts if share == 1.0 else seen.with_summary(share)
    parts = replace(parts, turns=turns, note=note, question=seen.question if seen.asked is None else None)
    return PromptPlan(seen, parts, kept or Memories(), {long.event.id: long.tokens for long in longs.values()})


def _pressed(
    whole: PromptPlan, longs: Mapping[int, Long], start: _Start, *, limit: int, share: float = 0.5
) -> PromptPlan:
    """The turns from here on, each message cut to this many tokens, like one that is not answered yet.

    What was shortened stays as it is, unless that is still too much.
    """
    seen, limit, short = whole.seen, max(limit, LEAST_INLINE), dict(whole.short)
    turns: list[tuple[Message, str]] = []
    events = (event for unit in seen.units for event in unit.events)
    for event, (before, _) in zip(events, whole.parts.turns, strict=True):
        shown, tokens = before, seen.costs.whole(event)[1]
        long = longs.get(event.position)
        if (long.limit if long else tokens) > limit:
            asked = ends(event.message.text if event.id == seen.question_id else seen.words, 2 * END)
            shown, short[event.id] = seen.costs.short(event, limit, asked, fresh=True)[0], tokens
        turns.append((shown, ""))
    question = whole.parts.question
    if question is not None:
        asking = terms(ends(seen.words, 2 * END))
        question = shortened(question, handle="", max_tokens=limit, count=seen.costs.count, words=asking, fresh=True)
    parts = replace(seen.with_summary(share), turns=_from(turns, start), question=question)
    return PromptPlan(seen, parts, short=short)


def _starts(seen: PromptView) -> tuple[list[_Start], list[_Start]]:
    """Where the turns may begin: at each later round, then at each later step of the last one.

    The first remaining message is always the user's: the question, if it is not one of the turns.
    """
    starts = [0, *accumulate(len(unit.events) for unit in seen.units)]
    anchor = max((row for row, unit in enumerate(seen.units) if unit.opens), default=0)
    rounds = [(starts[row], slice(0)) for row in range(1, anchor + 1) if seen.units[row].opens]
    if seen.asked is None and seen.question is not None:
        return [*rounds, (starts[-1], slice(0))], []
    opening = slice(starts[anchor], starts[anchor] + 1)
    return rounds, [(start, opening) for start in starts[anchor + 1 : -1]]


def _from(turns: Sequence[tuple[Message, str]], start: _Start) -> list[tuple[Message, str]]:
    return [*turns[start[1]], *turns[start[0] :]]


def context_of(made: PromptPlan, memories: Memories) -> Context:
    """The prompt with all its metadata; ``memories`` is everything recalled for it."""
    seen, parts = made.seen, made.parts
    notes = [note for _, note in parts.turns]
    if seen.request.layout == "classic" or seen.asked is None:
        notes.append(parts.note)
    several = {
        "blocks": "\n".join([*parts.blocks.values(), *(voice.text for voice in parts.others)]),
        "turns": "\n".join(f"{message.role}: {message.text}" for message, _ in parts.turns),
        "recalled": "\n".join(filter(None, notes)),
        "question": seen.words,
    }
    texts = {name: several[name] if name in several else getattr(parts, name) for name in _SECTIONS}
    sections = {name: text for name, text in texts.items() if text}
    passing = seen.costs.count(parts.note) if seen.request.layout == "classic" else 0
    pressure = min((made.tokens - passing) / seen.request.max_tokens, 1.0)
    pieces = tuple(_pieces(made, memories))
    laid = tuple(made.laid)
    # The next prompt begins with the system message, and with all messages.
    breakpoints = {0, len(laid) - 1} if laid and laid[0].role is Role.SYSTEM else {len(laid) - 1} if laid else set()
    question = parts.turns[-1][0] if parts.turns and parts.question is None else parts.question
    preface = ""  # what the last message has before the question's own words
    if question is not None and laid and laid[-1].text.endswith(question.text):
        preface = laid[-1].text.removesuffix(question.text).rstrip()
    return Context(
        messages=laid,
        sections=sections,
        section_tokens={name: seen.costs.count(text) for name, text in sections.items()},
        tokens=made.tokens,
        max_tokens=seen.request.max_tokens,
        dropped=tuple(piece for piece in pieces if not piece.shown),
        hits=(*made.memories.hits, *made.memories.shared),
        note=parts.note,
        breakpoints=tuple(sorted(breakpoints)),
        pressure=pressure,
        under_pressure=pressure >= seen.config.pressure,
        reader=made.reader,
        standing=parts.standing,
        preface=preface,
        plan=pieces,
    )


def _pieces(made: PromptPlan, memories: Memories) -> Iterator[Piece]:
    seen, parts, count = made.seen, made.parts, made.seen.costs.count
    for section, reason in ((name, why) for name, (_, _, why) in _SECTIONS.items() if why):
        if text := getattr(parts, section):
            yield Piece(section, _few(text), count(text), reason)
        elif lost := getattr(seen.parts, section):
            yield Piece(section, _few(lost), count(lost), "left out: no space", shown=False)
    for label, text in parts.blocks.items():
        yield Piece("blocks", label, count(text), "whole")
    for voice in parts.others:
        yield Piece("blocks", voice.mark, count(voice.text), f"whole, before the conversation: from {voice.origin}")
    if seen.tools:
        yield Piece("tools", "schemas of the tools", seen.tools, "whole")
    why = "left out: less important than others"
    for line in seen.session.state.summary.lines:
        if line.text not in parts.summary:
            yield Piece("summary", line.text[:SHOWN_CHARS], count(line.text), why, line.handle, shown=False)
    yield from _turns_and_memories(made, memories)


def _turns_and_memories(made: PromptPlan, memories: Memories) -> Iterator[Piece]:
    seen, count = made.seen, made.seen.costs.count
    notes = {message.id: note for message, note in made.parts.turns}
    for unit, size in zip(seen.units, seen.notes, strict=True):
        for place, event in enumerate(unit.events):
            message, tokens = seen.costs.whole(event)
            what, name = f"{message.speaker}: {_few(message.text)}", handle(event.position, event.position)
            way = "whole, but for media behind handles" if event.position in seen.costs.handles else "whole"
            if message.id not in notes:
                way = "left out: no space"
            elif message.id in made.short:
                way = f"digested for {made.reader}" if made.reader else "shortened"
                way += f": {tokens:,} tokens, {seen.room:,} for all turns"
            yield Piece("turns", what, tokens, way, name, shown=message.id in notes)
            if place == 0 and unit.note and notes.get(message.id) == "":
                yield Piece("recalled", _few(unit.note), size, "left out: newer notes", shown=False)
    if seen.shown_note is not None and made.parts.note:
        tokens = count(memory_mark(seen.shown_note, seen.request.marks))
        yield Piece("recalled", _few(seen.shown_note), tokens, "as shown with the turn before")
    kept = {hit.record.id for hit in (*made.memories.hits, *made.memories.shared)}
    for hit in (*memories.hits, *memories.shared):
        record = hit.record
        space = "" if hit in memories.hits else f" from the space {record.scope.space}"
        what, name = f"{record.speaker}: {_few(record.text)}", handle(record.turn, record.turn)
        reason = f"recalled{space}: {hit.score:.2f}" if record.id in kept else "left out: beyond the share for memories"
        yield Piece("recalled", what, count(record.text), reason, name, shown=record.id in kept)
    for fact in made.memories.statements:
        name = handle(fact.positions[-1], fact.positions[-1])
        yield Piece("recalled", f"user: {_few(fact.text)}", count(fact.text), "said by the user", name)
    if seen.asked is None and seen.question is not None:
        yield Piece("question", _few(seen.words), count(seen.words), "whole")


def _few(text: str) -> str:
    return " ".join(text[:SHOWN_CHARS].split())
