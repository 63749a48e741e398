"""Functions for recall storage: everything that was ever said, in and out of the context window."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial

from pydantic import Field

from hybrid_memory.apps.agent.functions.archive import INSERTED
from hybrid_memory.apps.agent.functions.pages import PAGE, Page, paged, ranked
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.index.record import Record
from hybrid_memory.log.echoes import is_echo
from hybrid_memory.log.message import Message, Role
from hybrid_memory.memory import ScopedMemory
from hybrid_memory.text.cleaning import clean
from hybrid_memory.tools import reading
from hybrid_memory.tools.reading import instant, line_of, short_name, shortened
from hybrid_memory.tools.tool import Call, MemoryTool
from hybrid_memory.tools.versions import NOTED_WITH
from hybrid_memory.validation import CheckedModel

NOTHING = "Nothing was said about that."


class Searching(CheckedModel):
    """What to look for."""

    query: str = Field(description="A question, or words")
    page: int = PAGE


async def search(call: Call, memory: ScopedMemory, wanted: Searching) -> str:
    """Messages that answer the query, best first, a page at a time."""
    page = Page.of(call, wanted.page)
    said = await ranked(call, memory, wanted.query, page, partial(_found, call))
    lines = [line_of(record, wanted.query, page.line_tokens) for record in said[page.start : page.end]]
    return paged(lines, page, more=len(said) > page.end, nothing=NOTHING)


def _found(call: Call, record: Record) -> bool:
    """Whether it is no note, and not the very question that the model is answering."""
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
    said = [message for message in messages if _was_said(message)]
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


def _was_said(message: Message) -> bool:
    own = message.metadata.get(NOTED_WITH) == INSERTED
    return message.role is not Role.SYSTEM and not own and not is_echo(message) and bool(message.text.strip())


def _line(message: Message, max_tokens: int) -> str:
    text = shortened(clean(message.text), "", max_tokens)
    return f"[{message.at:%Y-%m-%d %H:%M}] {short_name(message.speaker)}: {text}"


SEARCH = MemoryTool(
    "conversation_search",
    "Search everything that was ever said, also what has left your context, five messages a page. Each line has a "
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
    description="Read what a handle stands for, a long text (#12) or the messages behind a line of the summary "
    "(#12-40): page by page, or the lines that match a pattern; where is lines '10-60', characters 'c1-2000', or a "
    "JSON path.",
)
