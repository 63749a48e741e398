"""An index of wordings: finds those that share most words with a given one, without comparing all."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=int)


class Wordings(Generic[K]):
    """Keys indexed by the words of their wording.

    A shorter wording that shares enough words with a longer one shares at least one of a few of them. So a search looks
    up the rarest words of its wording, and each key is also indexed under its own rarest ones.

    Args:
        share: the share of the shorter wording's words that both must have.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._words: dict[K, frozenset[str]] = {}
        self._by_word: dict[str, dict[K, None]] = {}
        self._by_rare: dict[str, dict[K, None]] = {}

    def add(self, key: K, words: Collection[str]) -> None:
        """Index a key under its words, replacing earlier ones."""
        self.discard(key)
        self._words[key] = frozenset(words)
        for word in self._rarest(self._words[key]):
            self._by_rare.setdefault(word, {})[key] = None
        for word in words:
            self._by_word.setdefault(word, {})[key] = None

    def discard(self, key: K) -> None:
        """Remove a key."""
        for word in self._words.pop(key, ()):
            for index in (self._by_word, self._by_rare):
                keys = index.get(word)
                if keys is not None:
                    keys.pop(key, None)
                    if not keys:
                        del index[word]

    def near(self, words: Collection[str]) -> Iterator[K]:
        """The keys that share enough words with these, in no order."""
        wanted = frozenset(words)
        found: dict[K, None] = {}
        for index, looked in ((self._by_word, self._rarest(wanted)), (self._by_rare, wanted)):
            for word in looked:
                found |= index.get(word, {})
        for key in found:
            least = min(len(wanted), len(self._words[key]))
            if len(wanted & self._words[key]) >= self._share * least:
                yield key

    def _rarest(self, words: Iterable[str]) -> list[str]:
        """Words of which any wording that shares enough of these has at least one."""
        ranked = sorted(words, key=lambda word: (len(self._by_word.get(word, ())), word))
        needed = math.ceil(self._share * len(ranked) - 1e-9)
        return ranked[: len(ranked) - needed + 1] if ranked else []
