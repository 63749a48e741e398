"""A session as one call of assemble sees it: what a model may be shown, and what each part costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hybrid_memory.compression.ledger import render
from hybrid_memory.compression.offload.inlining import inlined
from hybrid_memory.compression.summaries.lines import shown
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.flows.prompting import Request
from hybrid_memory.flows.session import Session
from hybrid_memory.flows.world import World
from hybrid_memory.text.cleaning import clean
from hybrid_memory.text.tokens import message_tokens, schema_tokens
from hybrid_memory.tiers.prompt import Parts, as_event, messages
from hybrid_memory.tiers.queue import Unit
from hybrid_memory.types import Event, Message, Role, handle, written

INLINE_SHARE = 0.125
"""No message takes more of the budget than this share, unless the user wrote it: then `USERS` times that."""

USERS = 4
LEAST_INLINE = 40
PRIMING = 3
"""Tokens that open the model's answer, in OpenAI's guide to counting."""


@dataclass(frozen=True)
class View:
    """A session as this call sees it.

    Attributes:
        units: of the queue that a model may see.
        question: the user's turn that is to be answered, as the prompt shows it if it is not in the log yet; None where
            nobody asks.
        words: of the question as they were said; what to recall for.
        asked: row of the unit that holds them; None if they are not in the log yet.
        visible: ids of the events whose words the prompt shows anyway.
        limit: tokens beyond which a message stands as a digest.
        texts: what stands in front of the turns, but the summary.
        tools: tokens of the tool schemas; ``fixed`` of all but the turns of the queue.
        shown: the messages of each unit as the prompt shows them; ``costs`` in tokens, with what was recalled for it.
    """

    session: Session
    units: tuple[Unit, ...]
    question: Message | None
    words: str
    asked: int | None
    visible: frozenset[str]
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
    def question_id(self) -> str | None:
        """Its event, if it is in the log."""
        return None if self.asked is None else self.units[self.asked].events[0].id

    @property
    def noted(self) -> str | None:
        """What was shown with this question before, perhaps nothing; None if it was not asked before."""
        if self.asked is None:
            return self.session.queue.waiting.get(self.words)
        return self.units[self.asked].note


def view(world: World, session: Session, request: Request) -> View:
    """What there is to show; raises `InvalidInputError` if nothing is asked."""
    units = session.queue.visible
    asked = _asked(units, request.query)
    if request.query is None and asked is None and request.paging is None:
        raise InvalidInputError("nothing to answer: give a query, or remember a turn of the user first")
    words = request.query or "" if asked is None else units[asked].messages[0].text
    unsaid = _unsaid(world, units, words) if words and asked is None else None
    question = unsaid if asked is None else units[asked].messages[0]
    limit = max(LEAST_INLINE, min(world.config.compaction.offload_tokens, int(INLINE_SHARE * request.max_tokens)))
    opening = [_plain(world, unit, request.max_tokens // 2) for unit in session.queue.instructions]
    texts = Parts(
        identity=request.identity,
        instructions="\n\n".join(part for part in (request.instructions, *opening) if part),
        blocks=request.blocks,
        profile=request.profile or "",
    )
    tools = schema_tokens(request.tools, world.count) if request.tools else 0
    before = with_summary(world, session, texts, request.max_tokens)
    head = messages(replace(before, question=unsaid), request.layout)
    pairs = [as_shown(world, unit, limit, asked=row == asked) for row, unit in enumerate(units)]
    return View(
        session=session,
        units=units,
        question=question,
        words=words.strip(),
        asked=asked,
        visible=frozenset(source for unit in units for source in (*(e.id for e in unit.events), *unit.recalled)),
        limit=limit,
        texts=texts,
        tools=tools,
        fixed=cost(world, head) + tools + PRIMING,
        shown=tuple(tuple(message for message, _ in turn) for turn in pairs),
        costs=tuple(
            sum(tokens for _, tokens in turn) + (world.count(unit.note) if unit.note else 0)
            for unit, turn in zip(units, pairs, strict=True)
        ),
    )


def _unsaid(world: World, units: Sequence[Unit], words: str) -> Message:
    """The question as it will stand once it is remembered: cleaned, under the name that the user had before."""
    name = next((unit.messages[0].name for unit in reversed(units) if unit.opens), None)
    return Message(content=clean(words, world.config.cleaning), name=name)


def _asked(units: Sequence[Unit], query: str | None) -> int | None:
    """The unit with the question: the last turn of the user, unless it is another one or was answered already."""
    row = next((row for row in reversed(range(len(units))) if units[row].opens), None)
    if row is None or query is None:
        return row
    answered = any(not unit.messages[0].tool_calls for unit in units[row + 1 :])
    return row if units[row].messages[0].text == query and not answered else None


def with_summary(world: World, session: Session, texts: Parts, max_tokens: int, share: float = 1.0) -> Parts:
    """The parts with the summary and the artifacts, each in this share of its room in the budget."""
    state, config = session.state, world.config.compaction
    room = int(share * config.summary_ratio * max_tokens)
    lines = shown(state.lines, max_tokens=room, count=world.count)
    space = int(share * config.artifact_ratio * max_tokens)
    artifacts = render(state.ledger, max_tokens=space, count=world.count) if state.stretches else ""
    return replace(texts, summary=written(lines), artifacts=artifacts)


def _plain(world: World, unit: Unit, limit: int) -> str:
    message, position = unit.messages[0], unit.first
    return inlined(message, result_id=handle(position, position), max_tokens=limit, count=world.count).text


def as_shown(world: World, unit: Unit, limit: int, *, asked: bool) -> tuple[tuple[Message, int], ...]:
    """The messages of a unit as a prompt shows them, each with its tokens.

    The user's may be longer, and the question keeps its media.
    """
    return tuple(
        _remembered(world, event, message, limit, asked=asked)
        for event, message in zip(unit.events, unit.messages, strict=True)
    )


def _remembered(world: World, event: Event, message: Message, limit: int, *, asked: bool) -> tuple[Message, int]:
    key = (event.position, limit, asked)
    found = world.shown.get(key)
    if found is None:
        slim = _slim(world, message, handle(event.position, event.position), limit, asked=asked)
        found = slim, message_tokens(slim, world.count)
        world.shown.put(key, found)
    return found


def _slim(world: World, message: Message, name: str, limit: int, *, asked: bool) -> Message:
    cleaning = world.config.cleaning
    size = USERS * limit if message.role is Role.USER else limit
    slim = inlined(message, result_id=name, max_tokens=size, count=world.count, cleaning=cleaning)
    if message.role is Role.SYSTEM:
        return slim.model_copy(update={"role": Role.USER, "content": as_event(slim.text).content})
    if asked and isinstance(message.content, list) and isinstance(slim.content, list):
        blocks = [
            new if isinstance(old.get("text"), str) else old
            for old, new in zip(message.content, slim.content, strict=True)
        ]
        return slim.model_copy(update={"content": blocks})
    return slim


def cost(world: World, laid: Sequence[Message]) -> int:
    """Tokens of these messages."""
    return sum(message_tokens(message, world.count) for message in laid)
