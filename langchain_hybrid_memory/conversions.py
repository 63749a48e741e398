"""Messages of prompts as LangChain's, each made once, because a prompt repeats most of the one before."""

from __future__ import annotations

from langchain_core.messages import BaseMessage

from hybrid_memory import Message
from langchain_hybrid_memory.messages import to_langchain

KEPT = 4096
"""Messages that are kept; then all make room, which costs less than to know which of them is the oldest."""


class Conversions:
    """Turns messages into LangChain's, which nobody may change then; callable from any thread."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Message, BaseMessage]] = {}

    def __call__(self, message: Message) -> BaseMessage:
        """The message as LangChain's."""
        found = self._made.get(id(message.extra))
        # The core keeps the turns of a prompt. A note in front of one makes a copy, which shares all but the content.
        if found is None or not _alike(found[0], message):
            if len(self._made) >= KEPT:
                self._made.clear()
            found = self._made[id(message.extra)] = message, to_langchain(message)
        return found[1]


def _alike(one: Message, other: Message) -> bool:
    if one is other:
        return True
    shared = one.extra is other.extra and one.tool_calls is other.tool_calls
    return shared and one.content == other.content
