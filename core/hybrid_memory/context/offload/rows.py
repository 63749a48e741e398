"""The rows that a digest is made of."""

from __future__ import annotations

from dataclasses import dataclass

ROW_CHARS = 160


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a digest; where not all rows fit, those of the lowest rank are kept, earlier ones first."""

    text: str
    rank: int = 0


def cut(text: str, width: int = ROW_CHARS) -> str:
    """The text on one line of at most so many characters."""
    text = " ".join(text[: 4 * width].split())
    return text if len(text) <= width else f"{text[: width - 1]}…"
