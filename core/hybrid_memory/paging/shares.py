"""How much of a prompt the answer of a function may take."""

from __future__ import annotations

from hybrid_memory.config import CompactionConfig
from hybrid_memory.context.relief import INLINE_SHARE
from hybrid_memory.tools import MAX_TOKENS

FRAME_TOKENS = 20
"""What a prompt adds to an answer."""

LEAST_TOKENS = 40


def answer_tokens(max_tokens: int, compaction: CompactionConfig) -> int:
    """Tokens of an answer that a prompt of ``max_tokens`` shows as it is, not as a digest; at most `MAX_TOKENS`."""
    shown = min(compaction.offload_tokens, int(INLINE_SHARE * max_tokens)) - FRAME_TOKENS
    return min(MAX_TOKENS, max(LEAST_TOKENS, shown))
