"""What an agent did about an event."""

from __future__ import annotations

from dataclasses import dataclass

from hybrid_memory import display
from hybrid_memory.log.message import Message, Role
from hybrid_memory.validation import shown

SHOWN_CHARS = 500
"""Of a message in a notebook."""


@dataclass(frozen=True, slots=True)
class AgentRun:
    """What an agent did about an event.

    Attributes:
        replies: what it said to the user.
        messages: all that was said from the event on: calls, results, replies, warnings.
        why: it yielded: ``yielded`` by itself, or ``stopped ...``.
    """

    replies: tuple[str, ...]
    messages: tuple[Message, ...]
    why: str

    @property
    def text(self) -> str:
        """The replies as one text."""
        return "\n\n".join(self.replies)

    @property
    def calls(self) -> list[str]:
        """The names of the functions that it called, in order."""
        return [call.name for message in self.messages for call in message.tool_calls]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<AgentRun {self.why}: {len(self.calls)} calls, {len(self.replies)} replies: {shown(self.text)}>"

    def _repr_html_(self) -> str:
        said = "".join(
            display.under(
                display.CONTEXT if message.role is Role.ASSISTANT else display.PLAIN,
                display.text(_short(message.text) or ", ".join(call.name for call in message.tool_calls)),
                display.text(message.event or message.role),
            )
            for message in self.messages
        )
        return display.card(f"{display.text(self.why)}, {len(self.calls)} calls", said)


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"
