"""What a memory block shows: profile, summary and recalled turns, as lines that are dropped whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hybrid_memory import Hit, Line
from hybrid_memory.config import PromptConfig
from hybrid_memory.context.layout import Parts, language_of, memory_mark
from hybrid_memory.context.memories import memory_note
from hybrid_memory.context.summary import written


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
        """What changes seldom first: profile, summary, recalled turns, each in a marked place of its own."""
        chinese = language_of("".join(line.text for line in self.lines)) == "zh"
        parts = Parts(profile=self.profile, summary=written(self.lines, chinese=chinese, handles=False))
        recalled = memory_mark(memory_note(self.hits, self.query), PromptConfig())
        return "\n\n".join(part for part in (parts.standing, recalled) if part)

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
        return replace(self, profile="\n".join(self.profile.splitlines()[:-1]))
