"""The budget of a prompt, where only the window of a model is known."""

from __future__ import annotations

MOST_TOKENS = 128_000
"""More than this is not filled unless asked for: long prompts are slow, dear, and read with less care."""

ANSWER_TOKENS = 8_000
"""Kept free for the answer, where the model does not tell how long it may be."""

ANSWER_SHARE = 0.25
"""Share of a window that is kept free for the answer at most."""


def budget_of(window: int, answer: int | None = None) -> int:
    """Tokens of a prompt for a model with this window, in which its answer has room too.

    Args:
        window: tokens of prompt and answer together.
        answer: the most tokens of an answer, if the model tells.
    """
    room = min(answer or ANSWER_TOKENS, int(ANSWER_SHARE * window))
    return min(window - room, MOST_TOKENS)
