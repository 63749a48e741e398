"""How much of a prompt the answer of a function may take."""

from __future__ import annotations

from hybrid_memory.tools import MAX_TOKENS

PAGE_SHARE = 0.125
"""Share of a prompt for one answer, so that several pages stand in it side by side."""

LEAST_TOKENS = 40


def answer_tokens(max_tokens: int) -> int:
    """Tokens of an answer in a prompt of ``max_tokens``; at most `MAX_TOKENS`."""
    return min(MAX_TOKENS, max(LEAST_TOKENS, int(PAGE_SHARE * max_tokens)))
