"""Texts that wait to be embedded, and how they are put together into batches."""

from __future__ import annotations

import threading
from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hybrid_memory.arrays import Floats
from hybrid_memory.runtime.tasks import INTERACTIVE

Key: TypeAlias = tuple[bool, str]
"""Whether the text is a query, and the text."""


class Wanted:
    """A text whose vector is wanted.

    Attributes:
        calls: by whom, in the order in which they came.
        queued: whether it is in no batch.
        row: its vector, once it is there.
    """

    __slots__ = ("calls", "key", "queued", "row")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.calls: dict[Call, None] = {}
        self.queued = True
        self.row: Floats | None = None


class Call:
    """What one caller waits for: texts of one side, at most a batch of them.

    Attributes:
        due: when it has waited long enough for others to join; 0 where it need not wait.
        missing: texts without vector.
        alone: its texts failed together with those of others, and are tried again without them.
        leads: the batch that this caller is to embed, for itself and for others.
        error: why it gets no vectors.
        woken: set whenever one of the last three changes, or nothing is missing any more.
    """

    def __init__(self, *, query: bool, priority: int) -> None:
        self.query = query
        self.priority = priority
        self.due = 0.0
        self.texts: list[Wanted] = []
        self.missing = 0
        self.alone = False
        self.leads: Batch | None = None
        self.error: BaseException | None = None
        self.woken = threading.Event()

    @property
    def interactive(self) -> bool:
        """Whether somebody waits for the answer."""
        return self.priority >= INTERACTIVE

    def waits(self) -> bool:
        """Whether it has texts that are in no batch."""
        return any(text.queued for text in self.texts)


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Texts to be embedded at once, of one side.

    Attributes:
        leader: the caller on whose thread that is done.
        alone: they failed before, and are tried again without those of others.
    """

    leader: Call
    texts: Sequence[Wanted]
    alone: bool

    def calls(self) -> list[Call]:
        """Who wants them."""
        return list(dict.fromkeys(call for text in self.texts for call in text.calls))


class Calls:
    """The calls that wait, by priority, then by arrival. Its owner locks it.

    Args:
        sizes: most documents in a batch, and most queries.
    """

    def __init__(self, sizes: tuple[int, int]) -> None:
        self._sizes = sizes
        self._calls: list[Call] = []

    def put(self, call: Call) -> None:
        """Let the call wait, behind others of its priority."""
        if call not in self._calls:
            insort(self._calls, call, key=lambda other: -other.priority)

    def first(self) -> Call | None:
        """The call that leads the next batch: one whose thread embeds nothing."""
        if not self._calls:
            return None
        self._calls = [call for call in self._calls if call.waits()]
        return next((call for call in self._calls if call.leads is None), None)

    def batch(self, leader: Call) -> Batch:
        """The next batch of this leader, its own texts first; they stay queued.

        Texts that nobody waits for do not join those that somebody waits for: they would make that wait longer.
        """
        texts: dict[Wanted, None] = {}
        size = self._sizes[leader.query]
        for text in self._joining(leader):
            texts[text] = None
            if len(texts) == size:
                break
        return Batch(leader, list(texts), leader.alone)

    def full(self, batch: Batch) -> bool:
        """Whether no more texts fit in."""
        return batch.alone or len(batch.texts) >= self._sizes[batch.leader.query]

    def _joining(self, leader: Call) -> Iterator[Wanted]:
        sort = (leader.query, leader.interactive, False)
        yield from (text for text in leader.texts if text.queued)
        for call in [] if leader.alone else self._calls:
            if (call.query, call.interactive, call.alone) == sort:
                yield from (text for text in call.texts if text.queued)
