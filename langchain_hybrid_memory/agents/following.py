"""How the log follows the messages of an agent's state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from typing import Any, NotRequired

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage
from typing_extensions import TypedDict

from hybrid_memory.errors import InvalidMessageError
from hybrid_memory.types import Message
from langchain_hybrid_memory.messages import from_langchain
from langchain_hybrid_memory.payload import json_form

STATE = "hybrid_memory"
"""The key of the state that is ours."""


class Seen(TypedDict):
    """How far the log follows the state.

    Attributes:
        last: the id of the newest message that was written; None before the first.
        known: the ids of events by those of messages, where they differ.
        blocks: revisions of the blocks that the model was shown last, by label, if it edits them.
    """

    last: str | None
    known: dict[str, str]
    blocks: NotRequired[dict[str, int]]


@dataclass(frozen=True, slots=True)
class Follower:
    """An agent's state, and how far it was written under the name of a middleware."""

    state: Mapping[str, Any]
    name: str

    @property
    def messages(self) -> Sequence[BaseMessage]:
        """Of the state."""
        said: Sequence[BaseMessage] = self.state["messages"]
        return said

    @property
    def seen(self) -> Seen:
        """What was noted at the last write."""
        return self.state.get(STATE, {}).get(self.name) or Seen(last=None, known={})

    @property
    def written(self) -> Sequence[BaseMessage]:
        """The messages that the log has; those before the newest that was written count."""
        last = self.seen["last"]
        end = next((row for row in range(len(self.messages), 0, -1) if self.messages[row - 1].id == last), 0)
        return self.messages[:end]

    @property
    def answerable(self) -> bool:
        """Whether the user said something, and all that they said is written."""
        fresh = self.messages[len(self.written) :]
        return any(map(_is_users, self.messages)) and not any(map(_is_users, fresh))

    @property
    def ids(self) -> list[str]:
        """Of the events behind the messages."""
        return self._ids(self.messages)

    def behind(self, call: str) -> list[str]:
        """The ids of the events of a tool call: of the message that holds it, then of the user's turns before it."""
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
        """The messages to write: from the newest written one on, since it may have been edited."""
        return [_converted(said) for said in self._fresh]

    @property
    def _fresh(self) -> Sequence[BaseMessage]:
        return self.messages[max(0, len(self.written) - 1) :]

    def noted(self, ids: Sequence[str | None]) -> dict[str, Any] | None:
        """The update of the state after `fresh` was written as these events; None if nothing changes."""
        seen, fresh = self.seen, self._fresh
        odd = {said.id: name for said, name in zip(fresh, ids, strict=True) if said.id and name and said.id != name}
        return self._update({**seen, "last": fresh[-1].id if fresh else None, "known": {**seen["known"], **odd}})

    def noted_blocks(self, blocks: Mapping[str, int]) -> dict[str, Any] | None:
        """The update of the state after the model was shown these revisions; None if nothing changes."""
        return self._update({**self.seen, "blocks": dict(blocks)})

    def _update(self, now: Seen) -> dict[str, Any] | None:
        return None if now == self.seen else {STATE: {**self.state.get(STATE, {}), self.name: now}}


def _converted(message: BaseMessage) -> Message:
    try:
        return from_langchain(message)
    except InvalidMessageError:  # what JSON cannot hold is kept as what JSON can tell of it
        return from_langchain(message.model_copy(update={"content": json_form("content", message.content)}))


def _calls(message: BaseMessage, call: str) -> bool:
    return isinstance(message, AIMessage) and any(made["id"] == call for made in message.tool_calls)


def _is_users(message: BaseMessage) -> bool:
    return message.type == "human" or (isinstance(message, ChatMessage) and message.role in {"user", "human"})
