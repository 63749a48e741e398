"""A prompt, ready to be sent: its sections, what did not fit, and the reason for how each part is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hybrid_memory import display
from hybrid_memory.context.layout import memory_mark
from hybrid_memory.context.memories import Memories
from hybrid_memory.context.plan import PromptPlan
from hybrid_memory.log.event import handle
from hybrid_memory.log.message import Message, Role
from hybrid_memory.recall.hit import Hit

_OWN, _KEPT, _FOUND = "the caller's own", "L1: kept in the context", "L2: found or learned"

_SECTIONS = {
    "identity": (display.PLAIN, _OWN),
    "instructions": (display.PLAIN, _OWN),
    "blocks": ("213,94,0", _KEPT),
    "profile": (display.SEMANTIC, _FOUND),
    "summary": (display.EPISODIC, _KEPT),
    "artifacts": ("204,121,167", _KEPT),
    "turns": ("86,180,233", _KEPT),
    "recalled": ("240,228,66", _FOUND),
    "question": (display.CONTEXT, _KEPT),
}
"""The hue of each in a bar, and where it comes from, as colours are not told apart by everybody."""

SHOWN_CHARS = 60

_WHY = {
    "identity": "whole",
    "instructions": "whole",
    "profile": "what is known of the user, within its share",
    "summary": "for older turns, within its share",
    "artifacts": "for older turns, within its share",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a prompt, or one that was left out, and why.

    Attributes:
        section: the section it belongs to.
        what: a short description.
        tokens: its size.
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
        max_tokens: the budget.
        section_tokens: the size of each section.
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
            content: str | list[dict[str, Any]] = message.content
            if cache_control and row in self.breakpoints and content:
                plain: list[dict[str, Any]] = (
                    [{"type": "text", "text": content}] if isinstance(content, str) else content
                )
                content = [*plain[:-1], {**plain[-1], "cache_control": {"type": "ephemeral"}}]
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
        sections = [
            display.Part(name, tokens / self.max_tokens, _SECTIONS[name][0], f"{tokens:,}")
            for name, tokens in self.section_tokens.items()
        ]
        parts = "".join(
            display.details(
                f"{display.text(name)} <small>{self.section_tokens.get(name, 0):,} tokens</small>",
                display.under(_SECTIONS[name][0], display.text(words), _SECTIONS[name][1]),
            )
            for name, words in self.sections.items()
        )
        plan = display.table(
            ("part", "what", "tokens", "why"),
            [
                (
                    display.text(piece.section),
                    f"{piece.handle} {display.text(piece.what)}".strip(),
                    f"{piece.tokens:,}",
                    display.text(piece.reason),
                )
                for piece in self.plan
            ],
        )
        lost = f", {len(self.dropped):,} left out" if self.dropped else ""
        return display.card(
            f"{self.tokens:,} of {self.max_tokens:,} tokens",
            f"<div>{display.bar(sections, width='40em')}</div><small>{display.legend(sections)}</small>"
            + parts
            + (display.details(f"plan: {display.counted(len(self.plan), 'part')}{lost}", plan) if self.plan else "")
            + (f"<small>compacted: {display.text(self.compacted)}</small>" if self.compacted else ""),
        )


def context_of(plan: PromptPlan, memories: Memories) -> Context:
    """The prompt with all its metadata; ``memories`` is everything recalled for it."""
    seen, parts = plan.seen, plan.parts
    notes = [note for _, note in parts.turns]
    if seen.request.layout == "classic" or seen.asked is None:
        notes.append(parts.note)
    sections = {
        "identity": parts.identity,
        "instructions": parts.instructions,
        "blocks": "\n".join([*parts.blocks.values(), *(voice.text for voice in parts.others)]),
        "profile": parts.profile,
        "summary": parts.summary,
        "artifacts": parts.artifacts,
        "turns": "\n".join(f"{message.role}: {message.text}" for message, _ in parts.turns),
        "recalled": "\n".join(filter(None, notes)),
        "question": seen.words,
    }
    sections = {name: text for name, text in sections.items() if text}
    passing = seen.costs.count(parts.note) if seen.request.layout == "classic" else 0
    pressure = min((plan.tokens - passing) / seen.request.max_tokens, 1.0)
    pieces = tuple(_pieces(plan, memories))
    laid = tuple(plan.laid)
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
        tokens=plan.tokens,
        max_tokens=seen.request.max_tokens,
        dropped=tuple(piece for piece in pieces if not piece.shown),
        hits=(*plan.memories.hits, *plan.memories.shared),
        note=parts.note,
        breakpoints=tuple(sorted(breakpoints)),
        pressure=pressure,
        under_pressure=pressure >= seen.config.pressure,
        reader=plan.reader,
        standing=parts.standing,
        preface=preface,
        plan=pieces,
    )


def _pieces(plan: PromptPlan, memories: Memories) -> Iterator[Piece]:
    seen, parts, count = plan.seen, plan.parts, plan.seen.costs.count
    for section in ("identity", "instructions", "profile", "summary", "artifacts"):
        text = getattr(parts, section)
        if text:
            yield Piece(section, _few(text), count(text), _WHY[section])
        elif (lost := getattr(seen.parts, section)) != "":
            yield Piece(section, _few(lost), count(lost), "left out: no space", shown=False)
    for label, text in parts.blocks.items():
        yield Piece("blocks", label, count(text), "whole")
    for voice in parts.others:
        yield Piece("blocks", voice.mark, count(voice.text), f"whole, before the conversation: from {voice.origin}")
    if seen.tools:
        yield Piece("tools", "schemas of the tools", seen.tools, "whole")
    for line in seen.session.state.lines:
        if line.text not in parts.summary:
            yield Piece(
                "summary", line.text[:SHOWN_CHARS], count(line.text), "left out: less important than others",
                line.handle, shown=False,
            )  # fmt: skip
    yield from _turns(plan)
    yield from _recalled(plan, memories)


def _turns(plan: PromptPlan) -> Iterator[Piece]:
    seen = plan.seen
    notes = {message.id: note for message, note in plan.parts.turns}
    for unit, note in zip(seen.units, seen.notes, strict=True):
        for place, event in enumerate(unit.events):
            message, tokens = seen.costs.whole(event)
            what, name = f"{message.speaker}: {_few(message.text)}", handle(event.position, event.position)
            if message.id not in notes:
                yield Piece("turns", what, tokens, "left out: no space", name, shown=False)
            elif message.id in plan.short:
                way = f"digested for {plan.reader}" if plan.reader else "shortened"
                yield Piece("turns", what, tokens, f"{way}: {tokens:,} tokens, {seen.room:,} for all turns", name)
            else:
                way = "whole, but for media behind handles" if event.position in seen.costs.handles else "whole"
                yield Piece("turns", what, tokens, way, name)
            if place == 0 and unit.note and notes.get(message.id) == "":
                yield Piece("recalled", _few(unit.note), note, "left out: newer notes", shown=False)


def _recalled(plan: PromptPlan, memories: Memories) -> Iterator[Piece]:
    seen = plan.seen
    if seen.shown_note is not None and plan.parts.note:
        yield Piece(
            "recalled",
            _few(seen.shown_note),
            seen.costs.count(memory_mark(seen.shown_note, seen.request.marks)),
            "as shown with the turn before",
        )
    kept = {hit.record.id for hit in (*plan.memories.hits, *plan.memories.shared)}
    for hit in (*memories.hits, *memories.shared):
        record = hit.record
        place = "" if hit in memories.hits else f" from the space {record.scope.space}"
        what, name = f"{record.speaker}: {_few(record.text)}", handle(record.turn, record.turn)
        reason = f"recalled{place}: {hit.score:.2f}" if record.id in kept else "left out: beyond the share for memories"
        yield Piece("recalled", what, seen.costs.count(record.text), reason, name, shown=record.id in kept)
    for fact in plan.memories.statements:
        name = handle(fact.positions[-1], fact.positions[-1])
        yield Piece("recalled", f"user: {_few(fact.text)}", seen.costs.count(fact.text), "said by the user", name)
    if seen.asked is None and seen.question is not None:
        yield Piece("question", _few(seen.words), seen.costs.count(seen.words), "whole")


def _few(text: str) -> str:
    return " ".join(text[:SHOWN_CHARS].split())
