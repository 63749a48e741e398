"""A session as one call of assemble sees it: what a model may be shown, and what each part costs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from hybrid_memory.artifacts.ledger import render
from hybrid_memory.config import CompactionConfig
from hybrid_memory.context.layout import RECORD, Parts, PromptRequest, Voice, memory_mark
from hybrid_memory.context.lines import shown
from hybrid_memory.context.queue import Session, Unit, costs_of, hosted
from hybrid_memory.context.shortening import Costs, excerpt, faded
from hybrid_memory.context.summary import Line, written
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.facts.fact import Fact
from hybrid_memory.facts.sheet import Sheet, sheet, standing_text
from hybrid_memory.log.event import Event
from hybrid_memory.log.media import media_blocks
from hybrid_memory.log.message import INSTRUCTING, Message, Origin, Role
from hybrid_memory.log.port import LogState
from hybrid_memory.log.views import visible
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.view import View
from hybrid_memory.text.speakers import is_chinese, speaker_of
from hybrid_memory.text.tokenize import terms
from hybrid_memory.text.tokens import PRIMING, schema_tokens

PROFILE_RATIO = 0.25  # the share of the budget for what every prompt says about the user
LEAST_ROOM = 0.25  # the least share of ``max_tokens`` for the conversation, however much the caller's own parts take
LAST_ROUNDS = 4  # the number of recent rounds from which the size of the next is estimated

MOST_AHEAD = 0.2  # the most of the budget kept free for the next round; larger content is shortened once answered
OPENING_SHARE = 0.5  # opening instructions beyond this share of the budget are shortened
MOST_TOKENS = 128_000  # the largest default budget: long prompts are slow, expensive, and read less carefully
ANSWER_TOKENS = 8_000  # kept free for the answer if the model does not state its maximum
ANSWER_SHARE = 0.25  # the largest share of a window kept free for the answer

INLINE_SHARE = 0.125  # under pressure, the largest share of the budget for one message; for a user's `USERS` times it
USERS = 4
LEAST_INLINE = 40
RELIEF = 0.7  # the share of the available space that is filled after a relief
WORTH = 1.5  # a message is shortened if it exceeds its limit by this factor: less is not worth invalidating a cache
LATER_SHARE = 0.25  # the least share of the tokens for memories that a later question of a conversation has
LEAST_NOTE = 120  # and the least number of them, in a small budget: fewer hold a heading and no memory
LEFT_NOTES = 0.25  # the share of the memory budget that is filled after the oldest notes were dropped


@dataclass(frozen=True)
class PromptView:
    """A session as this call sees it.

    Attributes:
        units: the queue's units that a model may see.
        question: the user's turn to answer, as the prompt shows it if it is not in the log yet; None without a
            question.
        words: the question's original words, used for recall.
        asked: row of the unit with the question; None if it is not in the log yet.
        parts: the parts of the prompt except turns; profile, summary and artifacts cut to their shares.
        lines: the summary lines that may be shown.
        tools: tokens of the tool schemas, including the reader's.
        own: tokens of the caller's own parts: the system message and the tools.
        budget: tokens of the whole prompt: ``max_tokens``, or more if the caller's own parts leave too little.
        share: the base of the budget's shares: less than ``max_tokens`` if the caller's parts take most of it.
        sheet: the user's statements; None if a prompt shows none.
        standing: ids of those that stand before the conversation.
        left_out: ids of messages that the host shows no more.
    """

    session: Session
    costs: Costs
    config: CompactionConfig
    request: PromptRequest
    units: tuple[Unit, ...]
    question: Message | None
    words: str
    asked: int | None
    parts: Parts
    lines: tuple[Line, ...]
    tools: int
    own: int
    budget: int
    share: int
    sheet: Sheet | None = None
    standing: frozenset[int] = frozenset()
    left_out: frozenset[str] = frozenset()

    @cached_property
    def visible(self) -> frozenset[str]:
        """Ids of the events whose words the prompt shows anyway, and of those that are left out on purpose."""
        return self.left_out.union(*((*unit.ids, *unit.recalled) for unit in self.units))

    @cached_property
    def fixed(self) -> int:
        """Tokens of everything except the queue's turns."""
        head = [*self.parts.system, *([self.question] if self.asked is None and self.question else [])]
        standing = self.parts.standing
        return self.costs.of(head) + self.tools + PRIMING + (self.costs.count(standing) + 1 if standing else 0)

    @property
    def room(self) -> int:
        """Tokens for the turns and memories."""
        return self.budget - self.fixed

    @property
    def next_round(self) -> int:
        """Tokens that the next round may need: those of the largest recent one, including its memories."""
        rounds: list[int] = []
        for unit, tokens in zip(self.units, self.whole, strict=True):
            if unit.opens or not rounds:
                rounds.append(0)
            rounds[-1] += tokens
        return min(max(rounds[-LAST_ROUNDS:], default=0), int(MOST_AHEAD * self.budget))

    @cached_property
    def whole(self) -> list[int]:
        """Tokens of each unit in full, including its memories."""
        units = zip(self.units, self.notes, strict=True)
        return [note + sum(self.costs.whole(event)[1] for event in unit.events) for unit, note in units]

    @property
    def unit_costs(self) -> list[int]:
        """Tokens of each unit of the queue that may be compacted; 0 for those that a model never sees."""
        by_position = {unit.first: cost for unit, cost in zip(self.units, self.whole, strict=True)}
        return [by_position.get(unit.first, 0) for unit in self.session.queue.evictable]

    @cached_property
    def notes(self) -> list[int]:
        """Tokens of each unit's memories."""
        marks = self.request.marks
        return [self.costs.count(memory_mark(unit.note, marks)) + 1 if unit.note else 0 for unit in self.units]

    @property
    def question_id(self) -> str | None:
        """The id of the question's event, if it is in the log."""
        return None if self.asked is None else self.units[self.asked].events[0].id

    @property
    def shown_note(self) -> str | None:
        """The memories shown with this question before, possibly none; None if it was not asked before."""
        if self.asked is None:
            return self.session.queue.waiting.get(self.words)
        return self.units[self.asked].note

    def with_summary(self, share: float) -> Parts:
        """The parts, with summary and artifacts cut to this fraction of their share."""
        if share == 0:
            return replace(self.parts, summary="", artifacts="", profile="")
        count, summary = self.costs.count, self.session.state.summary
        if not summary:
            return self.parts
        space = int(share * self.config.artifact_ratio * self.share)
        artifacts = render(summary.artifacts, max_tokens=space, count=count)
        most, spare = int(share * self.config.summary_ratio * self.share), space - count(artifacts)
        lines = shown(self.lines, max_tokens=most, spare=spare, count=count)
        chinese = is_chinese("".join(line.text for line in lines))
        text = written(lines, chinese=chinese, handles=bool(self.costs.reader))
        return replace(self.parts, summary=text, artifacts=artifacts)


async def look(
    run: Runner, services: View, session: Session, request: PromptRequest, state: LogState | None = None
) -> PromptView:
    """The session as its host shows it, with the profile of the user; for ``state`` see `sheet`."""
    rows, kept, left_out = None, list[Fact](), frozenset[str]()
    lines, most = session.state.summary.lines, request.marks.memory_tokens
    if most and request.profile is None:
        rows = await sheet(run, services, session.scope, state)
        # What this session said stands in the prompt itself, until it is compacted.
        own, cursor = session.scope.session, session.state.cursor
        earlier = [fact for fact in rows.always if own is None or fact.session != own or max(fact.positions) <= cursor]
        said = [unit.messages[0].text for unit in session.queue.visible if unit.opens]
        said += [*filter(None, [request.query]), *(line.text for line in lines)]
        room = min(most, int(PROFILE_RATIO * request.max_tokens))
        text, kept = await run.call(standing_text, earlier, said, room, services.count)
        request = replace(request, profile=text)
    if request.host.among is not None:
        ids, every = frozenset(request.host.among), session.queue.units
        session, start = await hosted(run, services, session, ids, request.host.began)
        lines = tuple(line for line in lines if line.first < start or not ids.isdisjoint(line.sources))
        # What is left out on purpose does not come back as a memory.
        left_out = left_out.union(*(unit.ids for unit in every)).difference(*(unit.ids for unit in session.queue.units))
    lines = tuple(line for line in lines if visible(line.last, services.hidden))
    seen = view(session, costs_of(services), services.config.compaction, request, lines)
    return replace(seen, sheet=rows, standing=frozenset(fact.id for fact in kept), left_out=left_out)


def view(
    session: Session, costs: Costs, config: CompactionConfig, request: PromptRequest, lines: Sequence[Line]
) -> PromptView:
    """The session's view for this call; raises `InvalidInputError` if there is no question.

    The session holds the messages that the host shows, and the request the profile; ``lines`` are those that may be
    shown.
    """
    units, query = session.queue.visible, request.query
    # The question is the user's last turn, unless it is another one, or that was answered already.
    asked = next((row for row in reversed(range(len(units))) if units[row].opens), None)
    if asked is not None and query is not None:
        answered = any(not unit.messages[0].tool_calls for unit in units[asked + 1 :])
        asked = asked if units[asked].messages[0].text == query and not answered else None
    if query is None and asked is None and request.paging is None:
        raise InvalidInputError("there is no question: give a query, or remember a user turn first")
    question = None if asked is None else units[asked].messages[0]
    words = query or "" if question is None else question.text
    if words and question is None:  # as it will appear once it is remembered: under the user's previous name
        name = next((unit.messages[0].name for unit in reversed(units) if unit.opens), None)
        question = Message(content=words, name=name)
    reader = "" if request.reader is None else request.reader.name
    events = [event for unit in units for event in unit.events]
    # Without a tool that shows it again, what a user sent would be lost.
    asking, said = asked is None and query is not None, [event.message for event in events]
    lines_of = faded(said, request.marks.media_turns, asking=asking, users=bool(reader))
    handles = {events[number].position: blocks for number, blocks in lines_of.items()}
    costs = replace(costs, handles=handles, reader=reader)

    parts = _own_parts(session, costs, request, reader if lines else "")
    tools = schema_tokens(request.tools, costs.count) if request.tools else 0
    if request.reader is not None and request.reader.schema:
        tools += schema_tokens([request.reader.schema], costs.count)
    own = costs.of(parts.system) + costs.count(parts.spoken) + tools + PRIMING
    budget = max(request.max_tokens, own + int(LEAST_ROOM * request.max_tokens))
    share = min(request.max_tokens, 2 * max(budget - own, 0))
    made = PromptView(
        session=session, costs=costs, config=config, request=request, units=units, question=question,
        words=words.strip(), asked=asked, parts=parts, lines=tuple(lines), tools=tools,
        own=own, budget=budget, share=share,
    )  # fmt: skip
    return replace(made, parts=made.with_summary(1.0))


def _own_parts(session: Session, costs: Costs, request: PromptRequest, reader: str) -> Parts:
    """The parts that stand in every prompt, without the summary."""
    instructions, others = [request.instructions], [*request.rules]
    for unit in session.queue.instructions:
        event, text = unit.events[0], unit.messages[0].text
        limit = int(OPENING_SHARE * request.max_tokens)
        if costs.count(text) > limit:
            text = excerpt(text, limit, words=terms(request.query or ""), count=costs.count)
        if event.origin is Origin.OPERATOR:
            instructions.append(text)
        else:
            others.append(Voice(RECORD, text, speaker_of(event)))
    blocks = dict(request.blocks or {})
    for label, writer in request.writers.items():
        if writer not in INSTRUCTING:
            others.append(Voice(label, blocks.pop(label), writer.value))
    return Parts(
        identity=request.identity,
        instructions="\n\n".join(filter(None, instructions)),
        blocks=blocks,
        others=tuple(others),
        profile=request.profile or "",
        marks=request.marks,
        assistant_first=request.host.assistant_first,
        reader=reader,
    )


def budget_of(window: int, answer: int | None = None) -> int:
    """The prompt budget for a model with this window for prompt and answer; ``answer`` is its longest, if known."""
    room = min(answer or ANSWER_TOKENS, int(ANSWER_SHARE * window))
    return min(window - room, MOST_TOKENS)


# Turns that no longer fit are shortened in order, starting with what is old and large, so that a longer conversation
# is shortened at the same places as a shorter one: in between, a prompt only grows at its end, and a provider's cache
# keeps working. Each relief frees more space than is needed at once.


class Long(NamedTuple):
    """A message that may be shortened, and the question of its round."""

    event: Event
    tokens: int
    limit: int
    question: str


class Relief(NamedTuple):
    """What makes space: the messages to shorten, by position, and the positions of turns without their notes."""

    short: dict[int, Long]
    bare: set[int]


def relieved(seen: PromptView, note: int) -> Relief:
    """What gives way so that the turns fit, as far as answered messages can be shortened.

    ``note`` are the tokens of the memories recalled for the question now.
    """
    relief, most = Relief({}, set()), seen.config.recall_ratio * seen.share
    notes = [note if note and row == seen.asked else before for row, before in enumerate(seen.notes)]
    words = [whole - before for whole, before in zip(seen.whole, seen.notes, strict=True)]
    late = note if seen.asked is None else 0  # of a question that comes after all turns
    if sum(words) + sum(notes) + late <= seen.room and sum(notes) + late <= most:
        return relief  # what fits at the end fitted all the way
    steps = zip([unit.first for unit in seen.units], notes, words, _answered(seen), strict=True)
    ready: deque[Long] = deque()
    shown: deque[tuple[int, int]] = deque()
    tokens = noted = 0
    for position, own, size, longs in [*steps, (0, late, 0, [])]:
        tokens, noted = tokens + own + size, noted + own
        ready += longs
        if own:
            shown.append((position, own))
        target = LEFT_NOTES * most if noted > most else noted
        while len(shown) > 1 and noted > target:
            place, freed = shown.popleft()
            relief.bare.add(place)
            tokens, noted = tokens - freed, noted - freed
        target = RELIEF * seen.room if tokens > seen.room else tokens
        while ready and tokens > target:
            long = ready.popleft()
            relief.short[long.event.position] = long
            short = seen.costs.short(long.event, long.limit, long.question, fresh=False)[1]
            tokens -= max(long.tokens - short, 0)
    return relief


def _answered(seen: PromptView) -> Iterator[list[Long]]:
    """For each unit, the long messages that it answers."""
    most = max(LEAST_INLINE, min(seen.config.offload_tokens, int(INLINE_SHARE * seen.request.max_tokens)))
    fresh: list[Long] = []
    question = ""
    for unit in seen.units:
        question = unit.messages[0].text if unit.opens else question
        answers = unit.role is Role.ASSISTANT
        # While the model calls tools, the user's turn is still unanswered.
        calls = bool(unit.messages[0].tool_calls)
        waiting = [long for long in fresh if not answers or (calls and long.event.message.role is Role.USER)]
        yield [long for long in fresh if long not in waiting]
        fresh = waiting
        for event in unit.events:
            message, tokens = seen.costs.whole(event)
            limit = USERS * most if message.role is Role.USER else most
            if tokens > WORTH * limit or media_blocks(message.content):
                fresh.append(Long(event, tokens, limit, question))


def note_room(seen: PromptView) -> int:
    """Tokens for memories recalled now: what the sheet and earlier notes leave of their space, and at least a part.

    Earlier notes are dropped only where the prompt has no space for them, as that changes it before the question.
    """
    bare = relieved(seen, 0).bare
    most = min(seen.request.marks.memory_tokens, int(seen.config.recall_ratio * seen.share))
    before = sum(note for unit, note in zip(seen.units, seen.notes, strict=True) if unit.first not in bare)
    least = max(int(LATER_SHARE * most), min(LEAST_NOTE, most))
    return max(most - seen.costs.count(seen.parts.profile) - before, least)
