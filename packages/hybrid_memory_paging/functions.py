"""The functions with which a model manages its own memory, under MemGPT's names (arXiv 2310.08560).

Blocks are edited, archival notes kept, and notes and the whole conversation searched page by page. Functions of the
application come beside them, with schemas, time limits and answers of their own.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import typing
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Self, TypeVar

from pydantic import Field, PydanticUserError, create_model

from hybrid_memory import Block, Hits, Message, Origin, Receipt, RecordKind, Role, ScopedMemory
from hybrid_memory.analysis import is_echo
from hybrid_memory.errors import InvalidInputError, ModelError
from hybrid_memory.runtime.breaker import TimeLimit, described
from hybrid_memory.text.cleaning import clean
from hybrid_memory.text.speakers import escaped, speaker
from hybrid_memory.text.structured import cut_off, encodable
from hybrid_memory.tools import MemoryTool, reading, tools_named
from hybrid_memory.tools.notes import outside
from hybrid_memory.tools.reading import LINE_TOKENS, instant, line_of, shortened
from hybrid_memory.tools.tool import NOTED_WITH, Answer, Call, named
from hybrid_memory.validation import CheckedModel, shown

T = TypeVar("T")

HEARTBEAT = "request_heartbeat"
"""The argument with which the model asks to be called again at once; every call may have it."""

THOUGHTS = "thoughts"

LABEL = "The block, such as 'human'"


class Appending(CheckedModel):
    """What to add."""

    label: str = Field(description=LABEL)
    content: str = Field(description="Added as a new line at the end of the block")


async def append(call: Call, memory: ScopedMemory, given: Appending) -> str:
    """Add a line to a block."""
    return await _edited(call, memory, given.label, append=given.content)


class Replacing(CheckedModel):
    """What to replace, and by what."""

    label: str = Field(description=LABEL)
    old_content: str = Field(description="The text to replace, exactly as in the block")
    new_content: str = Field(default="", description="The replacement; empty removes the old text")


async def replace_part(call: Call, memory: ScopedMemory, given: Replacing) -> str:
    """Change part of a block."""
    return await _edited(call, memory, given.label, old=given.old_content, new=given.new_content)


class Rethinking(CheckedModel):
    """The new text."""

    label: str = Field(description=LABEL)
    new_content: str = Field(description="The new text of the whole block")


async def rethink(call: Call, memory: ScopedMemory, given: Rethinking) -> str:
    """Rewrite a block, if the model has seen its current version."""
    seen = None if call.blocks is None else call.blocks.get(given.label)
    return await _edited(call, memory, given.label, value=given.new_content, revision=seen)


async def _edited(call: Call, memory: ScopedMemory, label: str, **edit: Any) -> str:
    block: Block = await call(
        memory.block(label).edit, id=call.key, source=call.sources, origin=Origin.ASSISTANT, **edit
    )
    return f"Done. The block '{block.label}' has {len(block.value)} of {block.max_chars} characters."


class Sending(CheckedModel):
    """What to say."""

    message: str = Field(description="What the user reads")


async def send(call: Call, memory: ScopedMemory, given: Sending) -> str:
    """The message itself; the caller passes it to the user."""
    _ = call, memory
    if not given.message.strip():
        raise InvalidInputError("message is empty: say something to the user")
    return given.message


PAGE_LINES = 5
MAX_PAGE = 19
MOST_FOUND = PAGE_LINES * (MAX_PAGE + 1)
"""How many hits are recalled for any page, so that the order is the same for all of them."""

LEAST_LINE_TOKENS = 12

FRAME_TOKENS = 20
"""Tokens for the note that there is more."""

PAGE: Any = Field(default=0, ge=0, le=MAX_PAGE, description="0 for the best, 1 for the next, and so on")


def _page(call: Call, number: int, results: Sequence[T], line: Callable[[T, int], str], nothing: str) -> str:
    """One page of the results, with lines that together fit this call, and whether there are more."""
    room = (call.max_tokens - FRAME_TOKENS) // PAGE_LINES
    most = max(LEAST_LINE_TOKENS, min(LINE_TOKENS, room - FRAME_TOKENS))
    start = PAGE_LINES * number
    lines = [line(result, most) for result in results[start : start + PAGE_LINES]]
    if not lines:
        return "There are no more." if number else nothing
    more = len(results) > start + PAGE_LINES
    return "\n".join([*lines, f"(more: page={number + 1})" if more else "(no more)"])


INSERTED = "archival_memory_insert"


class Inserting(CheckedModel):
    """What to keep."""

    content: str = Field(description="A note that can be understood alone, of any length")


async def insert(call: Call, memory: ScopedMemory, given: Inserting) -> str:
    """Keep a note without a time limit."""
    if not given.content.strip():
        raise InvalidInputError("content is empty: say what to keep")
    note = Message(
        role=Role.ASSISTANT,
        content=given.content,
        id=f"archival:{call.key}" if call.key else None,
        extra={"made_of": list(call.sources)} if call.sources else {},
        metadata={NOTED_WITH: INSERTED},
    )
    receipt: Receipt = await call(outside(memory).remember, note)
    return f"Kept as {named(receipt.positions[0])}." if receipt.positions else "Kept; you can find it a little later."


class Searching(CheckedModel):
    """What to look for."""

    query: str = Field(description="A question, or words")
    page: int = PAGE


async def search_archive(call: Call, memory: ScopedMemory, given: Searching) -> str:
    """Notes that answer the query, best first, a page at a time."""
    hits: Hits = await call(
        memory.recall, given.query, k=MOST_FOUND, kinds=(RecordKind.TURN,), metadata={NOTED_WITH: INSERTED}
    )
    nothing = "Archival memory has nothing about that."
    return _page(call, given.page, hits, lambda hit, most: line_of(hit.record, given.query, most), nothing)


async def search(call: Call, memory: ScopedMemory, given: Searching) -> str:
    """Messages that answer the query, best first, a page at a time."""
    hits: Hits = await call(memory.recall, given.query, k=MOST_FOUND, kinds=(RecordKind.TURN,))
    # Neither notes nor the very question that the model is answering.
    said = [
        hit
        for hit in hits
        if hit.record.metadata.get(NOTED_WITH) != INSERTED and hit.record.sources[0] not in call.because
    ]
    nothing = "Nothing was said about that."
    return _page(call, given.page, said, lambda hit, most: line_of(hit.record, given.query, most), nothing)


class SearchingDate(CheckedModel):
    """When it was said."""

    start_date: str = Field(description="From this date on: 2026-05-03, or with a time 2026-05-03T14:00")
    end_date: str = Field(default="", description="Up to this date, inclusive; empty for that day alone")
    page: int = PAGE


async def search_date(call: Call, memory: ScopedMemory, given: SearchingDate) -> str:
    """Messages of some days, oldest first, a page at a time."""
    since, until = _span(given)
    messages: list[Message] = await call(memory.history, since=since, until=until)

    def line(message: Message, most: int) -> str:
        text = escaped(shortened(clean(message.text), "", most))
        return f"[{message.at:%Y-%m-%d %H:%M}] {speaker(message.spoken_by, message.speaker, text)}: {text}"

    turns = [
        message
        for message in messages
        if message.role is not Role.SYSTEM
        and message.metadata.get(NOTED_WITH) != INSERTED
        and not is_echo(message)
        and message.text.strip()
    ]
    return _page(call, given.page, turns, line, "Nothing was said then.")


def _span(given: SearchingDate) -> tuple[datetime, datetime | None]:
    since = instant("start_date", given.start_date)
    if since is None:
        raise InvalidInputError("start_date is empty: give a date such as '2026-05-03'")
    until = instant("end_date", given.end_date or given.start_date[: len("2026-05-03")], end=True)
    if until is not None and until <= since:
        raise InvalidInputError(f"end_date {given.end_date!r} is before start_date {given.start_date!r}")
    return since, until


SEND = MemoryTool("send_message", "Say something to the user: the only words of yours that they see.", Sending, send)
FETCH = replace(
    reading.FETCH,
    name="fetch",
    description="Read the text behind a handle, a long text (#12) or the messages behind a line of the summary "
    "(#12-40): page by page, or the lines that match a pattern; where is lines '10-60' or characters "
    "'c1-2000'.",
)
PAGING_FUNCTIONS = (
    MemoryTool(
        "core_memory_append",
        "Add a line to a block of your working context: what you must always have at hand.",
        Appending,
        append,
    ),
    MemoryTool(
        "core_memory_replace",
        "Correct or remove part of a block of your working context.",
        Replacing,
        replace_part,
    ),
    MemoryTool(
        "core_memory_rethink",
        "Rewrite a whole block of your working context, to shorten or reorder it; keep what still matters.",
        Rethinking,
        rethink,
    ),
    MemoryTool(
        INSERTED,
        "Keep a note in archival memory, which has no limit: details that would take up too much working context.",
        Inserting,
        insert,
    ),
    MemoryTool(
        "archival_memory_search",
        "Search archival memory, five notes a page. Each line has a handle such as #12.",
        Searching,
        search_archive,
    ),
    MemoryTool(
        "conversation_search",
        "Search the whole conversation, including what has left your context, five messages a page. Each line has a "
        "handle such as #12.",
        Searching,
        search,
    ),
    MemoryTool(
        "conversation_search_date",
        "What was said on a day or between two, oldest first, five messages a page; dates as 2026-05-03, or "
        "2026-05-03T14:00.",
        SearchingDate,
        search_date,
    ),
    FETCH,
    SEND,
)
"""All of them."""


def functions_named(names: Iterable[str] | None) -> list[MemoryTool]:
    """The functions with these names, in the order of `PAGING_FUNCTIONS`; None names all.

    Raises:
        InvalidInputError: there is no function of that name.
    """
    return tools_named(names, PAGING_FUNCTIONS)


MAX_ERROR_CHARS = 1000
SHOWN_END = 60

INTERRUPTED = (
    "Error: this call was interrupted, and it is unknown whether it took effect. Find out before you call it again."
)


@dataclass(frozen=True, slots=True)
class CustomFunction:
    """A function of the application that a model can call.

    Attributes:
        name, description: its own name and docstring.
        arguments: the schema made from its annotations.
        call: the function, blocking or async.
        limit: the time that it may take.
    """

    name: str
    description: str
    arguments: type[CheckedModel]
    call: Callable[..., Any]
    limit: TimeLimit

    @classmethod
    def of(cls, function: Callable[..., Any], timeout: timedelta) -> Self:
        """The function; raises `InvalidInputError` if a model cannot call it."""
        name = getattr(function, "__name__", "")
        if not name.isidentifier():
            raise InvalidInputError(f"an agent's function must be a named function, got {shown(function)}")
        description = " ".join((inspect.getdoc(function) or "").split())
        limit = TimeLimit(f"the function {name}", timeout)
        return cls(name, description, _schema(name, function), function, limit)

    def run(self, given: Mapping[str, Any]) -> Answer:
        """The answer to the model; whatever goes wrong is an answer too."""
        try:
            checked = self.arguments.of(given)
        except InvalidInputError as error:
            return failure(str(error))
        arguments = {field.alias or name: getattr(checked, name) for name, field in type(checked).model_fields.items()}
        try:
            result = self.limit.call(partial(self._called, arguments))
        except Exception as error:  # noqa: BLE001 - whatever the function raises, or that it took too long
            return failure(str(error) if isinstance(error, ModelError) else described(error))
        return Answer(_as_text(result))

    def _called(self, arguments: Mapping[str, Any]) -> Any:
        result = self.call(**arguments)
        return asyncio.run(result) if inspect.iscoroutine(result) else result


def failure(text: str) -> Answer:
    """The answer that tells the model of an error."""
    text = encodable(text)
    short = text if len(text) <= MAX_ERROR_CHARS else f"{text[:MAX_ERROR_CHARS]}…"
    return Answer(f"Error: {short}", failed=True)


def unread(words: str) -> str:
    """Why a call was not executed whose arguments are not an object."""
    if cut_off(words):
        return (
            "your call was cut off before the end of its JSON, or has a quotation mark that is not escaped, and was "
            f"not made: write it again in full, or say less in it. It ends with: {words[-SHOWN_END:]}"
        )
    return f"the arguments are not a JSON object, and the call was not made: {shown(words)}"


def _as_text(result: Any) -> str:
    if result is None:
        return "Done."
    if not isinstance(result, str):
        try:
            result = json.dumps(result, ensure_ascii=False, default=str)
        except Exception:  # noqa: BLE001 - whatever a foreign object does
            result = f"(a {type(result).__name__}, which cannot be written as JSON)"
    return encodable(result)


def _schema(name: str, function: Callable[..., Any]) -> type[CheckedModel]:
    try:
        hints = typing.get_type_hints(function, include_extras=True)
        fields: dict[str, Any] = {}
        for row, parameter in enumerate(inspect.signature(function).parameters.values()):
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise InvalidInputError(f"{name}: a model passes arguments by name and cannot fill in {parameter}")
            if parameter.name in (HEARTBEAT, THOUGHTS):
                raise InvalidInputError(f"{name}: {parameter.name!r} is reserved in every call")
            default = ... if parameter.default is parameter.empty else parameter.default
            # Under a name of ours, since pydantic keeps some to itself.
            fields[f"argument_{row}"] = (hints.get(parameter.name, Any), Field(default, alias=parameter.name))
        schema = create_model(name, __base__=CheckedModel, **fields)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            schema.model_json_schema()
    except (NameError, TypeError, ValueError, PydanticUserError, Warning) as error:
        raise InvalidInputError(f"a model cannot call {name}: {error}") from error
    return schema
