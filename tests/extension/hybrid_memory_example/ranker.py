"""The best hits, where turns with all words of the query stand first."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from hybrid_memory import Weights


class InOrder:
    """Half of a score is whether the words of the query stand in the text, in their order."""

    name = "in-order"

    def score(
        self,
        query: str,
        signals: Mapping[str, npt.NDArray[np.float64]],
        weights: Weights,
        texts: Callable[[Sequence[int]], list[str]],
    ) -> npt.NDArray[np.float64]:
        """In [0, 1], of shape (n,)."""
        relevance = 0.7 * signals["vector"] + 0.3 * signals["text"]
        words = query.lower().split()
        rows = range(len(relevance))
        return 0.5 * relevance + 0.5 * np.array([in_order(words, text.lower()) for text in texts(rows)], dtype=float)


def in_order(words: Sequence[str], text: str) -> bool:
    """Whether the words stand in the text one behind the other."""
    place = 0
    for word in words:
        place = text.find(word, place) + len(word)
        if place < len(word):
            return False
    return True
