"""What stands shortened once the turns of a conversation no longer fit: what is old and large first.

The turns are walked through as they came, so a longer conversation is relieved where a shorter one was: between two
reliefs a prompt only grows at its end, and a provider's cache keeps working. Each relief makes more room than is needed
at once.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from hybrid_memory.context.view import View
from hybrid_memory.log.event import Event
from hybrid_memory.log.media import is_media
from hybrid_memory.log.message import Message, Role

INLINE_SHARE = 0.125
"""Under pressure no message takes more of the budget than this share, unless the user wrote it: then `USERS` times."""

USERS = 4
LEAST_INLINE = 40

RELIEF = 0.7
"""Share of the room that is filled after a relief."""

WORTH = 1.5
"""Times its limit beyond which a message is shortened: less is not worth what a changed prompt costs a cache."""

LEFT_NOTES = 0.25
"""Share of the room for recalled notes that is filled once the oldest of them were left out."""


def inline_limit(seen: View) -> int:
    """Tokens beyond which a message is shortened when room is short."""
    return max(LEAST_INLINE, min(seen.config.offload_tokens, int(INLINE_SHARE * seen.request.max_tokens)))


@dataclass(frozen=True)
class Long:
    """A message that may be shortened, and the question of its round."""

    event: Event
    tokens: int
    limit: int
    question: str


@dataclass
class Relief:
    """What of the turns stands shortened, and what that comes to.

    Attributes:
        short: by position, the messages that are shortened.
        bare: positions of the turns whose recalled note is left out.
        tokens: of all turns with what was recalled for them.
        fresh: long messages that nobody answered yet.
    """

    short: dict[int, Long] = field(default_factory=dict)
    bare: set[int] = field(default_factory=set)
    tokens: int = 0
    fresh: list[Long] = field(default_factory=list)


def relieved(seen: View, note: int) -> Relief:
    """The turns in the room that they have, as far as what was answered can be shortened.

    Args:
        seen: the session.
        note: tokens of what is recalled for the question now.
    """
    twice = seen.note_tokens(seen.units[seen.asked]) if note and seen.asked is not None else 0
    tokens, noted = (sum(costs) + note - twice for costs in (seen.whole, seen.notes.values()))
    if tokens <= seen.room and noted <= seen.config.recall_ratio * seen.share:
        return Relief(tokens=tokens)  # what fits at the end fitted all the way
    walk = _Walk(seen)
    for row, unit in enumerate(seen.units):
        if unit.opens:
            walk.question = unit.messages[0].text
        walk.noted(unit.first, note if note and row == seen.asked else seen.note_tokens(unit))
        if unit.role is Role.ASSISTANT:
            walk.answered(in_words=not unit.messages[0].tool_calls)
        for event in unit.events:
            walk.said(event)
        walk.relieve()
    if seen.asked is None:
        walk.noted(0, note)
        walk.relieve()
    return walk.found


class _Walk:
    """Goes through the turns of a conversation, and shortens what is needed on the way."""

    def __init__(self, seen: View) -> None:
        self.found = Relief()
        self.question = ""
        self._seen = seen
        self._limit = inline_limit(seen)
        self._ready: deque[Long] = deque()
        self._notes: deque[tuple[int, int]] = deque()
        self._noted = 0

    def noted(self, position: int, tokens: int) -> None:
        """A note stands here; with too many of them the oldest go."""
        if not tokens:
            return
        self._notes.append((position, tokens))
        self._noted += tokens
        self.found.tokens += tokens
        most = self._seen.config.recall_ratio * self._seen.share
        if self._noted > most:
            while len(self._notes) > 1 and self._noted > LEFT_NOTES * most:
                self._leave_out_a_note()

    def _leave_out_a_note(self) -> None:
        position, tokens = self._notes.popleft()
        self.found.bare.add(position)
        self._noted -= tokens
        self.found.tokens -= tokens

    def answered(self, *, in_words: bool) -> None:
        """The model answered what stands here; while it calls tools, the user's turn still waits."""
        seen = [long for long in self.found.fresh if in_words or long.event.message.role is not Role.USER]
        self._ready += seen
        self.found.fresh = [long for long in self.found.fresh if long not in seen]

    def said(self, event: Event) -> None:
        """A message stands here."""
        message, tokens = self._seen.costs.whole(event)
        self.found.tokens += tokens
        limit = USERS * self._limit if message.role is Role.USER else self._limit
        if tokens > WORTH * limit or _has_media(message):
            self.found.fresh.append(Long(event, tokens, limit, self.question))

    def relieve(self) -> None:
        """Shorten what was answered, the oldest first, if there is no room for all of it."""
        room = self._seen.room
        if self.found.tokens <= room:
            return
        while self._ready and self.found.tokens > RELIEF * room:
            long = self._ready.popleft()
            reader = self._seen.reader
            tokens = self._seen.costs.short(long.event, long.limit, reader, long.question, fresh=False)[1]
            self.found.short[long.event.position] = long
            self.found.tokens -= max(long.tokens - tokens, 0)


def _has_media(message: Message) -> bool:
    return isinstance(message.content, list) and any(map(is_media, message.content))
