"""Results a page at a time, each of which fits what a call may answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from pydantic import Field

from hybrid_memory.tools.reading import LINE_TOKENS
from hybrid_memory.tools.tool import Call

PAGE_LINES = 5
MAX_PAGE = 200
REACHES = (120, 480, PAGE_LINES * (MAX_PAGE + 2))
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
    def k(self) -> int:
        """How many to recall: the same for many pages, since the best ten need not begin the best twenty."""
        return next(reach for reach in REACHES if reach > self.end)

    @property
    def start(self) -> int:
        """The first row."""
        return PAGE_LINES * self.number

    @property
    def end(self) -> int:
        """The row behind the last."""
        return self.start + PAGE_LINES


def paged(lines: Sequence[str], page: Page, *, more: bool, nothing: str) -> str:
    """The lines of a page, and whether there are more."""
    if not lines:
        return "There are no more." if page.number else nothing
    return "\n".join([*lines, f"(more: page={page.number + 1})" if more else "(no more)"])
