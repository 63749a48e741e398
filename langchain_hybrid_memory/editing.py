"""Fit the messages of one model call into a budget, and convert messages for `HybridMemory.condense`."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from hybrid_memory import Message, Role, ToolCall
from hybrid_memory.adapters import exchanges
from hybrid_memory.errors import InvalidMessageError
from langchain_hybrid_memory.messages import from_langchain, is_summary

SHARES = (4, 16, 64)
"""A tool result may take a fourth of the budget, else a sixteenth, else a sixty-fourth."""

LEAST_TOKENS = 20

NOTHING = "[left out]"
"""Providers refuse a result without content."""

_DIGEST = re.compile(r'^read on: \w+\("#\d', re.MULTILINE)

Count = Callable[[Sequence[BaseMessage]], int]
Shorten = Callable[[str, str | None, int], str]


def as_sources(messages: Sequence[BaseMessage]) -> list[str | Message]:
    """The messages for `HybridMemory.condense`; an earlier summary by LangChain as plain text."""
    return [_as_source(message) for message in messages]


def _as_source(message: BaseMessage) -> str | Message:
    if is_summary(message):
        return str(message.text).partition("\n\n")[2] or str(message.text)
    try:
        return from_langchain(message, keep_id=False)
    except InvalidMessageError:  # what no log could hold can still be summarised
        return str(message.text).encode(errors="replace").decode()


def edited(messages: list[AnyMessage], max_tokens: int, count: Count, shorten: Shorten) -> None:
    """Shorten tool results, then leave out exchanges, until the messages fit ``max_tokens`` or nothing more can go.

    The list is changed in place, the messages in it are not. ``shorten`` takes a text, the question it was fetched for,
    and its budget in tokens.
    """
    if count(messages) <= max_tokens:
        return
    last = max((row for row, message in enumerate(messages) if isinstance(message, AIMessage)), default=0)
    results = [row for row, message in enumerate(messages) if isinstance(message, ToolMessage)]
    old, new = [row for row in results if row < last], [row for row in results if row > last]
    for rows in (old, new):
        for share in SHARES:
            limit = max(LEAST_TOKENS, max_tokens // share)
            if _fewest(messages, rows, partial(_shortened, limit=limit, shorten=shorten), max_tokens, count):
                return
    _left_out(messages, max_tokens, count)


def _fewest(
    messages: list[AnyMessage],
    rows: Sequence[int],
    short: Callable[[Sequence[AnyMessage], int], AnyMessage],
    max_tokens: int,
    count: Count,
) -> bool:
    """Shorten as few of the oldest as necessary; if all are not enough, shorten all and return False."""
    before = list(messages)
    made: dict[int, AnyMessage] = {}

    def fits(number: int) -> bool:
        """Whether shortening this many is enough."""
        for row in rows[:number]:
            made[row] = made.get(row) or short(before, row)
        now = set(rows[:number])
        messages[:] = [made[row] if row in now else message for row, message in enumerate(before)]
        # Counting takes its time, and where nothing was shortened its result is known.
        return any(made[row] is not before[row] for row in now) and count(messages) <= max_tokens

    most = 1
    while most < len(rows) and not fits(most):
        most *= 2
    most = min(most, len(rows))
    return fits(bisect_left(range(most), True, lo=most // 2, key=fits))


def _shortened(messages: Sequence[AnyMessage], row: int, *, limit: int, shorten: Shorten) -> AnyMessage:
    message = messages[row]
    question = next(
        (str(asked.text) for asked in reversed(messages[:row]) if isinstance(asked, HumanMessage) and asked.text), None
    )

    def short(text: str) -> str:
        if not text.strip() or _DIGEST.search(text):
            return text
        return shorten(text, question if question and question.strip() else None, limit) or NOTHING

    def of_block(block: str | dict[Any, Any]) -> str | dict[Any, Any]:
        if isinstance(block, str):
            return short(block)
        return {**block, "text": short(block["text"])} if isinstance(block.get("text"), str) else block

    content = message.content
    changed = short(content) if isinstance(content, str) else [of_block(block) for block in content]
    return message if changed == content else message.model_copy(update={"content": changed})


def _left_out(messages: list[AnyMessage], max_tokens: int, count: Count) -> None:
    """Leave out as few of the oldest exchanges as necessary, so that the rest begins with a user turn."""
    found = [exchange.rows for exchange in exchanges([_outlined(message) for message in messages])]
    people = [row for row, message in enumerate(messages) if isinstance(message, HumanMessage)]
    asked = people[-1] if people else -1
    newest = max(found, key=lambda rows: rows[-1])
    # Somebody may have written while the newest tools ran; then the turn that they run for stays too.
    opening = max((row for row in people if row < newest[0]), default=asked) if newest[-1] > asked else asked
    stays = {asked, opening, *(newest if newest[-1] > asked else ())}
    groups = [rows for rows in found if not isinstance(messages[rows[0]], SystemMessage) and stays.isdisjoint(rows)]

    def without(number: int) -> list[AnyMessage]:
        gone = {row for rows in groups[:number] for row in rows}
        return [message for row, message in enumerate(messages) if row not in gone]

    def opens(number: int) -> bool:
        first = next((message for message in without(number) if not isinstance(message, SystemMessage)), None)
        return not people or isinstance(first, HumanMessage)

    numbers = range(1, len(groups) + 1)
    enough = bisect_left(numbers, True, key=lambda number: count(without(number)) <= max_tokens) + 1
    while enough < len(groups) and not opens(enough):
        enough += 1
    messages[:] = without(enough)


def _outlined(message: AnyMessage) -> Message:
    """Who speaks, and which calls and results belong together; unchecked, since it is not stored."""
    if isinstance(message, ToolMessage):
        return Message.model_construct(role=Role.TOOL, tool_call_id=message.tool_call_id)
    if isinstance(message, AIMessage):
        asked = [*message.tool_calls, *message.invalid_tool_calls]
        calls = [ToolCall.model_construct(name="", id=call["id"]) for call in asked]
        return Message.model_construct(role=Role.ASSISTANT, tool_calls=calls)
    return Message.model_construct(role=Role.USER)
