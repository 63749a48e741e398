"""A conversation to evaluate, from any source, with each result paired with its call."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, Self

from hybrid_memory import Message, Role, ToolCall, as_messages
from hybrid_memory.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation of one user with one assistant, oldest message first.

    Attributes:
        name: its name in the report.
        messages: the messages, with unique ids.
        form: the form it was read from.
        key: its key in its file; empty if it has none.
        undated: ids of the messages without a time of their own.
    """

    name: str
    messages: tuple[Message, ...]
    form: str = "messages"
    key: str = ""
    undated: frozenset[str | None] = frozenset()

    @classmethod
    def of(
        cls,
        messages: Sequence[Message | dict[str, Any]],
        *,
        name: str = "chat",
        form: str = "messages",
        key: str = "",
    ) -> Self:
        """The conversation of these messages; those without an id, or with a repeated one, get a numbered id.

        Raises:
            InvalidInputError: there are no messages, or one of them is not a message.
        """
        if not messages:
            raise InvalidInputError(f"{name} has no messages")
        given = as_messages(list(messages))
        taken = {message.id for message in given}
        seen: set[str] = set()
        said = []
        for number, message in enumerate(given, 1):
            id_ = message.id if message.id and message.id not in seen else _free(f"turn-{number}", taken)
            taken.add(id_)
            seen.add(id_)
            said.append(message if message.id == id_ else message.model_copy(update={"id": id_}))
        return cls(name, tuple(said), form, key, frozenset(message.id for message in said if message.at is None))

    @property
    def digest(self) -> str:
        """A digest of the whole conversation, different for every conversation."""
        said = "\n".join(message.model_dump_json(exclude={"at"}) for message in self.messages)
        return hashlib.blake2b(said.encode(), digest_size=8).hexdigest()

    def __repr__(self) -> str:
        return f"<Transcript {self.name}: {len(self.messages)} messages, read as {self.form}>"


def _free(name: str, taken: Collection[str | None]) -> str:
    names = chain([name], (f"{name}-{again}" for again in count(2)))
    return next(free for free in names if free not in taken)


def paired(messages: Iterable[Message]) -> list[Message]:
    """The messages, with a unique id for each call, and the id of its call for each result.

    A result without an id answers the first unanswered call of the latest message with calls; if it has a name, the
    first call of that name. A call keeps its id unless an earlier call has the same. A result without a call is
    unchanged.
    """
    book = _Calls()
    return [book.paired(message) for message in messages]


class _Calls:
    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._numbers = count(1)
        self._ids: dict[str, list[str]] = {}
        """By id in the file: the unanswered calls of the latest message with this id, in order."""
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
        results = []
        for call in calls:
            id_ = call.id if call.id and call.id not in self._taken else self._unused()
            self._taken.add(id_)
            self._waiting[id_] = call.name
            if call.id:
                given.setdefault(call.id, []).append(id_)
            results.append(call if call.id == id_ else call.model_copy(update={"id": id_}))
        self._ids |= given
        return results

    def _unused(self) -> str:
        return next(name for number in self._numbers if (name := f"call-{number}") not in self._taken)

    def _answered(self, message: Message) -> str | None:
        if message.tool_call_id:
            ids = self._ids.get(message.tool_call_id, [message.tool_call_id])
            return ids.pop(0) if len(ids) > 1 else ids[0]
        named = (id_ for id_, tool in self._waiting.items() if message.name in (None, tool))
        return next(named, next(iter(self._waiting), None))
