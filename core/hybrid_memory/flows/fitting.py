"""What of a session goes into one prompt, and what has to stay out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hybrid_memory.compression.inlining import inlined
from hybrid_memory.compression.ledger import render
from hybrid_memory.compression.lines import chosen
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.flows.session import Session
from hybrid_memory.flows.world import World
from hybrid_memory.text.asking import asking_share
from hybrid_memory.text.tokens import message_tokens, schema_tokens
from hybrid_memory.tiers.context import memory_note
from hybrid_memory.tiers.prompt import Parts, messages
from hybrid_memory.tiers.queue import Unit
from hybrid_memory.types import Context, Dropped, Hit, Message, Role, handle, written

if TYPE_CHECKING:
    from hybrid_memory.flows.assemble import Request

CHAT_RECALL = 0.1
"""Share of the room for recall that a turn gets which asks nothing: what it is shown stays in the prompt."""

FREE_RECALL = 0.6
"""Share of the room that is free for a question's recall, where that is more than the room set aside for it."""

INLINE_SHARE = 0.125
"""No message takes more of the budget than this share, unless it is the question."""

LEAST_INLINE = 40
PRIMING = 3
"""Tokens that open the model's answer, in OpenAI's guide to counting."""


@dataclass(frozen=True)
class View:
    """A session as this call sees it.

    Attributes:
        units: of the queue that a model may see; the question's is the last one if it is in the log already.
        question: the user's words that are to be answered; ``logged`` if they are the last turn of the queue.
        visible: ids of the events whose words the prompt shows anyway.
        noted: what was recalled for this question before; empty if nothing was.
        limit: tokens beyond which a message stands as a digest.
        texts: what stands in front of the turns, but the summary.
        tools: tokens of the tool schemas; ``fixed`` of all but the turns of the queue.
        shown: the messages of each unit as the prompt shows them; ``costs`` in tokens, with what was recalled for it.
    """

    session: Session
    units: tuple[Unit, ...]
    question: Message
    logged: bool
    visible: frozenset[str]
    noted: str
    limit: int
    texts: Parts
    tools: int
    fixed: int
    shown: tuple[tuple[Message, ...], ...]
    costs: tuple[int, ...]

    @property
    def unit_costs(self) -> list[int]:
        """Tokens of each unit of the queue that may be folded; 0 for those that a model never sees."""
        by_position = {unit.first: cost for unit, cost in zip(self.units, self.costs, strict=True)}
        return [by_position.get(unit.first, 0) for unit in self.session.queue.evictable]

    @property
    def question_text(self) -> str:
        """What to recall for."""
        return self.question.text.strip()

    @property
    def question_id(self) -> str | None:
        """Its event, if it is in the log."""
        return self.units[-1].events[0].id if self.logged else None


@dataclass(frozen=True)
class Fitted:
    """A prompt within its budget.

    Attributes:
        note: what was recalled for the question, as it is shown.
        wanted: tokens that the prompt would need with everything that was meant to be in it.
    """

    context: Context
    note: str
    wanted: int


def view(world: World, session: Session, request: Request) -> View:
    """What there is to show; raises `InvalidInputError` if nothing is asked."""
    units = session.queue.visible
    last = units[-1] if units and units[-1].opens else None
    if request.query is None and last is None:
        raise InvalidInputError("nothing to answer: give a query, or remember a turn of the user first")
    logged = last is not None and request.query in (None, last.messages[0].text)
    question = last.messages[0] if last is not None and logged else Message(content=request.query or "")
    limit = max(LEAST_INLINE, min(world.config.compaction.offload_tokens, int(INLINE_SHARE * request.max_tokens)))
    opening = [_plain(world, unit, request.max_tokens // 2) for unit in session.queue.instructions]
    texts = Parts(
        identity=request.identity,
        instructions="\n\n".join(part for part in (request.instructions, *opening) if part),
        blocks=request.blocks,
        profile=request.profile,
    )
    tools = schema_tokens(request.tools, world.count) if request.tools else 0
    before = with_summary(world, session, texts, int(world.config.compaction.summary_ratio * request.max_tokens))
    head = messages(replace(before, question=None if logged else question), request.layout)
    shown = tuple(_shown(world, unit, limit, asked=logged and unit is last) for unit in units)
    waiting = session.queue.waiting
    return View(
        session=session,
        units=units,
        question=question,
        logged=logged,
        visible=frozenset(source for unit in units for source in (*(e.id for e in unit.events), *unit.recalled)),
        noted=last.note if last is not None and logged else waiting.get(question.text.strip(), ""),
        limit=limit,
        texts=texts,
        tools=tools,
        fixed=_cost(world, head) + tools + PRIMING,
        shown=shown,
        costs=tuple(
            _cost(world, turn) + (world.count(unit.note) if unit.note else 0)
            for unit, turn in zip(units, shown, strict=True)
        ),
    )


def with_summary(world: World, session: Session, texts: Parts, room: int) -> Parts:
    """The parts with the summary and the artifacts, each in so many tokens at most."""
    state = session.state
    lines = chosen(state.lines, max_tokens=room, count=world.count)
    artifacts = render(state.ledger, max_tokens=room, count=world.count) if state.stretches and room else ""
    return replace(texts, summary=written(lines), artifacts=artifacts)


def _plain(world: World, unit: Unit, limit: int) -> str:
    message, position = unit.messages[0], unit.first
    return inlined(message, result_id=handle(position, position), max_tokens=limit, count=world.count).text


def _shown(world: World, unit: Unit, limit: int, *, asked: bool) -> tuple[Message, ...]:
    """The messages of a unit as a prompt shows them; the question may be longer, and keeps its media."""
    return tuple(
        _slim(world, message, handle(event.position, event.position), 4 * limit if asked else limit, asked=asked)
        for event, message in zip(unit.events, unit.messages, strict=True)
    )


def _slim(world: World, message: Message, name: str, limit: int, *, asked: bool) -> Message:
    cleaning = world.config.cleaning
    slim = inlined(message, result_id=name, max_tokens=limit, count=world.count, cleaning=cleaning)
    if asked and isinstance(message.content, list) and isinstance(slim.content, list):
        blocks = [
            new if isinstance(old.get("text"), str) else old
            for old, new in zip(message.content, slim.content, strict=True)
        ]
        return slim.model_copy(update={"content": blocks})
    return slim


def _turns(seen: View, shown: Sequence[Sequence[Message]]) -> list[tuple[Message, str]]:
    return [
        (message, unit.note if row == 0 else "")
        for unit, turn in zip(seen.units, shown, strict=True)
        for row, message in enumerate(turn)
    ]


def fit(world: World, seen: View, request: Request, hits: Sequence[Hit]) -> Fitted:
    """The prompt with everything that it was meant to have, or with as much of it as fits."""
    wanted = 0
    for parts, kept in _attempts(world, seen, request, hits):
        laid = messages(parts, request.layout)
        tokens = _cost(world, laid) + seen.tools + PRIMING
        wanted = wanted or tokens
        if tokens <= request.max_tokens:
            return Fitted(_context(world, seen, request, parts, laid, tokens, kept, hits), parts.note, wanted)
    raise InvalidInputError(
        f"max_tokens={request.max_tokens} is too little: identity, instructions, tools and the question alone need "
        f"{tokens}; put a long question into the log with remember() first, so that it can stand as a digest"
    )


def _attempts(world: World, seen: View, request: Request, hits: Sequence[Hit]) -> Iterator[tuple[Parts, list[Hit]]]:
    """Less and less: fewer recalled turns, a shorter summary, shorter messages, fewer turns."""
    config = world.config.compaction
    free = request.max_tokens - seen.fixed - sum(seen.costs)
    most = max(config.recall_ratio * request.max_tokens, FREE_RECALL * free)
    budget = int(most * max(CHAT_RECALL, asking_share(seen.question_text)))
    room = int(config.summary_ratio * request.max_tokens)
    turns = _turns(seen, seen.shown)
    kept = affordable(world, hits, budget)

    def parts(kept: Sequence[Hit], room: int, turns: Sequence[tuple[Message, str]]) -> Parts:
        return replace(
            with_summary(world, seen.session, seen.texts, room),
            turns=turns,
            note=seen.noted or memory_note(kept),
            question=None if seen.logged else seen.question,
        )

    yield parts(kept, room, turns), kept
    while kept:
        kept = kept[: len(kept) // 2]
        yield parts(kept, room, turns), kept
    yield parts([], room // 2, turns), []
    limit = seen.limit
    while limit > LEAST_INLINE:
        limit = max(LEAST_INLINE, limit // 2)
        shorter = [
            _shown(world, unit, limit, asked=seen.logged and unit is seen.units[-1]) for unit in seen.units
        ]
        turns = _turns(seen, shorter)
        yield parts([], room // 2, turns), []
    for fewer in _fewer(seen, turns):
        yield parts([], room // 2, fewer), []
    yield parts([], 0, []), []


def _fewer(seen: View, turns: Sequence[tuple[Message, str]]) -> Iterator[list[tuple[Message, str]]]:
    """Without the oldest units, one more each time; the first message left is always the user's."""
    sizes = [len(unit.events) for unit in seen.units]
    anchor = next((row for row in reversed(range(len(sizes))) if seen.units[row].opens), 0)
    start = 0
    for row, size in enumerate(sizes[:-1]):
        start += size
        rest = list(turns[start:])
        if row + 1 <= anchor:
            if seen.units[row + 1].opens:
                yield rest
        else:
            opening = sum(sizes[:anchor])
            yield [turns[opening], *rest]


def affordable(world: World, hits: Sequence[Hit], budget: int) -> list[Hit]:
    """The best hits whose note fits the budget."""
    kept: list[Hit] = []
    for hit in hits:
        if world.count(memory_note([*kept, hit])) <= budget:
            kept.append(hit)
    return kept


def _cost(world: World, laid: Sequence[Message]) -> int:
    return sum(message_tokens(message, world.count) for message in laid)


def _context(
    world: World,
    seen: View,
    request: Request,
    parts: Parts,
    laid: Sequence[Message],
    tokens: int,
    kept: Sequence[Hit],
    hits: Sequence[Hit],
) -> Context:
    sections = {
        "identity": parts.identity,
        "instructions": parts.instructions,
        "blocks": "\n".join(parts.blocks.values()),
        "profile": parts.profile,
        "summary": parts.summary,
        "artifacts": parts.artifacts,
        "turns": "\n".join(f"{message.role}: {message.text}" for message, _ in parts.turns),
        "recalled": "\n".join(note for note in (*(note for _, note in parts.turns), parts.note) if note),
        "question": seen.question_text,
    }
    sections = {name: text for name, text in sections.items() if text}
    lasting = tokens - (world.count(parts.note) if request.layout == "classic" else 0)
    pressure = min(lasting / request.max_tokens, 1.0)
    return Context(
        messages=tuple(laid),
        sections=sections,
        section_tokens={name: world.count(text) for name, text in sections.items()},
        tokens=tokens,
        max_tokens=request.max_tokens,
        dropped=tuple(_dropped(world, seen, parts, kept, hits)),
        hits=tuple(kept),
        breakpoints=_breakpoints(laid),
        pressure=pressure,
        under_pressure=pressure >= world.config.compaction.pressure,
    )


def _breakpoints(laid: Sequence[Message]) -> tuple[int, ...]:
    """After the system message, and after all of it: the next prompt begins with these messages."""
    first = [0] if laid and laid[0].role is Role.SYSTEM else []
    return tuple(dict.fromkeys([*first, len(laid) - 1]))


def _dropped(world: World, seen: View, parts: Parts, kept: Sequence[Hit], hits: Sequence[Hit]) -> Iterator[Dropped]:
    ids = {hit.record.id for hit in kept}
    for hit in hits:
        if hit.record.id not in ids and not seen.noted:
            what = f"{hit.record.speaker}: {hit.record.text[:60]}"
            yield Dropped("recalled", what, handle(hit.record.id, hit.record.id), world.count(hit.record.text))
    lines = {line for line in seen.session.state.lines if line.text not in parts.summary}
    for line in seen.session.state.lines:
        if line in lines:
            yield Dropped("summary", line.text[:60], line.handle, world.count(line.text))
    left_out = len(seen.units) and sum(len(unit.events) for unit in seen.units) - len(parts.turns)
    for unit in seen.units[: max(0, left_out)]:
        what = f"{unit.messages[0].speaker}: {unit.messages[0].text[:60]}"
        if not any(message.id == unit.messages[0].id for message, _ in parts.turns):
            yield Dropped("turns", what, handle(unit.first, unit.last), world.count(unit.messages[0].text))
