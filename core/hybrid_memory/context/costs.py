"""What messages take in a prompt, whole and shortened; each is counted once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from hybrid_memory.context.layout import as_event
from hybrid_memory.context.shortening import shortened
from hybrid_memory.log.event import Event, handle
from hybrid_memory.log.message import Message, Role
from hybrid_memory.text.tokenize import terms
from hybrid_memory.text.tokens import TokenCounter, message_tokens

QUESTION_CHARS = 4000
"""Of a question that are looked for in a long text."""

Shown: TypeAlias = tuple[Message, int]
"""A message as a prompt shows it, and its tokens."""


class Kept(Protocol):
    """A cache of messages as prompts show them."""

    def get(self, key: tuple[object, ...], /) -> Shown | None:
        """What was put under this key, if it is still there."""
        ...

    def put(self, key: tuple[object, ...], value: Shown, /) -> None:
        """Keep it for a while."""
        ...


@dataclass(frozen=True)
class Costs:
    """Counts messages of the log, and remembers what it counted."""

    count: TokenCounter
    kept: Kept

    def whole(self, event: Event) -> Shown:
        """The message as it was said; a later system message speaks as an event."""
        return self._remembered((event.position, event.id), lambda: _spoken(event.message))

    def short(self, event: Event, limit: int, reader: str, question: str, *, fresh: bool) -> Shown:
        """The message with each text in at most ``limit`` tokens; ``fresh`` if nobody answered it yet."""

        def made() -> Message:
            return _spoken(
                shortened(
                    event.message, handle=handle(event.position, event.position), max_tokens=limit, count=self.count,
                    reader=reader, wanted=terms(question[:QUESTION_CHARS]), fresh=fresh,
                )
            )  # fmt: skip

        # Of a digest the question changes nothing.
        about = "" if reader and not fresh else question
        return self._remembered((event.position, event.id, limit, reader, about, fresh), made)

    def of(self, laid: Sequence[Message]) -> int:
        """Tokens of these messages."""
        return sum(message_tokens(message, self.count) for message in laid)

    def _remembered(self, key: tuple[object, ...], made: Callable[[], Message]) -> Shown:
        found = self.kept.get(key)
        if found is None:
            message = made()
            found = message, message_tokens(message, self.count)
            self.kept.put(key, found)
        return found


def _spoken(message: Message) -> Message:
    if message.role is not Role.SYSTEM:
        return message
    return message.model_copy(update={"role": Role.USER, "content": as_event(message.text).content})
