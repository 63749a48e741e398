"""Indexes that stay filled from test to test: filling takes longer than most tests, which only read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from hybrid_memory.ports import SemanticIndex
from hybrid_memory.testing.corpus import Corpus, random_corpus

corpus_of = cache(random_corpus)
"""The random records of a seed, made once."""


class Shelf:
    """Gives out an index for each corpus.

    Args:
        opened: opens an empty index under a name of its own.
    """

    def __init__(self, opened: Callable[[str], SemanticIndex]) -> None:
        self._opened = opened
        self._filled: dict[str, SemanticIndex] = {}

    def take(self, corpus: Corpus) -> SemanticIndex:
        """The index that holds it."""
        key = " ".join(entry.record.text for entry in corpus.entries)
        if key not in self._filled:
            self._filled[key] = self._opened(f"filled_{len(self._filled)}")
            corpus.fill(self._filled[key])
        return self._filled[key]

    def give_back(self, index: SemanticIndex, corpus: Corpus) -> None:
        """Fill it again if it was emptied."""
        size = index.size()
        if (size.records, size.vectors) != (len(corpus.entries), len(corpus.keys)):
            index.reset()
            corpus.fill(index)

    def close(self) -> None:
        for index in self._filled.values():
            index.close()


class Shelved:
    """The filled index of a contract suite, from the shelf of its module."""

    @pytest.fixture
    def filled(self, shelf: Shelf, corpus: Corpus) -> Iterator[SemanticIndex]:
        index = shelf.take(corpus)
        yield index
        shelf.give_back(index, corpus)
