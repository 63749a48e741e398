"""Keeps the log in step with the messages in an agent's state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import dropwhile, takewhile
from typing import Any, NotRequired

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage
from typing_extensions import TypedDict

from hybrid_memory import Block, Message, Role
from hybrid_memory.adapters import LruCache
from hybrid_memory.errors import InvalidMessageError
from langchain_hybrid_memory.messages import from_langchain, json_form

STATE = "hybrid_memory"
"""Our key in the state."""

KEPT = 20_000
"""Messages whose words are known; others are looked up in the log."""

CALLER = "caller"
"""Who speaks to an agent inside a tool: another agent, so nothing of it is learned of the user."""


class Seen(TypedDict):
    """How much of the state is in the log."""

    last: str | None  # the id of the newest message that was written
    known: dict[str, str]  # the ids of events by those of messages, where they differ
    began: NotRequired[str | None]  # the id of the first message that the state ever had
    blocks: NotRequired[dict[str, int]]  # revisions of the blocks that the model was shown last, if it edits them


class Written:
    """The words of messages as last written, to detect edits; callable from any thread."""

    def __init__(self) -> None:
        self._words: LruCache[str, tuple[Any, Any]] = LruCache(KEPT)

    def has(self, message: BaseMessage) -> bool:
        """Whether the message was written with these words."""
        return message.id is not None and self._words.get(message.id) == _words(message)

    def put(self, messages: Iterable[BaseMessage]) -> None:
        for message in messages:
            if message.id is not None:
                self._words.put(message.id, _words(message))


def _words(message: BaseMessage) -> tuple[Any, Any]:
    # Asked of all messages in each call, and for a name that it lacks Pydantic searches long.
    return message.content, message.tool_calls if isinstance(message, AIMessage) else None


@dataclass(frozen=True)
class Follower:
    """An agent's state, and how much of it a middleware of this name has written."""

    state: Mapping[str, Any]
    name: str
    words: Written = field(default_factory=Written)
    nested: bool = False  # the agent works for another one, whose words are no user's
    changed: bool = False  # this differs from what the state holds

    @property
    def messages(self) -> Sequence[BaseMessage]:
        said: Sequence[BaseMessage] = self.state["messages"]
        return said

    @property
    def seen(self) -> Seen:
        return self.state.get(STATE, {}).get(self.name) or Seen(last=None, known={})

    @property
    def written(self) -> Sequence[BaseMessage]:
        """The messages that are in the log: all up to the newest written one."""
        last = self.seen["last"]
        end = next((row for row in range(len(self.messages), 0, -1) if self.messages[row - 1].id == last), 0)
        return self.messages[:end]

    @property
    def answerable(self) -> bool:
        """Whether the user said something."""
        return any(map(_is_users, self.messages))

    @property
    def began(self) -> str | None:
        """The event id of the first message that the state ever had."""
        first = self.seen.get("began")
        return None if first is None else self.seen["known"].get(first, first)

    @property
    def ids(self) -> list[str]:
        return self._ids(self.messages)

    def behind(self, call: str) -> list[str]:
        """The event ids behind a tool call: its own message, then the user turns before it."""
        rows = (row for row in reversed(range(len(self.messages))) if _calls(self.messages[row], call))
        row = next(rows, None)
        if row is None:
            return []
        before = dropwhile(lambda said: not _is_users(said), reversed(self.messages[:row]))
        return self._ids([self.messages[row], *takewhile(_is_users, before)])

    def _ids(self, messages: Sequence[BaseMessage]) -> list[str]:
        known = self.seen["known"]
        return [known.get(said.id, said.id) for said in messages if said.id]

    def fresh(self) -> list[Message]:
        """The messages to write: those after the newest written one, and earlier ones that may have been edited."""
        return [self._converted(said) for said in self._fresh]

    @cached_property
    def _fresh(self) -> list[BaseMessage]:
        old = max(0, len(self.written) - 1)
        return [said for row, said in enumerate(self.messages) if row >= old or not self.words.has(said)]

    def _converted(self, said: BaseMessage) -> Message:
        message = _converted(said)
        ours = self.nested and message.role is Role.USER and message.name is None
        return message.model_copy(update={"name": CALLER}) if ours else message

    def after(self, ids: Sequence[str | None]) -> Follower:
        """The follower after `fresh` was written as these events."""
        seen, fresh = self.seen, self._fresh
        odd = {said.id: name for said, name in zip(fresh, ids, strict=True) if said.id and name and said.id != name}
        began = seen.get("began") or (self.messages[0].id if self.messages else None)
        last = self.messages[-1].id if self.messages else None
        self.words.put(fresh)
        return self._with({**seen, "last": last, "known": {**seen["known"], **odd}, "began": began})

    def shown(self, blocks: Mapping[str, Block] | None) -> Follower:
        """The follower after the model saw these blocks."""
        if blocks is None:
            return self
        return self._with({**self.seen, "blocks": {label: block.revision for label, block in blocks.items()}})

    @property
    def update(self) -> dict[str, Any] | None:
        """The update of the state; None if nothing changes."""
        return {STATE: {self.name: self.seen}} if self.changed else None

    def _with(self, now: Seen) -> Follower:
        if now == self.seen:
            return self
        noted = {**self.state.get(STATE, {}), self.name: now}
        return replace(self, state={**self.state, STATE: noted}, changed=True)


def _converted(message: BaseMessage) -> Message:
    try:
        return from_langchain(message)
    except InvalidMessageError:  # what JSON cannot hold is kept as what JSON can tell of it
        return from_langchain(message.model_copy(update={"content": json_form("content", message.content)}))


def _calls(message: BaseMessage, call: str) -> bool:
    return isinstance(message, AIMessage) and any(made["id"] == call for made in message.tool_calls)


def _is_users(message: BaseMessage) -> bool:
    return message.type == "human" or (isinstance(message, ChatMessage) and message.role in {"user", "human"})
