"""Shortens turns of a conversation that no longer fit, starting with what is old and large.

The turns are processed in order, so a longer conversation is shortened at the same places as a shorter one. In between,
a prompt only grows at its end, and a provider's cache keeps working. Each relief frees more space than is needed at
once.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from hybrid_memory.context.queue import Unit
from hybrid_memory.context.view import PromptView
from hybrid_memory.log.event import Event
from hybrid_memory.log.media import is_media
from hybrid_memory.log.message import Role

INLINE_SHARE = 0.125
"""Under pressure, the largest share of the budget for one message; `USERS` times as much for a user's."""

USERS = 4
LEAST_INLINE = 40

RELIEF = 0.7
"""The share of the available space that is filled after a relief."""

WORTH = 1.5
"""A message is shortened if it exceeds its limit by this factor: less is not worth invalidating a cache."""

LATER_SHARE = 0.25
"""The least share of the tokens for memories that a later question of a conversation has."""

LEAST_NOTE = 120
"""And the least number of them, in a small budget: fewer hold a heading and no memory."""

LEFT_NOTES = 0.25
"""The share of the memory budget that is filled after the oldest notes were dropped."""


def inline_limit(seen: PromptView) -> int:
    """Messages with more tokens than this are shortened when space is short."""
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
    """The shortened parts of the turns, and the resulting size.

    Attributes:
        short: the shortened messages, by position.
        bare: positions of the turns whose recalled note is left out.
        tokens: of all turns with their notes.
        fresh: long messages that were not answered yet.
    """

    short: dict[int, Long] = field(default_factory=dict)
    bare: set[int] = field(default_factory=set)
    tokens: int = 0
    fresh: list[Long] = field(default_factory=list)


class Reliefs:
    """The relief of a conversation's turns, for different sizes of the question's note."""

    def __init__(self, seen: PromptView) -> None:
        self._seen = seen

    def note_room(self) -> int:
        """Tokens for memories recalled now: what the sheet and earlier notes leave of their space, and at least a part.

        Earlier notes are dropped only where the prompt has no space for them, as that changes it before the question.
        """
        seen, bare = self._seen, self.with_note(0).bare
        most = min(seen.request.marks.memory_tokens, int(seen.config.recall_ratio * seen.share))
        before = sum(seen.note_tokens(unit) for unit in seen.units if unit.first not in bare)
        least = max(int(LATER_SHARE * most), min(LEAST_NOTE, most))
        return max(most - seen.costs.count(seen.parts.profile) - before, least)

    def with_note(self, note: int) -> Relief:
        """The turns in the available space, as far as answered messages can be shortened.

        Args:
            note: tokens of the memories recalled for the question now.
        """
        seen = self._seen
        own = seen.note_tokens(seen.units[seen.asked]) if note and seen.asked is not None else 0
        tokens, noted = (sum(costs) + note - own for costs in (seen.whole, seen.notes.values()))
        if tokens <= seen.room and noted <= seen.config.recall_ratio * seen.share:
            return Relief(tokens=tokens)  # what fits at the end fitted all the way
        walk = _Walk(seen)
        for row, unit in enumerate(seen.units):
            walk.pass_by(unit, note if note and row == seen.asked else seen.note_tokens(unit))
        if seen.asked is None:
            walk.add_note(0, note)
            walk.relieve()
        return walk.relief


class _Walk:
    """Processes the turns of a conversation in order, shortening as necessary."""

    def __init__(self, seen: PromptView) -> None:
        self.relief = Relief()
        self._seen = seen
        self._limit = inline_limit(seen)
        self._question = ""
        self._ready: deque[Long] = deque()
        self._notes: deque[tuple[int, int]] = deque()
        self._note_tokens = 0

    def pass_by(self, unit: Unit, note: int) -> None:
        """Process a unit, with a note of this many tokens."""
        relief = self.relief
        if unit.opens:
            self._question = unit.messages[0].text
        self.add_note(unit.first, note)
        if unit.role is Role.ASSISTANT:
            # While the model calls tools, the user's turn is still unanswered.
            calls = bool(unit.messages[0].tool_calls)
            waiting = [long for long in relief.fresh if calls and long.event.message.role is Role.USER]
            self._ready += [long for long in relief.fresh if long not in waiting]
            relief.fresh = waiting
        for event in unit.events:
            message, tokens = self._seen.costs.whole(event)
            relief.tokens += tokens
            limit = USERS * self._limit if message.role is Role.USER else self._limit
            has_media = isinstance(message.content, list) and any(map(is_media, message.content))
            if tokens > WORTH * limit or has_media:
                relief.fresh.append(Long(event, tokens, limit, self._question))
        self.relieve()

    def add_note(self, position: int, tokens: int) -> None:
        """Process a note; if there are too many, drop the oldest."""
        if not tokens:
            return
        self._notes.append((position, tokens))
        self._note_tokens += tokens
        self.relief.tokens += tokens
        most = self._seen.config.recall_ratio * self._seen.share
        if self._note_tokens > most:
            while len(self._notes) > 1 and self._note_tokens > LEFT_NOTES * most:
                place, size = self._notes.popleft()
                self.relief.bare.add(place)
                self._note_tokens -= size
                self.relief.tokens -= size

    def relieve(self) -> None:
        """Shorten answered messages, oldest first, if not everything fits."""
        seen, relief = self._seen, self.relief
        if relief.tokens <= seen.room:
            return
        while self._ready and relief.tokens > RELIEF * seen.room:
            long = self._ready.popleft()
            tokens = seen.costs.short(long.event, long.limit, seen.reader, long.question, fresh=False)[1]
            relief.short[long.event.position] = long
            relief.tokens -= max(long.tokens - tokens, 0)
