"""What an agent did about an event."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from hybrid_memory.types import Message
from hybrid_memory.types.validation import shown

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
        rows = "".join(
            f'<tr><td style="vertical-align:top"><b>{message.event or message.role}</b></td>'
            f'<td style="white-space:pre-wrap;text-align:left">{escape(_short(message.text))}</td></tr>'
            for message in self.messages
        )
        return f"<table>{rows}</table><small>{escape(self.why)}, {len(self.calls)} calls</small>"


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"
