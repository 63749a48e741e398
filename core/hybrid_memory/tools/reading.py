"""Tools that read: `memory_recall`, `memory_fetch`, `memory_why` and `memory_profile`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from datetime import datetime, timedelta
from typing import Any

from pydantic import Field

from hybrid_memory.context.explain import Page, grep, page
from hybrid_memory.context.memories import question_line, without_questions
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.facts.fact import Explanation, Fact
from hybrid_memory.facts.profile import UserProfile
from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.log.event import handle, principal_of
from hybrid_memory.log.media import digest_media, media_blocks, standard_media
from hybrid_memory.log.message import MARKED, Message, Role
from hybrid_memory.memory import ScopedMemory
from hybrid_memory.recall.hit import Hits
from hybrid_memory.text.asking import asking_share
from hybrid_memory.text.cleaning import clean
from hybrid_memory.text.sentences import excerpt
from hybrid_memory.text.speakers import escaped, speaker, within_record
from hybrid_memory.text.tokenize import terms
from hybrid_memory.text.tokens import estimate_tokens
from hybrid_memory.tools.tool import NOTED_WITH, Answer, Call, MemoryTool, named, newest, position, stretch
from hybrid_memory.validation import MAX_COUNT, CheckedModel, moment, shown

MAX_HITS = 10
LINE_TOKENS = 150  # the most tokens of a line; longer turns are shown as an excerpt

NOTHING = "Nothing is remembered about that."
UNSURE = "Nothing certain is remembered about that."

LATEST = 8  # how many of the latest turns may contain the question; tool calls may have come after it
SPARE = 4  # how many times more hits are recalled, to make up for those that are not shown

FRAME_TOKENS = 200
LEAST_CHARS = 80

_MEDIUM = re.compile(r"media\s*(\d{1,4})")


class Recalling(CheckedModel):
    """What to look for."""

    query: str = Field(description="A question, or words")
    k: int = Field(default=5, ge=1, le=MAX_HITS, description="How many hits to return")
    since: str = Field(default="", description="Only from this date on: 2026-05-03")
    until: str = Field(default="", description="Only up to this date, inclusive")
    min_confidence: float = Field(default=0.0, ge=0, le=1, description="Leave out hits less likely than this to answer")


async def recall(call: Call, memory: ScopedMemory, request: Recalling) -> str:
    """The hits that answer the query, best first; updated ones in their newest words."""
    since, until = instant("since", request.since), instant("until", request.until, end=True)
    memories = await call.homes(memory)
    spaces = [space.scope.space for space in memories[1:]]
    hits: Hits = await call(
        memory.recall,
        request.query,
        k=SPARE * request.k,
        since=since,
        until=until,
        spaces=spaces,
        min_confidence=request.min_confidence or None,  # 0 as configured
    )
    nothing = UNSURE if hits.unsure else NOTHING
    if not hits:
        return nothing
    # A note takes the place of turns of its own memory only: who writes in a space changes nothing outside it.
    notes = {each.scope.owner: await call.updates(each, request.query) for each in memories}
    lines: dict[int, str] = {}
    asked = None  # the session's current question: the model sees it anyway, and it is not an answer
    if memory.scope.session is not None:
        turns: list[Message] = await call(memory.history, limit=LATEST)
        last = next((turn for turn in reversed(turns) if turn.role is Role.USER), None)
        asked = last.id if last is not None and asking_share(last.text) == 1 else None
    for hit in without_questions(hits, {asked} if asked else ()):
        if asked in hit.record.sources:
            continue
        record, owner = hit.record, hit.record.scope.owner
        note = newest(record.turn, notes[owner])
        foreign = owner != memory.scope.owner
        if note is not None and since is None and until is None:  # it says it better than what it replaced
            lines[note.turn] = line_of(note, request.query, whose=origin(note) if foreign else "")
            continue
        question = escaped(question_line(hit, frozenset(terms(request.query))))
        line = line_of(record, request.query, whose=(origin(record) if foreign else "") + question)
        later = "" if note is None else f" (updated later: {named(note.turn)})"
        lines.setdefault(record.turn, f"{line}{later}")
    return "\n".join(list(lines.values())[: request.k]) or nothing


def instant(name: str, text: str, *, end: bool = False) -> datetime | None:
    """The instant of a date or time, of a date optionally the end of the day; None for an empty text."""
    if not text.strip():
        return None
    at = moment(text.strip())
    if at is None:
        raise InvalidInputError(f"{name} must be a date such as '2026-05-03', got {shown(text)}")
    return at + timedelta(days=1) if end and len(text.strip()) <= len("2026-05-03") else at


def origin(record: Record) -> str:
    """The space of a record, and who wrote it."""
    author = principal_of(record.author)
    who = "/".join(short_name(name) for name in (author.user, author.agent) if name)
    return f"({short_name(str(record.scope.space))}, by {who}) "


def line_of(record: Record, query: str, max_tokens: int = LINE_TOKENS, *, whose: str = "") -> str:
    """A record in one line: handle, date, space and author, speaker, and the part that the query is about."""
    text = clean(record.text)
    short = shortened(text, query, max_tokens)
    is_note = record.kind is RecordKind.FACT or NOTED_WITH in record.metadata
    who = "" if is_note and record.origin not in MARKED else f"{speaker(record.origin, record.speaker, text)}: "
    more = "" if short == " ".join(text.split()) else " (more: fetch it)"
    return f"{named(record.turn)} [{record.at:%Y-%m-%d}] {whose}{who}{escaped(short)}{more}"


def short_name(speaker: str) -> str:
    """The name in one line, shortened if necessary."""
    speaker = " ".join(speaker.split())
    return speaker if len(speaker) <= 40 else f"{speaker[:39]}…"  # noqa: PLR2004 - longer than names are


def shortened(text: str, query: str, max_tokens: int = LINE_TOKENS) -> str:
    """The text in one line; of a long text the part that the query is about."""
    request = frozenset(terms(query))
    chars = len(text)
    while estimate_tokens(short := excerpt(text, request, chars)) > max_tokens:
        chars = min(chars - 1, len(short) * max_tokens // estimate_tokens(short))
    return short


class Fetching(CheckedModel):
    """What to read."""

    handle: str = Field(description="Such as '#12', or '#12-40' for a range of this conversation")
    where: str = Field(default="", description="Lines '10-60', characters 'c1-2000' or 'media 2'; empty: the start")
    pattern: str = Field(default="", description="A regular expression: only lines that match")


async def fetch(call: Call, memory: ScopedMemory, request: Fetching) -> str | Answer:
    """The messages behind a handle, or a page of what is long, or its lines that match; or a medium itself."""
    first, last = stretch(request.handle)
    name, memory = handle(first, last), await call.home(memory, first)
    where = request.where.strip() or None
    messages: list[Message] = []
    with suppress(InvalidInputError) if first == last else nullcontext():  # it may be an offloaded text
        messages = await call(memory.expand, name)
    media, lines = list[Mapping[str, Any]](), list[str]()
    for message in messages:  # with their times; their media are numbered
        blocks = list(media_blocks(message.content).values())
        shown = [digest_media(block, f"media {number}") for number, block in enumerate(blocks, len(media) + 1)]
        media += blocks
        words = "\n".join([*([message.text] if message.text else []), *shown])
        who = speaker(message.spoken_by, message.speaker, message.text)
        lines.append(f"[{message.at:%Y-%m-%d %H:%M}] {who}: {within_record(words)}")
    if medium := _MEDIUM.fullmatch(where or ""):
        if not 0 < (number := int(medium[1])) <= len(media):
            raise InvalidInputError(f"{name} has {len(media)} media: there is no media {number}")
        block = media[number - 1]
        return Answer(f"{name} media {number}: {digest_media(block)}", media=(standard_media(block),))
    media = media if first == last else []
    text = "\n".join(lines)
    # The tokens for the words themselves, without their labels.
    room = call.max_tokens - min(FRAME_TOKENS, call.max_tokens // 4)
    if messages and where is None and not request.pattern and (media or estimate_tokens(text) <= room):
        return Answer(text, media=tuple(map(standard_media, media)))

    if first == last:
        text = (await call(memory.fetch, name, max_chars=MAX_COUNT)).text

    def read(max_chars: int) -> Page:
        pattern = request.pattern
        return grep(text, pattern, max_chars=max_chars) if pattern else page(text, where, max_chars=max_chars)

    chars = 4 * room
    result = read(chars)
    while (tokens := estimate_tokens(result.text)) > room and chars > LEAST_CHARS:
        chars = max(LEAST_CHARS, min(chars, len(result.text)) * room // tokens)
        result = read(chars)
    if not request.pattern:
        more = f"\n(more: fetch it with where='{result.next}')" if result.next else ""
        size = f"{result.total_lines} lines, {result.total_chars} characters"
        return f"{name} {result.where}, of {size}:\n{result.text}{more}"
    head = f"{result.shown_matches} of {result.total_matches} matching lines, of {result.total_lines}"
    return f"{name}: {head}\n{result.text}" if result.total_matches else f"No line of {name} matches."


RECALL = MemoryTool(
    "memory_recall",
    "Search all earlier conversations and notes. Use it before you answer about the user, their past or earlier work. "
    "Each line has a handle such as #12.",
    Recalling,
    recall,
)
FETCH = MemoryTool(
    "memory_fetch",
    "Read the exact words behind a handle of the memory: a message or long text (#12), or the messages behind a line "
    "of a summary (#12-40); page by page, or only the lines that match a pattern. Also images and files.",
    Fetching,
    fetch,
)

STEP_TOKENS = 300  # the size of one step of an explanation


class Asking(CheckedModel):
    """What to explain."""

    about: str = Field(
        description="A handle such as '#12', a profile field such as 'goals', or an attribute such as 'home'"
    )
    query: str = Field(default="", description="With a handle: why memory_recall returns it for this query, or not")


async def why(call: Call, memory: ScopedMemory, request: Asking) -> str:
    """Explain how a turn ranks for a query, or what was learned from it, or which turns support a fact."""
    about = request.about.strip()
    if not about.startswith(("#", "[")) and not about.isdecimal():
        facts: list[Fact] = await call(memory.facts, history=True)
        behind = [fact for fact in facts if fact.attribute == about]
        if behind:
            current = [fact for fact in behind if fact.superseded_by is None]
            return "\n".join([_explained(await call(memory.why, fact)) for fact in current])
        profile: UserProfile = await call(memory.profile)
        fields = type(profile).model_fields
        if about in fields:
            return _explained(await call(memory.why, about))
        raise InvalidInputError(
            f"{shown(about)} is not a handle, a profile field ({', '.join(fields)}) or a known attribute "
            f"({', '.join({fact.attribute: None for fact in facts}) or 'nothing yet'})"
        )
    place = position(about)
    memory = await call.home(memory, place)
    note = newest(place, await call.updates(memory, request.query or about))
    later = "" if note is None else f"memory_recall returns what replaced {named(place)}: {line_of(note, '')}\n"
    if request.query.strip():
        return later or _explained(await call(memory.why, named(place), request.query, k=MAX_HITS))
    messages: list[Message] = await call(memory.expand, named(place))
    facts = await call(memory.facts, history=True)
    read = [_explained(await call(memory.why, fact)) for fact in facts if place in fact.positions]
    if not read:
        return f"{later}{_turn(named(place), messages[0])}\nNothing was learned from it."
    return "\n".join([f"{later}What was learned from {named(place)}:", *read])


def _explained(explanation: Explanation) -> str:
    """The explanation as text, with long turns shortened."""
    steps = [f"  {shortened(step, '', STEP_TOKENS)}" for step in explanation.steps]
    turns = [f"  {_turn(name, turn)}" for name, turn in explanation.turns]
    return "\n".join([shortened(explanation.about, ""), *steps, *turns])


def _turn(name: str, turn: Message) -> str:
    at = "" if turn.at is None else f"[{turn.at:%Y-%m-%d}] "
    return f"{name} {at}{speaker(turn.spoken_by, turn.speaker, turn.text)}: {escaped(shortened(turn.text, ''))}"


NOTHING_KNOWN = (
    "Nothing is known about the user yet: it is read from what they say themselves, and from notes of a model only "
    'with learning.origins: ["user", "assistant"].'
)


class Profiling(CheckedModel):
    """The whole profile needs no arguments."""


async def profile(call: Call, memory: ScopedMemory, _: Profiling) -> str:
    """The profile, without its least important values if it is too long."""
    known: UserProfile = await call(memory.profile)
    return known.render(call.max_tokens, estimate_tokens) or NOTHING_KNOWN


WHY = MemoryTool(
    "memory_why",
    "Where something you remember comes from, or why memory_recall returns a turn for a query, or not.",
    Asking,
    why,
)
PROFILE = MemoryTool(
    "memory_profile",
    "What is known about the user: name, family, work, needs, likes, dislikes, goals. Use it before you advise them.",
    Profiling,
    profile,
)
