"""Groups messages of a conversation into exchanges, and finds what the memory's own tools repeat."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import Message, Role


@dataclass(slots=True)
class Exchange:
    """A message and the results of its calls, if any.

    Attributes:
        rows: the rows of its messages, ascending.
        waiting: results that have not arrived, by call id.
        pending: whether they may still arrive: no assistant message has followed.
        orphan: whether it is a result without a call, or a second result for its call.
    """

    rows: list[int]
    waiting: Counter[str | None] = field(default_factory=Counter)
    pending: bool = False
    orphan: bool = False

    @property
    def complete(self) -> bool:
        """Whether a chat model accepts it: no result without a call, and no call without a result."""
        return not self.orphan and not self.waiting.total()


def exchanges(messages: Sequence[Message]) -> list[Exchange]:
    """The messages grouped into exchanges, by their first row; each message is in exactly one.

    A result belongs to the latest call with its id that has none yet, even if other messages came in between: people
    write while tools run.
    """
    found: list[Exchange] = []
    open_ones: list[Exchange] = []
    for row, message in enumerate(messages):
        if message.role is not Role.TOOL:
            if message.role is Role.ASSISTANT:
                for exchange in open_ones:
                    exchange.pending = False
            # Counted, because calls without an id, or with the same one, need a result each.
            exchange = Exchange([row], Counter(call.id for call in message.tool_calls), pending=True)
            found.append(exchange)
            if message.tool_calls:
                open_ones.append(exchange)
            continue
        name = message.tool_call_id
        asked = next((exchange for exchange in reversed(open_ones) if exchange.waiting[name]), None)
        if asked is None:
            found.append(Exchange([row], orphan=True))
            continue
        asked.rows.append(row)
        asked.waiting[name] -= 1
        if asked.complete:
            open_ones.remove(asked)
    for exchange in found:
        exchange.pending = exchange.pending and not exchange.complete
    return found


OWN_TOOLS = frozenset(
    """memory_remember memory_recall memory_update memory_forget memory_fetch
    memory_why memory_profile memory_share memory_file
    core_memory_append core_memory_replace core_memory_rethink archival_memory_insert archival_memory_search
    conversation_search conversation_search_date fetch""".split()
)
"""Names of the tools with which a model uses its memory."""

FORGOTTEN = "(forgotten)"

_HANDLE = re.compile(r"#(\d{1,18})(?:-(\d{1,18}))?")


def is_echo(message: Message) -> bool:
    """Whether it only calls the memory's own tools, or is the result of such a call.

    These messages stay in the conversation but are not recalled: otherwise a memory would find its own answers.
    """
    if message.role is Role.TOOL:
        return message.name in OWN_TOOLS
    called = [call.name in OWN_TOOLS for call in message.tool_calls]
    return bool(called) and all(called)


class Echoes:
    """Removes from the memory's own tool messages what they repeat of erased turns."""

    def __init__(self, gone: Iterable[Event]) -> None:
        self._positions: set[int] = set()
        self._words: set[str] = set()
        for event in gone:
            self.add(event)

    def add(self, event: Event) -> None:
        """Add another erased turn."""
        self._positions.add(event.position)
        if event.kind is EventKind.MESSAGE and (said := _plain(event.message.text)):
            self._words.add(said)

    def without(self, event: Event) -> dict[str, Any] | None:
        """The payload of an echo without the words of the erased turns; None if it repeats none of them."""
        said = event.payload.get("role") == Role.TOOL or event.payload.get("tool_calls")
        if event.kind is not EventKind.MESSAGE or not said or not is_echo(event.message):
            return None
        message = event.message
        payload = {key: value for key, value in event.payload.items() if key != "extra"}  # a framework's copy of words
        if message.role is Role.TOOL:
            text = _plain(message.text)
            stretches = [(int(found[1]), int(found[2] or found[1])) for found in _HANDLE.finditer(text)]
            repeated = any(words in text for words in self._words) or any(
                first <= position <= last for position in self._positions for first, last in stretches
            )
            return {**payload, "content": FORGOTTEN} if repeated else None
        written = [_plain(call.written_arguments) for call in message.tool_calls]
        cleared = [
            {**call, "arguments": {}} if any(words in arguments for words in self._words) else call
            for call, arguments in zip(payload["tool_calls"], written, strict=True)
        ]
        return {**payload, "tool_calls": cleared} if cleared != payload["tool_calls"] else None


def _plain(text: str) -> str:
    return " ".join(text.replace(r"\"", '"').casefold().split())
