"""What a memory block shows: profile, summary and recalled turns, as lines that are dropped whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hybrid_memory import Hit
from hybrid_memory.context.memories import memory_note
from hybrid_memory.types import Line, written

SUMMARY_HEADING = "Earlier in this conversation:"


@dataclass(frozen=True, slots=True)
class Portion:
    """Parts of a memory block.

    Attributes:
        query: what was recalled for.
        profile: text, most important lines first.
        lines: of the summary, oldest first.
        hits: best first.
    """

    query: str = ""
    profile: str = ""
    lines: Sequence[Line] = ()
    hits: Sequence[Hit] = ()

    @property
    def text(self) -> str:
        """What changes seldom first: profile, summary, recalled turns, with their headings."""
        summary = f"{SUMMARY_HEADING}\n{written(self.lines)}" if self.lines else ""
        return "\n\n".join(part for part in (self.profile, summary, memory_note(self.hits, self.query)) if part)

    def within(self, max_tokens: int, count: Callable[[str], int]) -> Portion:
        """As much as fits, in whole lines: the worst hits go first, then old lines of the summary, then the profile."""
        left = self
        while left.text and count(left.text) > max_tokens:
            left = left._less()
        return left

    def _less(self) -> Portion:
        if self.hits:
            return replace(self, hits=self.hits[:-1])
        if self.lines:
            return replace(self, lines=self.lines[1:])
        heading, *told = self.profile.splitlines()
        return replace(self, profile="\n".join([heading, *told[:-1]]) if len(told) > 1 else "")
