"""What a prompt tells of itself: its sections, and for each part why it stands as it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hybrid_memory.config import CompactionConfig
from hybrid_memory.context.context import Context, Dropped, Piece
from hybrid_memory.context.layout import memory_mark
from hybrid_memory.context.plan import Plan
from hybrid_memory.context.view import View
from hybrid_memory.log.event import handle
from hybrid_memory.log.message import Message, Role
from hybrid_memory.recall.hit import Hit

SHOWN_CHARS = 60


def context_of(seen: View, plan: Plan, hits: Sequence[Hit], config: CompactionConfig) -> Context:
    """The prompt with everything that it says of itself; ``hits`` is all that was recalled for it."""
    parts = plan.parts
    sections = _sections(seen, plan)
    passing = seen.costs.count(parts.note) if seen.request.layout == "classic" else 0
    pressure = min((plan.tokens - passing) / seen.request.max_tokens, 1.0)
    pieces = tuple(_pieces(seen, plan, hits))
    return Context(
        messages=tuple(plan.laid),
        sections=sections,
        section_tokens={name: seen.costs.count(text) for name, text in sections.items()},
        tokens=plan.tokens,
        max_tokens=seen.request.max_tokens,
        dropped=tuple(Dropped(p.section, p.what, p.handle, p.tokens) for p in pieces if not p.shown),
        hits=tuple(plan.hits),
        note=parts.note,
        breakpoints=_breakpoints(plan.laid),
        pressure=pressure,
        under_pressure=pressure >= config.pressure,
        reader=plan.reader,
        preface=_preface(plan),
        plan=pieces,
    )


def _preface(plan: Plan) -> str:
    """What the last message has in front of the question's own words."""
    question = plan.parts.question
    said = [*(message for message, _ in plan.parts.turns), *([] if question is None else [question])]
    if not said or not plan.laid:
        return ""
    last, own = plan.laid[-1].text, said[-1].text
    return last[: len(last) - len(own)].rstrip() if last.endswith(own) else ""


def _sections(seen: View, plan: Plan) -> dict[str, str]:
    parts = plan.parts
    notes = [note for _, note in parts.turns]
    if seen.request.layout == "classic" or seen.asked is None:
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
    return {name: text for name, text in sections.items() if text}


def _breakpoints(laid: Sequence[Message]) -> tuple[int, ...]:
    """After the system message, and after all of it: the next prompt begins with these messages."""
    first = [0] if laid and laid[0].role is Role.SYSTEM else []
    return tuple(dict.fromkeys([*first, len(laid) - 1])) if laid else ()


def _pieces(seen: View, plan: Plan, hits: Sequence[Hit]) -> Iterator[Piece]:
    parts, count = plan.parts, seen.costs.count
    for section in ("identity", "instructions", "profile", "summary", "artifacts"):
        text = getattr(parts, section)
        if text:
            yield Piece(section, _few(text), count(text), _WHY[section])
        elif (lost := getattr(seen.parts, section)) != "":
            yield Piece(section, _few(lost), count(lost), "left out: no room", shown=False)
    for label, text in parts.blocks.items():
        yield Piece("blocks", label, count(text), "whole")
    if seen.tools:
        yield Piece("tools", "schemas of the tools", seen.tools, "whole")
    for line in seen.session.state.lines:
        if line.text not in parts.summary:
            yield Piece(
                "summary", line.text[:SHOWN_CHARS], count(line.text), "left out: others matter more", line.handle,
                shown=False,
            )  # fmt: skip
    yield from _turns(seen, plan)
    yield from _recalled(seen, plan, hits)


_WHY = {
    "identity": "whole",
    "instructions": "whole",
    "profile": "what is known of the user, within its share",
    "summary": "for older turns, within its share",
    "artifacts": "for older turns, within its share",
}


def _turns(seen: View, plan: Plan) -> Iterator[Piece]:
    standing = {message.id for message, _ in plan.parts.turns}
    notes = {message.id: note for message, note in plan.parts.turns}
    for unit in seen.units:
        for place, event in enumerate(unit.events):
            message, tokens = seen.costs.whole(event)
            what, name = f"{message.speaker}: {_few(message.text)}", handle(event.position, event.position)
            if message.id not in standing:
                yield Piece("turns", what, tokens, "left out: no room", name, shown=False)
            elif message.id in plan.short:
                way = f"digested for {plan.reader}" if plan.reader else "shortened"
                yield Piece("turns", what, tokens, f"{way}: {tokens:,} tokens, {seen.room:,} for all turns", name)
            else:
                yield Piece("turns", what, tokens, "whole", name)
            if place == 0 and unit.note and message.id in standing and not notes[message.id]:
                yield Piece("recalled", _few(unit.note), seen.note_tokens(unit), "left out: newer notes", shown=False)


def _recalled(seen: View, plan: Plan, hits: Sequence[Hit]) -> Iterator[Piece]:
    if seen.noted is not None and plan.parts.note:
        yield Piece(
            "recalled",
            _few(seen.noted),
            seen.costs.count(memory_mark(seen.noted, seen.request.marks)),
            "as with the turn before",
        )
    kept = {hit.record.id for hit in plan.hits}
    for hit in hits:
        record = hit.record
        what, name = f"{record.speaker}: {_few(record.text)}", handle(record.turn, record.turn)
        reason = f"recalled: {hit.score:.2f}" if record.id in kept else "left out: beyond the share for memories"
        yield Piece("recalled", what, seen.costs.count(record.text), reason, name, shown=record.id in kept)
    if seen.asked is None and seen.question is not None:
        yield Piece("question", _few(seen.words), seen.costs.count(seen.words), "whole")


def _few(text: str) -> str:
    """The first words of a text."""
    return " ".join(text[:SHOWN_CHARS].split())
