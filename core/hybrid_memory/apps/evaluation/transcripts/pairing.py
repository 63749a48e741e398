"""Which result belongs to which call, told by ids."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from hybrid_memory.log.message import Message, Role, ToolCall


def paired(messages: Iterable[Message]) -> list[Message]:
    """The messages, each call with an id that no other call has, each result with the id of its call.

    A result without an id answers the first unanswered call of the latest message with calls, of its own name if it
    has one. A call keeps its id unless an earlier call has it. A result whose call is missing stays as it is.
    """
    book = _Calls()
    return [book.paired(message) for message in messages]


class _Calls:
    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._numbers = count(1)
        self._ids: dict[str, list[str]] = {}
        """By the id in the file: the calls of the latest message that has it, unanswered ones first to last."""
        self._waiting: dict[str, str] = {}
        """The tools of the latest message's unanswered calls, by our id."""

    def paired(self, message: Message) -> Message:
        if message.tool_calls:
            calls = self._asked(message.tool_calls)
            return message if calls == message.tool_calls else message.model_copy(update={"tool_calls": calls})
        if message.role is not Role.TOOL:
            return message
        id_ = self._answered(message)
        self._waiting.pop(id_ or "", None)
        return message if id_ == message.tool_call_id else message.model_copy(update={"tool_call_id": id_})

    def _asked(self, calls: Iterable[ToolCall]) -> list[ToolCall]:
        self._waiting = {}
        given: dict[str, list[str]] = {}
        found = []
        for call in calls:
            id_ = call.id if call.id and call.id not in self._taken else self._unused()
            self._taken.add(id_)
            self._waiting[id_] = call.name
            if call.id:
                given.setdefault(call.id, []).append(id_)
            found.append(call if call.id == id_ else call.model_copy(update={"id": id_}))
        self._ids |= given
        return found

    def _unused(self) -> str:
        return next(name for number in self._numbers if (name := f"call-{number}") not in self._taken)

    def _answered(self, message: Message) -> str | None:
        if message.tool_call_id:
            ids = self._ids.get(message.tool_call_id, [message.tool_call_id])
            return ids.pop(0) if len(ids) > 1 else ids[0]
        named = (id_ for id_, tool in self._waiting.items() if message.name in (None, tool))
        return next(named, next(iter(self._waiting), None))
