"""Texts that were shortened to a budget."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Condensed:
    """What is left of texts.

    Attributes:
        texts: as many as were given and in their order; empty where nothing of one fits.
        before, after: tokens of each.
        how: it was done; empty if everything fitted as it was.
        note: what was out of the ordinary, such as a model that failed.
    """

    texts: tuple[str, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    how: str = ""
    note: str = ""

    @property
    def tokens_before(self) -> int:
        """Of all texts together."""
        return sum(self.before)

    @property
    def tokens_after(self) -> int:
        """Of all texts together."""
        return sum(self.after)

    def __repr__(self) -> str:
        how = f" {self.how}" if self.how else ""
        return f"<Condensed{how}: {len(self.texts)} texts, {self.tokens_before} tokens to {self.tokens_after}>"
