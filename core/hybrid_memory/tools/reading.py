"""Tools that read: `memory_recall`, `memory_expand` and `memory_fetch`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from pydantic import Field

from hybrid_memory.compression.offload.grep import Matches
from hybrid_memory.compression.offload.payloads import Page
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.memory import ScopedMemory
from hybrid_memory.text.cleaning import clean
from hybrid_memory.text.excerpts import excerpt
from hybrid_memory.text.tokenize import terms
from hybrid_memory.text.tokens import estimate_tokens
from hybrid_memory.tools.tool import MAX_TOKENS, Call, MemoryTool
from hybrid_memory.tools.versions import NOTED_WITH, named, newest, position, stretch, updates
from hybrid_memory.types import Hit, Message, Record, RecordKind, handle
from hybrid_memory.types.validation import CheckedModel, shown

MAX_HITS = 10
LINE_TOKENS = 150
"""Of a longer turn an excerpt is shown."""

SPARE = 4
"""Times as many are recalled, to make up for what is not shown."""

PAGE_TOKENS = MAX_TOKENS - 200
PAGE_CHARS = 4 * PAGE_TOKENS
LEAST_CHARS = 80

P = TypeVar("P", Page, Matches)


class Recalling(CheckedModel):
    """What to look for."""

    query: str = Field(description="A question, or words")
    k: int = Field(default=5, ge=1, le=MAX_HITS, description="At most so many")
    since: str = Field(default="", description="Only from this date on: 2026-05-03")
    until: str = Field(default="", description="Only up to this date, inclusive")


async def recall(call: Call, memory: ScopedMemory, wanted: Recalling) -> str:
    """What answers the query, best first; what was updated in its newest words."""
    since, until = _instant("since", wanted.since), _instant("until", wanted.until, end=True)
    hits: list[Hit] = await call(memory.recall, wanted.query, k=SPARE * wanted.k, since=since, until=until)
    if not hits:
        return "Nothing is remembered about that."
    replaced = await updates(call, memory, wanted.query)
    lines: dict[int, str] = {}
    for hit in hits:
        now = newest(hit.record.turn, replaced)
        if now == hit.record.turn:
            lines.setdefault(now, _line(hit.record, wanted.query))
        elif since is None and until is None:  # it says it better than what it replaced
            note = next(record for record in replaced.values() if record.turn == now)
            lines[now] = _line(note, wanted.query)
        else:
            lines.setdefault(hit.record.turn, f"{_line(hit.record, wanted.query)} (later changed: {named(now)})")
    return "\n".join(list(lines.values())[: wanted.k])


def _instant(name: str, text: str, *, end: bool = False) -> datetime | None:
    if not text.strip():
        return None
    try:
        instant = datetime.fromisoformat(text.strip())
        instant = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
        whole_day = end and len(text.strip()) <= len("2026-05-03")
        return instant + timedelta(days=1) if whole_day else instant
    except (ValueError, OverflowError):
        raise InvalidInputError(f"{name} must be a date such as '2026-05-03', got {shown(text)}") from None


def _line(record: Record, query: str) -> str:
    text = clean(record.text)
    short = _shortened(text, query)
    noted = record.kind is RecordKind.FACT or NOTED_WITH in record.metadata
    speaker = "" if noted else f"{_short_name(record.speaker)}: "
    more = "" if short == " ".join(text.split()) else " (more: memory_expand)"
    return f"{named(record.turn)} [{record.at:%Y-%m-%d}] {speaker}{short}{more}"


def _short_name(speaker: str) -> str:
    return speaker if len(speaker) <= 40 else f"{speaker[:39]}…"  # noqa: PLR2004 - longer than names are


def _shortened(text: str, query: str) -> str:
    """The text in one line, or the part of it that the query is about."""
    wanted = frozenset(terms(query))
    chars = len(text)
    while estimate_tokens(short := excerpt(text, wanted, chars)) > LINE_TOKENS:
        chars = min(chars - 1, len(short) * LINE_TOKENS // estimate_tokens(short))
    return short


class Expanding(CheckedModel):
    """What to show."""

    handle: str = Field(description="Such as '#12', or '#3-9' for a stretch of this conversation")


async def expand(call: Call, memory: ScopedMemory, wanted: Expanding) -> str:
    """The messages behind a handle, word for word."""
    first, last = stretch(wanted.handle)
    messages: list[Message] = await call(memory.expand, handle(first, last))
    room, lines = PAGE_TOKENS, list[str]()
    for message in messages:
        line = f"[{message.at:%Y-%m-%d %H:%M}] {_short_name(message.speaker)}: {message.text}"
        room -= estimate_tokens(line) + 1
        if room < 0:
            break
        lines.append(line)
    if not lines:
        page = await _fitting(lambda chars: call(memory.fetch, named(first), max_chars=chars))
        return _written(page, named(first))
    left = len(messages) - len(lines)
    return "\n".join([*lines, *([f"({left} more messages: ask for a shorter stretch)"] if left else [])])


class Fetching(CheckedModel):
    """What to read on in."""

    handle: str = Field(description="Such as '#12'")
    where: str = Field(default="", description="Lines '10-60', characters 'c1-2000', or a JSON path; empty: the start")
    pattern: str = Field(default="", description="A regular expression: only lines that match")


async def fetch(call: Call, memory: ScopedMemory, wanted: Fetching) -> str:
    """A page of a long text, or its lines that match."""
    name = named(position(wanted.handle))
    if wanted.pattern:
        found = await _fitting(lambda chars: call(memory.grep, name, wanted.pattern, max_chars=chars))
        head = f"{found.shown} of {found.total} matching lines, of {found.total_lines}"
        return f"{name}: {head}\n{found.text}" if found.total else f"No line of {name} matches."
    where = wanted.where.strip() or None
    return _written(await _fitting(lambda chars: call(memory.fetch, name, where, max_chars=chars)), name)


async def _fitting(read: Callable[[int], Awaitable[P]]) -> P:
    """The piece in as many characters as its tokens leave room for."""
    chars = PAGE_CHARS
    piece = await read(chars)
    while (tokens := estimate_tokens(piece.text)) > PAGE_TOKENS and chars > LEAST_CHARS:
        chars = max(LEAST_CHARS, min(chars, len(piece.text)) * PAGE_TOKENS // tokens)
        piece = await read(chars)
    return piece


def _written(page: Page, name: str) -> str:
    more = f"\n(more: memory_fetch with handle='{name}', where='{page.next}')" if page.next else ""
    return f"{name} {page.where}, of {page.total_lines} lines, {page.total_chars} characters:\n{page.text}{more}"


RECALL = MemoryTool(
    "memory_recall",
    "Search all earlier conversations and notes. Use it before you answer about the user, their past or earlier work. "
    "Each line has a handle such as #12.",
    Recalling,
    recall,
)
EXPAND = MemoryTool("memory_expand", "The exact words behind a handle of the memory.", Expanding, expand)
FETCH = MemoryTool(
    "memory_fetch",
    "Read a long text of the memory by its handle: page by page, or the lines that match a pattern.",
    Fetching,
    fetch,
)
