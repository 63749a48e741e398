"""What is asked of what reads claims from turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hybrid_memory.facts.fact import Claim
from hybrid_memory.log.event import Event


class FactExtractor(Protocol):
    """Reads claims from turns."""

    @property
    def name(self) -> str:
        """Of the extractor; what it has read is kept apart from what others have."""
        ...

    def extract(self, turns: Sequence[Event], before: Sequence[Event]) -> list[Claim]:
        """What these turns claim, by position; ``before`` are the turns that came before them, oldest first.

        The claims of a turn depend on the turn and those before it, not on how turns are cut into calls.

        Raises:
            ModelError: a model failed; the turns will be given again.
        """
        ...
