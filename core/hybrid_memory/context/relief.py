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
from hybrid_memory.log.message import Message, Role

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

    def copied(self) -> Relief:
        """A copy with collections of its own."""
        return Relief(dict(self.short), set(self.bare), self.tokens, list(self.fresh))


class Reliefs:
    """The relief of a conversation's turns, for different sizes of the question's note.

    The turns before the question are processed once, whatever notes are tried for it.
    """

    def __init__(self, seen: PromptView) -> None:
        self._seen = seen
        self._before: _Walk | None = None

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
        asked = len(seen.units) if seen.asked is None else seen.asked
        if self._before is None:
            self._before = _Walk(seen)
            for unit in seen.units[:asked]:
                self._before.pass_by(unit, seen.note_tokens(unit))
        walk = self._before.copied()
        for row, unit in enumerate(seen.units[asked:]):
            walk.pass_by(unit, note if note and row == 0 else seen.note_tokens(unit))
        if seen.asked is None:
            walk.add_note(0, note)
            walk.relieve()
        return walk.relief

    def note_room(self) -> int:
        """Tokens for memories recalled now: what the sheet and earlier notes leave of their space, and at least a part.

        Earlier notes are dropped only where the prompt has no space for them, as that changes it before the question.
        """
        seen, bare = self._seen, self.with_note(0).bare
        most = min(seen.request.marks.memory_tokens, int(seen.config.recall_ratio * seen.share))
        before = sum(seen.note_tokens(unit) for unit in seen.units if unit.first not in bare)
        least = max(int(LATER_SHARE * most), min(LEAST_NOTE, most))
        return max(most - seen.costs.count(seen.parts.profile) - before, least)


class _Walk:
    """Processes the turns of a conversation, shortening as necessary."""

    def __init__(self, seen: PromptView) -> None:
        self.relief = Relief()
        self.question = ""
        self._seen = seen
        self._limit = inline_limit(seen)
        self.ready: deque[Long] = deque()
        self.notes: deque[tuple[int, int]] = deque()
        self.note_tokens = 0

    def pass_by(self, unit: Unit, note: int) -> None:
        """Process a unit, with a note of this many tokens."""
        if unit.opens:
            self.question = unit.messages[0].text
        self.add_note(unit.first, note)
        if unit.role is Role.ASSISTANT:
            self.answered(in_words=not unit.messages[0].tool_calls)
        for event in unit.events:
            self.said(event)
        self.relieve()

    def copied(self) -> _Walk:
        """A copy of this walk, to be continued."""
        walk = _Walk(self._seen)
        walk.relief = self.relief.copied()
        walk.question = self.question
        walk.ready, walk.notes, walk.note_tokens = deque(self.ready), deque(self.notes), self.note_tokens
        return walk

    def add_note(self, position: int, tokens: int) -> None:
        """Process a note; if there are too many, drop the oldest."""
        if not tokens:
            return
        self.notes.append((position, tokens))
        self.note_tokens += tokens
        self.relief.tokens += tokens
        most = self._seen.config.recall_ratio * self._seen.share
        if self.note_tokens > most:
            while len(self.notes) > 1 and self.note_tokens > LEFT_NOTES * most:
                self._leave_out_a_note()

    def _leave_out_a_note(self) -> None:
        position, tokens = self.notes.popleft()
        self.relief.bare.add(position)
        self.note_tokens -= tokens
        self.relief.tokens -= tokens

    def answered(self, *, in_words: bool) -> None:
        """Process an answer; while the model calls tools, the user's turn is still unanswered."""
        seen = [long for long in self.relief.fresh if in_words or long.event.message.role is not Role.USER]
        self.ready += seen
        self.relief.fresh = [long for long in self.relief.fresh if long not in seen]

    def said(self, event: Event) -> None:
        """Process a message."""
        message, tokens = self._seen.costs.whole(event)
        self.relief.tokens += tokens
        limit = USERS * self._limit if message.role is Role.USER else self._limit
        if tokens > WORTH * limit or _has_media(message):
            self.relief.fresh.append(Long(event, tokens, limit, self.question))

    def relieve(self) -> None:
        """Shorten answered messages, oldest first, if not everything fits."""
        room = self._seen.room
        if self.relief.tokens <= room:
            return
        while self.ready and self.relief.tokens > RELIEF * room:
            long = self.ready.popleft()
            reader = self._seen.reader
            tokens = self._seen.costs.short(long.event, long.limit, reader, long.question, fresh=False)[1]
            self.relief.short[long.event.position] = long
            self.relief.tokens -= max(long.tokens - tokens, 0)


def _has_media(message: Message) -> bool:
    return isinstance(message.content, list) and any(map(is_media, message.content))
