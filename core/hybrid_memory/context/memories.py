"""Memories for a prompt: the user's sentences nearest to the question, the best turns, and the note that shows them.

And what the admins of shared spaces ask of everyone who uses them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from itertools import dropwhile, islice
from typing import Literal, Self

import numpy as np

from hybrid_memory.config import PromptConfig
from hybrid_memory.context.layout import (
    MEMORY_HEADINGS,
    RULE_HEADINGS,
    SAID_HEADINGS,
    SPACE_HEADINGS,
    UNSURE,
    Voice,
    payload_of,
    prompt_language,
)
from hybrid_memory.context.view import PromptView, note_room, relieved
from hybrid_memory.errors import ModelError
from hybrid_memory.facts.fact import Fact
from hybrid_memory.facts.sheet import Sheet, by_day, line_tokens, spoken_words
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.log.event import Event, EventKind, principal_of
from hybrid_memory.log.exchanges import exchanges
from hybrid_memory.log.message import INSTRUCTING, Message, Origin, Role
from hybrid_memory.log.views import MAX_POSITION
from hybrid_memory.recall.gather import query_vector
from hybrid_memory.recall.hit import Hit
from hybrid_memory.recall.plan import Request as RecallRequest
from hybrid_memory.recall.recall import asks, finds, recall
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tracing import traced
from hybrid_memory.scope import Scope
from hybrid_memory.store.indexing import embedding
from hybrid_memory.store.projection import FoldedProjection
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import at_positions, in_view
from hybrid_memory.text.asking import SHORT_CHARS, asking_share, asks_nothing, emptiness, is_memory, tells
from hybrid_memory.text.sentences import excerpt
from hybrid_memory.text.speakers import speaker, within_line
from hybrid_memory.text.tokenize import terms
from hybrid_memory.text.tokens import TokenCounter

IN_SIGHT = 100  # the most extra hits to recall for those that are in the prompt anyway
SPARE = 4  # how many times as many hits to look at, as some say nothing
COMPARED = 100  # how many turns are compared with the question, to find the statements near them

MEMORY_CHARS, OTHERS_CHARS = 200, 800
"""Longer turns, of the user and of others, are shown as excerpts; the log has the rest."""

SURE = 0.2  # if no recalled turn has this confidence, their heading says that they may not answer the question
RESULT_WORDS = 3  # a tool's result of fewer terms says nothing by itself
STEPS = ("Thought:", "Action:", "Observation:")  # how the steps of an agent that reasons in text begin

IDLE = 0.1
"""From this probability on a short text is small talk.

Of 478 short questions and tasks, of lives, LoCoMo, LongMemEval, REALTALK and MemoryBank, none came above .06.
"""

QUESTION_CHARS = 200  # of a longer question before its answer an excerpt is shown
LATEST = 16  # among how many of the newest turns the question may be
TURNS_SHARE = 0.6  # the most of the space for the best turn and likely ones of others, before the user's statements

LIKELY = 0.4  # the least confidence of these others, so that lines are evidence; what the statements leave goes to any

ANSWERS = 0.5
"""The least confidence of a turn of the user's that states nothing, to be shown before one that does.

Such turns are requests, or hand over letters and chats of others. With their place by confidence alone twelve lives
lose one of 120 tasks in half the tokens, and eight more one of 144 questions.
"""

RANKS = 60.0  # a place in a ranking counts ``1 / (RANKS + place)``: the first places most, as in the source below
LEAST_STATEMENT = 12  # with fewer tokens left no further statement is tried


def window(history: Sequence[Message], limit: int) -> list[Message]:
    """The last messages, at most ``limit``, that a chat model accepts as a conversation.

    The first is the user's. An assistant message with tool calls and their results, one each, stay together, even with
    other messages in between: if the cut separates them, or a result is missing, they are left out, like a result
    without a call or a second one for its call. A last turn longer than the limit, such as a question with many rounds
    of tools, is kept whole.
    """
    if limit <= 0:
        return []
    latest = max((row for row, message in enumerate(history) if message.role is Role.USER), default=0)
    newest = history[min(latest, max(0, len(history) - limit)) :]
    kept = [newest[row] for exchange in exchanges(newest) if exchange.complete for row in exchange.rows]
    return list(dropwhile(lambda message: message.role is not Role.USER, kept))


@dataclass(frozen=True, slots=True)
class Memories:
    """What a prompt shows beside the question.

    Attributes:
        hits: recalled turns, best first.
        statements: the user's own sentences, nearest to the question first.
        unsure: whether no recalled turn is likely to answer the question.
        shared: turns recalled from shared spaces, best first.
        idle: positions of the user's turns that state nothing and are not likely to answer; they come last.
    """

    hits: tuple[Hit, ...] = ()
    statements: tuple[Fact, ...] = ()
    unsure: bool = False
    shared: tuple[Hit, ...] = ()
    idle: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.hits or self.statements or self.shared)

    @property
    def sources(self) -> tuple[str, ...]:
        """The ids of the owner's messages behind them."""
        every = [*(hit.sources for hit in self.hits), *((*fact.sources, fact.asked) for fact in self.statements)]
        return tuple(dict.fromkeys(source for sources in every for source in sources if source))

    def half(self) -> Memories:
        """The better half of each."""
        hits, statements = self.hits[: len(self.hits) // 2], self.statements[: len(self.statements) // 2]
        return replace(self, hits=hits, statements=statements, shared=self.shared[: len(self.shared) // 2])

    def less(self) -> Memories:
        """Without the last turn, of a space first; without turns, without the last statement."""
        name = "shared" if self.shared else "hits" if self.hits else "statements"
        return replace(self, **{name: getattr(self, name)[:-1]})


def memory_note(memories: Memories, query: str = "") -> str:
    """The user's sentences by day, then recalled turns, oldest first, under a heading in the language of the query.

    A question with its own line is not repeated with its answer. Empty without either.
    """
    turns, sentences = _turn_lines(memories.hits, query), by_day(memories.statements)
    if not turns and not sentences:
        return ""
    language = prompt_language(query or "".join([*sentences, *turns]))
    heading = MEMORY_HEADINGS[language] + (UNSURE[language] if memories.unsure and turns else "")
    introduced = [SAID_HEADINGS[language], *sentences] if sentences else []
    return "\n".join([heading, *introduced, *turns])


def shared_note(hits: Sequence[Hit], query: str) -> str:
    """The turns of shared spaces, oldest first, under a heading for each space; each line names who said it."""
    lines: list[str] = []
    for space in sorted({hit.record.scope.space or "" for hit in hits}):
        turns = _turn_lines([hit for hit in hits if hit.record.scope.space == space], query)
        lines += [SPACE_HEADINGS[prompt_language(query or "".join(turns))].format(space=repr(space)), *turns]
    return "\n".join(lines)


def _turn_lines(hits: Sequence[Hit], query: str) -> list[str]:
    """Oldest first, and no question with its answer that has its own line."""
    ids, words = {source for hit in hits for source in hit.record.sources}, frozenset(terms(query))
    return [memory_line(hit, words) for hit in sorted(without_questions(hits, ids), key=lambda hit: hit.record.id)]


def memory_line(hit: Hit, words: frozenset[str]) -> str:
    """The entry of a hit in a note: date, speaker and words; of a long turn, the part with these words.

    The question that it answers comes first, with its speaker.
    """
    record = hit.record
    own = record.origin in INSTRUCTING  # the user's sentences are shown anyway
    text = excerpt(record.text, words, MEMORY_CHARS if own else OTHERS_CHARS)
    # What was read from a turn names its subject itself.
    line = text if record.kind is RecordKind.FACT else f"{_speaker(record)}: {text}"
    return f"- [{record.at:%Y-%m-%d}] {within_line(question_line(hit, words) + line)}"


def question_line(hit: Hit, words: frozenset[str]) -> str:
    """The question that a hit answers, on one line with its speaker; empty without one."""
    if hit.asked is None:
        return ""
    return f"{_speaker(hit.asked)}: {' '.join(excerpt(hit.asked.text, words, QUESTION_CHARS).split())} -> "


def without_questions(hits: Iterable[Hit], shown: Collection[str]) -> list[Hit]:
    """The hits without questions that are shown anyway; ``shown`` are ids of messages."""
    return [hit if hit.asked is None or hit.asked.sources[0] not in shown else replace(hit, asked=None) for hit in hits]


def _speaker(record: Record) -> str:
    """Who said it; in a shared space the member who wrote it, whatever they call themselves or quote."""
    if record.scope.space is None or not record.author:
        return speaker(record.origin, record.speaker, record.text)
    return author_name(record.author, record.speaker)


def author_name(author: str, name: str = "") -> str:
    """The member of a space who wrote a text, with the speaker that they named, if it is another."""
    principal = principal_of(author)
    parts = [speaker(Origin.USER, part, "") for part in (principal.user, principal.agent) if part]
    member = " / ".join(parts)
    named = speaker(Origin.USER, name, "")
    return member if named in ("", *parts, *Role) else f"{named} (by {member})"


@dataclass(frozen=True, slots=True, eq=False)
class Asking:
    """A question, and what its prompt shows anyway.

    Attributes:
        words: of the question; empty without one.
        k: the most turns to recall; 0 recalls nothing.
        marks: the tokens for memories, and the least confidence of a turn.
        turn: position of the question in the log; None if it is not there yet.
        visible: ids of messages that are not recalled.
        present: ids of messages whose own words the prompt has.
        texts: the words of messages that are not recalled.
        notes: a text that no statement and no turn of a space repeats.
        sheet: the user's statements; None if the prompt shows none.
        standing: ids of those that stand before the conversation.
        beside: a session that is not recalled, as in `Host`.
        within: ``session`` recalls from this session only.
        spaces: shared spaces to recall from; ``only_spaces``: not from the owner's own memory, which was before.
    """

    scope: Scope
    words: str
    k: int
    marks: PromptConfig
    turn: int | None = None
    visible: frozenset[str] = frozenset()
    present: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    notes: str = ""
    sheet: Sheet | None = None
    standing: frozenset[int] = frozenset()
    beside: str | None = None
    within: Literal["user", "session"] = "user"
    spaces: Sequence[Scope] = ()
    only_spaces: bool = False


async def recalled(run: Runner, services: Services, seen: PromptView) -> Memories:
    """The memories for the question of a prompt; of the owner's own none if it was shown with some before."""
    if seen.shown_note is not None and not seen.request.spaces:
        return Memories()
    if bare := relieved(seen, note_room(seen)).bare:  # notes dropped for the question's: their words are not visible
        units = (replace(unit, note=None, recalled=()) if unit.first in bare else unit for unit in seen.units)
        seen = replace(seen, units=tuple(units))
    own = {event.id for unit in seen.units for event in unit.events}
    recalled_before = {source for unit in seen.units for source in unit.recalled}
    asked = Asking(
        scope=seen.session.scope,
        words=seen.words,
        k=seen.request.k,
        marks=seen.request.marks,
        turn=None if seen.asked is None else seen.units[seen.asked].first,
        visible=seen.visible,
        present=seen.visible - (recalled_before - own),
        texts=frozenset(message.text.strip() for unit in seen.units for message in unit.messages),
        notes="\n".join([*(unit.note or "" for unit in seen.units), *(rule.text for rule in seen.request.rules)]),
        sheet=seen.sheet,
        standing=seen.standing,
        beside=seen.request.host.beside,
        spaces=seen.request.spaces,
        only_spaces=seen.shown_note is not None,
    )
    return await memories(run, services, asked)


async def memories(run: Runner, services: Services, asked: Asking) -> Memories:
    """The memories for a question, best first, without what its prompt shows anyway; none for small talk."""
    if not (asked.k and asked.marks.memory_tokens and asked.words) or asks_nothing(asked.words):
        return Memories()
    embedder = services.embedder
    if embedder is not None and len(asked.words) <= SHORT_CHARS and tells(embedder.name):
        # A greeting, thanks or the like, in any language of the encoder.
        with suppress(ModelError):
            rows = await embedding(run, embedder.embed_documents, [asked.words])
            if float(emptiness(rows)[0]) >= IDLE:
                return Memories()
    own = Memories() if asked.only_spaces else await _memories(run, services, asked)
    if not asked.spaces:
        return own
    # One ranking of all spaces; unlike the owner's own, also of what was said after the question.
    query = _turns_for(asked.spaces[0], asked.words, SPARE * asked.k)
    distinct: dict[str, Hit] = {}  # what several members repeat word for word takes one line
    for hit in await recall(run, services, query, asked.spaces[1:]):
        distinct.setdefault(hit.record.text.strip(), hit)
    shared = [hit for text, hit in distinct.items() if text not in asked.notes and _is_fresh(hit, asked)]
    return replace(own, shared=tuple(shared[: asked.k]))


def _turns_for(scope: Scope, words: str, k: int, within: Literal["user", "session"] = "user") -> RecallRequest:
    """Recalls the words themselves; what was read from them stands in the profile."""
    return RecallRequest.of(
        scope, words, k=k, within=within, kinds=(RecordKind.TURN,), categories=(), since=None, until=None,
        metadata=None, weights=None,
    )  # fmt: skip


async def asking_turn(run: Runner, services: Services, scope: Scope, words: str) -> int | None:
    """The position of the newest turn with these words that waits for its answer; None if there is none."""
    newest = await run.call(services.log.read, scope, kinds=(EventKind.MESSAGE,), limit=LATEST, newest=True)
    answered: set[str | None] = set()
    for event in sorted(newest, key=lambda event: -event.position):
        if event.message.role is Role.USER and event.message.text.strip() == words:
            return None if event.scope.session in answered else event.position
        if event.message.role is Role.ASSISTANT and not event.message.tool_calls:
            answered.add(event.scope.session)
    return None


@traced(
    "recall",
    lambda span, given: asks(span, given["asked"].words, given["asked"].k, given["asked"].scope),
    lambda span, memories: finds(span, memories.hits),
)
async def _memories(run: Runner, services: Services, asked: Asking) -> Memories:
    query = _turns_for(asked.scope, asked.words, COMPARED + min(len(asked.visible), IN_SIGHT), asked.within)
    if asked.turn is not None:  # the log as it was before the question
        query = replace(query, where=replace(query.where, hidden=((asked.turn, MAX_POSITION),)))
    hits = [hit for hit in await recall(run, services, query) if asked.turn is None or hit.record.turn < asked.turn]
    statements = await _nearest(run, services, asked, hits)
    may = (hit for hit in hits if _may_show(hit.record.scope.session, asked) and _is_fresh(hit, asked))
    fresh = list(islice(may, SPARE * asked.k))
    # Messages that only call tools say nothing without their results, which are found themselves.
    said = [hit.record.sources[0] for hit in fresh if hit.record.speaker == Role.ASSISTANT]
    events = await run.call(services.log.get, asked.scope.owner, said) if said else []
    messages = [event.message for event in events if event.kind is EventKind.MESSAGE]
    calls = {one.id for one in messages if one.tool_calls and not payload_of(one).strip()}
    fresh = [hit for hit in fresh if hit.record.sources[0] not in calls]
    unsure = all((hit.confidence or 0.0) < SURE for hit in fresh[: asked.k])
    facts, withdrawn = (asked.sheet.facts, asked.sheet.withdrawn) if asked.sheet else ((), ())
    states = {source for fact in facts for source in fact.sources}
    silent = [hit for hit in fresh if hit.record.origin in INSTRUCTING and states.isdisjoint(hit.record.sources)]
    idle = frozenset(hit.record.id for hit in silent if states and (hit.confidence or 0.0) < ANSWERS)
    # Without what was withdrawn or stands before the conversation; one that says nothing else is left out.
    in_front = [*(fact for fact in facts if fact.id in asked.standing), *withdrawn]
    rest: list[Hit] = []
    for hit in fresh:
        text = hit.record.text
        for fact in in_front:
            if hit.record.sources[0] in fact.sources:
                parts = [] if fact.text.endswith(text.strip()) else map(str.strip, text.split(fact.text, 1))
                text = " … ".join(filter(None, parts))
        cut = hit if text == hit.record.text else replace(hit, record=replace(hit.record, text=text.strip()))
        if any(map(str.isalnum, text)) and is_worth_a_line(cut):
            rest.append(cut)
    ranked = sorted(rest, key=lambda hit: hit.record.id in idle)
    others = [hit for hit in ranked if hit.record.origin not in INSTRUCTING]  # the sheet has none of their words
    shown = list({id(hit): hit for hit in (*ranked[:1], *others[:1], *ranked)}.values())[: asked.k]
    return Memories(tuple(without_questions(shown, asked.visible)), statements, unsure, idle=idle)


async def _nearest(run: Runner, services: Services, asked: Asking, hits: Sequence[Hit]) -> tuple[Fact, ...]:
    """The statements that the prompt does not show otherwise: by their nearness to the question, and by recall.

    Nearness finds what a task needs, recall what answers a question; their places are added (reciprocal rank fusion,
    Cormack et al. 2009), for a question recall's twice.
    """
    rows = asked.sheet
    if rows is None or not rows.facts:
        return ()
    vector, _ = await query_vector(run, services, asked.words)
    nearness = await run.call(rows.nearness, vector)
    recall_place = np.full(len(rows.facts), len(hits))
    for place in range(len(hits) - 1, -1, -1):  # of several turns the best counts
        for source in hits[place].record.sources:
            recall_place[rows.rows_of.get(source, [])] = place
    places = np.argsort(np.argsort(-nearness, kind="stable"))
    worth = 1 / (RANKS + places) + (2 if asking_share(asked.words) else 1) / (RANKS + recall_place)
    shown = {session: _may_show(session, asked) for session in {fact.session for fact in rows.facts}}
    chosen: dict[str, Fact] = {}
    for row in np.argsort(-worth, kind="stable").tolist():
        fact, words = rows.facts[row], rows.words[row]
        if (
            fact.id not in asked.standing
            and asked.present.isdisjoint(fact.sources)
            and shown[fact.session]
            and (asked.within == "user" or fact.session == asked.scope.session)
            and words not in asked.notes
        ):
            chosen.setdefault(words, fact)
    return tuple(chosen.values())


def fitting(memories: Memories, words: str, room: int, count: TokenCounter, before: str = "") -> Memories:
    """The surest turns, then the nearest statements, whose note for this question has so many tokens; nothing twice.

    The user's turns are shown by their statements; beside these stand the surest turn, and likely ones of others, which
    may be what was answered. What the statements leave goes to further turns. Turns of spaces take half of the space,
    or all of it if there is nothing of the owner's own to show, now or in the note shown ``before``.
    """
    if memories.shared:
        own = bool(memories.hits or memories.statements or before)
        kept: list[Hit] = []
        for hit in memories.shared:
            if count(shared_note([*kept, hit], words)) <= (room // 2 if own else room):
                kept.append(hit)
        room -= count(shared_note(kept, words)) if kept else 0
        rest = replace(memories, shared=())
        return replace(fitting(rest, words, room, count) if rest else rest, shared=tuple(kept))
    asked = frozenset(terms(words))
    room -= count(MEMORY_HEADINGS[prompt_language(words)])
    hits = sorted(memories.hits, key=lambda hit: (hit.record.id in memories.idle, -(hit.confidence or 0.0)))
    # Lines counted one by one may come to a token more than the note, never to less.
    lines = [(line := memory_line(hit, asked), count(line) + 1) for hit in hits]
    shown = [row for row, (_, tokens) in enumerate(lines) if tokens <= room][:1]
    likely = sum((hit.confidence or 0.0) >= LIKELY and hit.record.id not in memories.idle for hit in hits)
    spoken = frozenset(source for hit in hits for source in hit.record.sources) if memories.statements else frozenset()
    share = TURNS_SHARE * room - sum(lines[row][1] for row in shown)
    shown = _more_turns(hits[:likely], lines, shown, share, spoken)
    room -= sum(lines[row][1] for row in shown)
    statements: list[Fact] = []
    heading = count(SAID_HEADINGS[prompt_language(words)])
    days: set[date] = set()
    for fact in memories.statements:
        sentence = spoken_words(fact)
        if any(sentence in lines[row][0] for row in shown):
            continue
        tokens = line_tokens(fact, days, count) + (0 if statements else heading)
        if tokens > room:
            if room < LEAST_STATEMENT:
                break
            continue
        statements.append(fact)
        days.add(fact.valid_from.date())
        room -= tokens
    quoted = frozenset(source for fact in statements for source in fact.sources)
    shown = _more_turns(hits, lines, shown, room, quoted)
    return replace(memories, hits=tuple(hits[row] for row in shown), statements=tuple(statements))


def _more_turns(
    hits: Sequence[Hit],
    lines: Sequence[tuple[str, int]],
    shown: Sequence[int],
    room: float,
    own: frozenset[str],
) -> list[int]:
    """The rows shown, and those of further turns that fit: no repetition, nor a turn of the user's in ``own``."""
    rows = list(shown)
    for row, hit in enumerate(hits):
        record, tokens = hit.record, lines[row][1]
        repeats = record.origin in INSTRUCTING and not own.isdisjoint(record.sources)
        if row in rows or tokens > room or repeats:
            continue
        if not any(" ".join(record.text.split()) in lines[other][0] for other in rows):
            rows.append(row)
            room -= tokens
    return rows


def is_worth_a_line(hit: Hit) -> bool:
    """Whether a recalled turn says something: no question, acknowledgement, bare result or step of an agent."""
    record = hit.record
    if hit.asked is None and not any(map(str.isalpha, record.text)):
        return False
    if record.origin is Origin.TOOL and len(terms(record.text)) < RESULT_WORDS:
        return False
    return is_memory(record.text) and not record.text.lstrip().startswith(STEPS)


def _is_fresh(hit: Hit, asked: Asking) -> bool:
    """Whether a turn is sure enough, says something, and is not in the prompt anyway."""
    return (
        asked.visible.isdisjoint(hit.record.sources)
        and hit.record.text.strip() not in asked.texts
        and (hit.confidence is None or hit.confidence >= asked.marks.min_confidence)
        and is_worth_a_line(hit)
    )


def _may_show(session: str | None, asked: Asking) -> bool:
    """Whether a session may be recalled: not the one it works for, nor one below either, like a sub-agent's."""
    below = tuple(f"{parent}/" for parent in (asked.scope.session, asked.beside) if parent is not None)
    return session is None or (session != asked.beside and not session.startswith(below))


MARK = "space_instructions"

RULE_CHARS = 1000  # longer instructions are shown as excerpts
RULES_RATIO = 0.25  # the most of the tokens for memories that the instructions of one space take


@dataclass(frozen=True, slots=True)
class Rules:
    """Positions of the instructions, up to a position in the log of a space."""

    position: int = 0
    places: tuple[int, ...] = ()

    def after(self, events: Iterable[Event]) -> Self:
        """With those among these messages: in a space only an admin's count as the operator's."""
        news = list(events)
        new = (event.position for event in news if event.origin is Origin.OPERATOR)
        return type(self)(news[-1].position, (*self.places, *new))


class RulesProjection(FoldedProjection[Rules]):
    """The instructions of each space."""

    start = Rules
    follows = frozenset({EventKind.MESSAGE})


async def rules_of(run: Runner, services: Services, spaces: Sequence[Scope]) -> list[Voice]:
    """The instructions of each space with their days and authors, the newest that fit, oldest first."""
    voices = []
    for space in spaces:
        view = await in_view(run, services, space)
        places = (await services.state(RulesProjection).read(run, services, space)).places
        room = RULES_RATIO * services.config.prompt.memory_tokens
        lines: list[str] = []
        for event in reversed(await at_positions(run, view, space, places)):
            text = excerpt(event.message.text, frozenset(), RULE_CHARS)
            line = f"- [{event.at:%Y-%m-%d}] {within_line(f'{author_name(event.author)}: {text}')}"
            room -= services.count(line)
            if room < 0:
                break
            lines.insert(0, line)
        if lines:
            heading = RULE_HEADINGS[prompt_language("".join(lines))]
            voices.append(Voice(MARK, "\n".join([heading, *lines]), str(space.space)))
    return voices
