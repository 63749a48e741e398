"""The speaker of a turn, and the question it answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from hybrid_memory.facts.fact import USER
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import Role
from hybrid_memory.text.speakers import voice

MAX_CHARS = 4_000
"""How much of a turn is read."""

_ASKED_CHARS = 200
_ASKS = re.compile(r"[?？吗呢]")
_QUOTES = str.maketrans("’‘“”", "''\"\"")


@dataclass(frozen=True, slots=True)
class Turn:
    """A person's words.

    Attributes:
        owner: the subject of what they say about themselves; empty if they can say nothing about themselves.
        speaker: distinguishes speakers.
        words: without a leading name, with plain quotation marks.
    """

    owner: str
    speaker: str
    words: str
    position: int
    at: datetime

    @property
    def question(self) -> str:
        """The end of the turn, if it may contain a question."""
        end = self.words[-_ASKED_CHARS:]
        return end if _ASKS.search(end) else ""


def turn_of(event: Event) -> Turn | None:
    """The words of an event with their speaker; None if nobody speaks."""
    if event.kind is not EventKind.MESSAGE:
        return None
    message = event.message
    if message.role not in {Role.USER, Role.ASSISTANT}:
        return None
    name, words = voice(message.text[:MAX_CHARS].strip())
    person = message.name or name
    owner = person or (USER if message.role is Role.USER else "")
    return Turn(owner, person or message.role.value, words.translate(_QUOTES), event.position, event.at)
