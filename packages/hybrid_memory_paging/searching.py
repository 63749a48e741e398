"""Functions that read page by page: the model's archival notes, and the whole conversation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field

from hybrid_memory import Hits, Message, Receipt, Record, RecordKind, Role, ScopedMemory
from hybrid_memory.analysis import is_echo
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.text.cleaning import clean
from hybrid_memory.text.marks import escaped
from hybrid_memory.text.voices import speaker
from hybrid_memory.tools import reading
from hybrid_memory.tools.notes import outside
from hybrid_memory.tools.reading import LINE_TOKENS, instant, line_of, shortened
from hybrid_memory.tools.tool import NOTED_WITH, Call, MemoryTool, named
from hybrid_memory.validation import CheckedModel

PAGE_LINES = 5
MAX_PAGE = 200
REACHES = (40, 160, 640, 2560)
"""How many hits are recalled, step by step until they include the page. Recall considers the first number anyway."""

LEAST_LINE_TOKENS = 12

FRAME_TOKENS = 20
"""Tokens for the note that there is more."""

PAGE: Any = Field(default=0, ge=0, le=MAX_PAGE, description="0 for the best, 1 for the next, and so on")


@dataclass(frozen=True, slots=True)
class Page:
    """A page of results: which lines, and how long each may be."""

    number: int
    line_tokens: int

    @classmethod
    def of(cls, call: Call, number: int) -> Self:
        """The page, with lines that together fit this call."""
        room = (call.max_tokens - FRAME_TOKENS) // PAGE_LINES
        return cls(number, max(LEAST_LINE_TOKENS, min(LINE_TOKENS, room - FRAME_TOKENS)))

    @property
    def start(self) -> int:
        """The first row."""
        return PAGE_LINES * self.number

    @property
    def end(self) -> int:
        """The row after the last."""
        return self.start + PAGE_LINES


async def ranked(
    call: Call, memory: ScopedMemory, query: str, page: Page, wanted: Callable[[Record], bool], **where: Any
) -> list[Record]:
    """The wanted records that answer the query, best first, up to the end of the page and at least one more.

    The order is the same for every page: a larger recall may rank differently, so earlier hits keep their places.
    """
    results: list[Record] = []
    looked_at: set[int] = set()
    for k in REACHES:
        hits: Hits = await call(memory.recall, query, k=k, kinds=(RecordKind.TURN,), **where)
        fresh = [hit.record for hit in hits if hit.record.id not in looked_at]
        results += filter(wanted, fresh)
        looked_at.update(record.id for record in fresh)
        if len(results) > page.end or len(hits) + hits.unsure < k:
            break
    return results


def paged(lines: Sequence[str], page: Page, *, more: bool, nothing: str) -> str:
    """The lines of a page, and whether there are more."""
    if not lines:
        return "There are no more." if page.number else nothing
    return "\n".join([*lines, f"(more: page={page.number + 1})" if more else "(no more)"])


INSERTED = "archival_memory_insert"
TAGS = "tags"
MAX_TAGS = 8


def _listed(tags: Any) -> Any:
    return tags.replace(",", " ").split() if isinstance(tags, str) else tags


Tags = Annotated[list[str], BeforeValidator(_listed)]


class Inserting(CheckedModel):
    """What to keep."""

    content: str = Field(description="A note that can be understood alone, of any length")
    tags: Tags = Field(default_factory=list, max_length=MAX_TAGS, description="Labels to search by, if any")


async def insert(call: Call, memory: ScopedMemory, wanted: Inserting) -> str:
    """Keep a note without a time limit."""
    if not wanted.content.strip():
        raise InvalidInputError("content is empty: say what to keep")
    note = Message(
        role=Role.ASSISTANT,
        content=wanted.content,
        id=f"archival:{call.key}" if call.key else None,
        extra={"made_of": list(call.sources)} if call.sources else {},
        metadata={NOTED_WITH: INSERTED, **({TAGS: wanted.tags} if wanted.tags else {})},
    )
    receipt: Receipt = await call(outside(memory).remember, note)
    return f"Kept as {named(receipt.positions[0])}." if receipt.positions else "Kept; you can find it a little later."


class SearchingArchive(CheckedModel):
    """What to look for."""

    query: str = Field(description="A question, or words")
    tags: Tags = Field(default_factory=list, max_length=MAX_TAGS, description="Only notes with all of these")
    page: int = PAGE


async def search_archive(call: Call, memory: ScopedMemory, wanted: SearchingArchive) -> str:
    """Notes that answer the query, best first, a page at a time."""
    page = Page.of(call, wanted.page)
    result = await _notes(call, memory, wanted.query, wanted.tags, page)
    head = ""
    if wanted.tags and not result:  # models invent tags
        head = f"No note has the tags {', '.join(wanted.tags)}; without them:\n"
        result = await _notes(call, memory, wanted.query, [], page)
    lines = [line_of(record, wanted.query, page.line_tokens) for record in result[page.start : page.end]]
    return (head if lines else "") + paged(
        lines, page, more=len(result) > page.end, nothing="Archival memory has nothing about that."
    )


async def _notes(call: Call, memory: ScopedMemory, query: str, tags: list[str], page: Page) -> list[Record]:
    """The notes with these tags up to the end of the page, best first, and one more if there is one."""

    def tagged(record: Record) -> bool:
        return set(tags) <= set(record.metadata.get(TAGS, ()))

    return await ranked(call, memory, query, page, tagged, metadata={NOTED_WITH: INSERTED})


ARCHIVE = MemoryTool(
    INSERTED,
    "Keep a note in archival memory, which has no limit: details that would take up too much working context.",
    Inserting,
    insert,
)
SEARCH_ARCHIVE = MemoryTool(
    "archival_memory_search",
    "Search archival memory, five notes a page. Each line has a handle such as #12.",
    SearchingArchive,
    search_archive,
)

NOTHING = "Nothing was said about that."


class Searching(CheckedModel):
    """What to look for."""

    query: str = Field(description="A question, or words")
    page: int = PAGE


async def search(call: Call, memory: ScopedMemory, wanted: Searching) -> str:
    """Messages that answer the query, best first, a page at a time."""
    page = Page.of(call, wanted.page)
    said = await ranked(call, memory, wanted.query, page, partial(_is_answer, call))
    lines = [line_of(record, wanted.query, page.line_tokens) for record in said[page.start : page.end]]
    return paged(lines, page, more=len(said) > page.end, nothing=NOTHING)


def _is_answer(call: Call, record: Record) -> bool:
    """Whether the record is neither a note nor the question that the model is answering."""
    return record.metadata.get(NOTED_WITH) != INSERTED and record.sources[0] not in call.because


class SearchingDate(CheckedModel):
    """When it was said."""

    start_date: str = Field(description="From this date on: 2026-05-03, or with a time 2026-05-03T14:00")
    end_date: str = Field(default="", description="Up to this date, inclusive; empty for that day alone")
    page: int = PAGE


async def search_date(call: Call, memory: ScopedMemory, wanted: SearchingDate) -> str:
    """Messages of some days, oldest first, a page at a time."""
    since, until = _span(wanted)
    page = Page.of(call, wanted.page)
    messages: list[Message] = await call(memory.history, since=since, until=until)
    said = [message for message in messages if _is_turn(message)]
    lines = [_line(message, page.line_tokens) for message in said[page.start : page.end]]
    return paged(lines, page, more=len(said) > page.end, nothing="Nothing was said then.")


def _span(wanted: SearchingDate) -> tuple[datetime, datetime | None]:
    since = instant("start_date", wanted.start_date)
    if since is None:
        raise InvalidInputError("start_date is empty: give a date such as '2026-05-03'")
    until = instant("end_date", wanted.end_date or wanted.start_date[: len("2026-05-03")], end=True)
    if until is not None and until <= since:
        raise InvalidInputError(f"end_date {wanted.end_date!r} is before start_date {wanted.start_date!r}")
    return since, until


def _is_turn(message: Message) -> bool:
    own = message.metadata.get(NOTED_WITH) == INSERTED
    return message.role is not Role.SYSTEM and not own and not is_echo(message) and bool(message.text.strip())


def _line(message: Message, max_tokens: int) -> str:
    text = escaped(shortened(clean(message.text), "", max_tokens))
    return f"[{message.at:%Y-%m-%d %H:%M}] {speaker(message.spoken_by, message.speaker, text)}: {text}"


SEARCH = MemoryTool(
    "conversation_search",
    "Search the whole conversation, including what has left your context, five messages a page. Each line has a "
    "handle such as #12.",
    Searching,
    search,
)
SEARCH_DATE = MemoryTool(
    "conversation_search_date",
    "What was said on a day or between two, oldest first, five messages a page; dates as 2026-05-03, or "
    "2026-05-03T14:00.",
    SearchingDate,
    search_date,
)
EXPAND = replace(
    reading.EXPAND, name="expand", description="The exact words behind a handle such as #12, or #12-40 of a summary."
)
FETCH = replace(
    reading.FETCH,
    name="fetch",
    description="Read the text behind a handle, a long text (#12) or the messages behind a line of the summary "
    "(#12-40): page by page, or the lines that match a pattern; where is lines '10-60', characters 'c1-2000', or a "
    "JSON path.",
)
