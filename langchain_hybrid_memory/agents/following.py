"""How the log follows the messages of an agent's state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, ChatMessage
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
    """

    last: str | None
    known: dict[str, str]


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
        known = self.seen["known"]
        return [known.get(said.id, said.id) for said in self.messages if said.id]

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
        now = Seen(last=fresh[-1].id if fresh else None, known={**seen["known"], **odd})
        return None if now == seen else {STATE: {**self.state.get(STATE, {}), self.name: now}}


def _converted(message: BaseMessage) -> Message:
    try:
        return from_langchain(message)
    except InvalidMessageError:  # what JSON cannot hold is kept as what JSON can tell of it
        return from_langchain(message.model_copy(update={"content": json_form("content", message.content)}))


def _is_users(message: BaseMessage) -> bool:
    return message.type == "human" or (isinstance(message, ChatMessage) and message.role in {"user", "human"})
