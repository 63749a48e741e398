"""Turns with all words of the query in their order stand first."""

from collections.abc import Sequence


class InOrder:
    """Whether the words of the query stand in the text, in their order."""

    name = "in-order"

    def __call__(self, query: str, texts: Sequence[str]) -> list[float]:
        """1 or 0 for each text."""
        words = query.lower().split()
        return [float(in_order(words, text.lower())) for text in texts]


def in_order(words: Sequence[str], text: str) -> bool:
    """Whether the words stand in the text one behind the other."""
    place = 0
    for word in words:
        place = text.find(word, place) + len(word)
        if place < len(word):
            return False
    return True
