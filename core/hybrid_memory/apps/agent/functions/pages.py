"""Results a page at a time, each of which fits what a call may answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from pydantic import Field

from hybrid_memory.index.record import Record, RecordKind
from hybrid_memory.memory import ScopedMemory
from hybrid_memory.recall.hit import Hit
from hybrid_memory.tools.reading import LINE_TOKENS
from hybrid_memory.tools.tool import Call

PAGE_LINES = 5
MAX_PAGE = 200
REACHES = (40, 160, 640, 2560)
"""So many are recalled, and more where the page is not among them. The first is within what recall looks at anyway."""

LEAST_LINE_TOKENS = 12

FRAME_TOKENS = 20
"""For what says that there are more."""

PAGE: Any = Field(default=0, ge=0, le=MAX_PAGE, description="0 for the best, 1 for those after them, and so on")


@dataclass(frozen=True, slots=True)
class Page:
    """Which lines, and how long each may be."""

    number: int
    line_tokens: int

    @classmethod
    def of(cls, call: Call, number: int) -> Self:
        """The page, in lines that fit this call together."""
        room = (call.max_tokens - FRAME_TOKENS) // PAGE_LINES
        return cls(number, max(LEAST_LINE_TOKENS, min(LINE_TOKENS, room - FRAME_TOKENS)))

    @property
    def start(self) -> int:
        """The first row."""
        return PAGE_LINES * self.number

    @property
    def end(self) -> int:
        """The row behind the last."""
        return self.start + PAGE_LINES


async def ranked(
    call: Call, memory: ScopedMemory, query: str, page: Page, wanted: Callable[[Record], bool], **where: Any
) -> list[Record]:
    """The records that answer the query and are wanted, best first, up to the end of the page and at least one more.

    The same order for every page: the best forty need not begin the best hundred, so they stay in front of these.
    """
    found: list[Record] = []
    looked_at: set[int] = set()
    for k in REACHES:
        hits: list[Hit] = await call(memory.recall, query, k=k, kinds=(RecordKind.TURN,), **where)
        fresh = [hit.record for hit in hits if hit.record.id not in looked_at]
        found += filter(wanted, fresh)
        looked_at.update(record.id for record in fresh)
        if len(found) > page.end or len(hits) < k:
            break
    return found


def paged(lines: Sequence[str], page: Page, *, more: bool, nothing: str) -> str:
    """The lines of a page, and whether there are more."""
    if not lines:
        return "There are no more." if page.number else nothing
    return "\n".join([*lines, f"(more: page={page.number + 1})" if more else "(no more)"])
