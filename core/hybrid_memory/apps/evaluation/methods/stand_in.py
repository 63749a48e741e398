"""What takes the place of a language model where there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybrid_memory.errors import ModelError
from hybrid_memory.log.message import Message
from hybrid_memory.text.tokens import TokenCounter

EXCERPT = 200
"""Characters of each line that are kept."""


class StandIn:
    """Summarises by excerpts: the first 200 characters of each line that it is shown, the newest that fit.

    It is no judge of what matters, and keeps words and figures as they are. Ours never need it: their deterministic
    summaries are what people get who have no model.

    Args:
        max_tokens: of an answer.
        count: counts them.
    """

    name = "excerpts"

    def __init__(self, max_tokens: int, count: TokenCounter) -> None:
        self._max_tokens = max_tokens
        self._count = count

    def complete(self, messages: Sequence[Message]) -> str:
        """The excerpts, oldest first."""
        lines = [line.strip()[:EXCERPT] for message in messages for line in message.text.splitlines() if line.strip()]
        kept: list[str] = []
        left = self._max_tokens
        for line in reversed(lines):
            left -= self._count(line) + 1
            if left < 0:
                break
            kept.append(line)
        return "\n".join(reversed(kept)) or "-"

    def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
        """Nothing: excerpts follow no schema."""
        raise ModelError(f"excerpts of {len(messages)} messages follow no schema such as {schema.get('title', 'this')}")
