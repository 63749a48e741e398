"""Vectors in memory and quantized: what is found, and what stands in the block."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from hybrid_memory.engines.sqlite.quantized import (
    TOKEN_BYTES,
    Grouping,
    Part,
    QuantizedVectors,
    file_block,
    lists_for,
    memory_block,
    opened,
    quantized,
)
from hybrid_memory.engines.sqlite.vector_cache import VectorCache
from hybrid_memory.ports import Floats, Ids

DIM = 32


def clustered(size: int, *, seed: int = 0, clusters: int = 40) -> Floats:
    """Unit rows around a few centres, as the turns of a chat are."""
    chance = np.random.default_rng(seed)
    centres = chance.normal(size=(clusters, DIM))
    rows = centres[chance.integers(clusters, size=size)] + 0.5 * chance.normal(size=(size, DIM))
    unit: Floats = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def some_ids(size: int, *, seed: int = 0) -> Ids:
    """Ids in no order and with gaps."""
    return np.random.default_rng(seed).permutation(10 * size)[:size].astype(np.int64) + 1


class Owner:
    """An owner's vectors as a store has them, and how many of them were read."""

    def __init__(self, size: int) -> None:
        self.ids, self.vectors = some_ids(size), clustered(size)
        self.read = 0

    def stored(self, ids: Ids) -> tuple[Ids, Floats]:
        self.read += len(ids)
        rows = np.flatnonzero(np.isin(self.ids, ids))
        return self.ids[rows], self.vectors[rows]

    def parts(self, first: int = 0, last: int | None = None) -> Iterator[Part]:
        for start in range(first, last or len(self.ids), 97):
            stop = min(start + 97, last or len(self.ids))
            yield self.ids[start:stop], self.vectors[start:stop], None

    def quantized(self, last: int | None = None, file: Path | None = None) -> QuantizedVectors:
        count = last or len(self.ids)
        grouping = Grouping.learned(self.vectors[:count], count, lists_for(count))
        new_block = memory_block if file is None else partial(file_block, file)
        made = quantized(grouping, partial(self.parts, 0, count), new_block)
        assert made is not None
        return made

    def cache(self, *, recent: int = 0, exact_limit: int = 300) -> VectorCache:
        """All but the recent ones quantized."""
        first = len(self.ids) - recent
        cache = VectorCache(
            DIM, self.stored, quantized=self.quantized(first) if first else None, exact_limit=exact_limit
        )
        cache.add(self.ids[first:], self.vectors[first:])
        return cache

    def best(self, query: Floats, k: int, among: Ids | None = None) -> list[int]:
        chosen = np.arange(len(self.ids)) if among is None else np.flatnonzero(np.isin(self.ids, among))
        order = np.argsort(-(self.vectors[chosen] @ query), kind="stable")[:k]
        ids: list[int] = self.ids[chosen[order]].tolist()
        return ids


@pytest.mark.parametrize("k", [1, 10, 5000])
def test_an_exact_cache_agrees_with_numpy(k: int) -> None:
    owner = Owner(900)
    cache = owner.cache(recent=900)
    assert cache.quantized is None
    chance = np.random.default_rng(1)
    for query in clustered(10, seed=2):
        for share in (1, 0.5, 0.01):
            kept = owner.ids[chance.random(900) < share]
            found = cache.search(query, k, None if share == 1 else np.append(kept, [10**12]))
            assert found.ids.tolist() == owner.best(query, k, kept)
        rows, present = cache.rows(owner.ids)
        assert present.all()
        np.testing.assert_array_equal(rows, owner.vectors)
    assert owner.read == 0


@pytest.mark.parametrize("recent", [0, 400])
def test_nineteen_in_twenty_are_found_and_their_scores_are_exact(recent: int) -> None:
    owner = Owner(4000)
    cache = owner.cache(recent=recent)
    assert cache.quantized is not None
    assert len(cache) == 4000
    found = 0
    for query in clustered(50, seed=3):
        matches = cache.search(query, 10)
        assert (np.diff(matches.scores) <= 0).all()
        ids, vectors = owner.stored(matches.ids)
        exact = dict(zip(ids.tolist(), vectors @ query, strict=True))
        np.testing.assert_allclose(matches.scores, [exact[one] for one in matches.ids.tolist()], atol=1e-6)
        found += len(set(matches.ids.tolist()) & set(owner.best(query, 10)))
    assert found >= 475
    np.testing.assert_allclose(cache.total, owner.vectors.sum(axis=0), rtol=1e-4)


@pytest.mark.parametrize("recent", [0, 50, 200])
def test_what_is_not_there_is_not_found(recent: int) -> None:
    query, nothing = clustered(1)[0], np.empty(0, dtype=np.int64)
    empty = VectorCache(DIM, Owner(1).stored)
    assert empty.search(query, 5).ids.tolist() == []
    assert empty.search(query, 5, np.array([1], dtype=np.int64)).ids.tolist() == []
    assert empty.rows(np.array([1], dtype=np.int64))[1].tolist() == [False]
    owner = Owner(200)
    cache = owner.cache(recent=recent)
    assert cache.search(query, 0).ids.tolist() == []
    assert cache.search(query, 5, nothing).ids.tolist() == []
    vectors, present = cache.rows(np.array([10**12, owner.ids[0], owner.ids[-1]], dtype=np.int64))
    assert present.tolist() == [False, True, True]
    np.testing.assert_array_equal(vectors[1:], owner.vectors[[0, -1]])


@pytest.mark.parametrize("recent", [0, 100, 400])
def test_what_is_removed_is_found_no_more_and_the_rest_is(recent: int) -> None:
    owner = Owner(400)
    cache = owner.cache(recent=recent)
    gone = owner.ids[::5]
    cache.remove(np.concatenate([gone, [10**12], gone[:3]]))
    owner.ids, owner.vectors = np.delete(owner.ids, np.s_[::5]), np.delete(owner.vectors, np.s_[::5], axis=0)
    assert len(cache) == len(owner.ids)
    for query in clustered(5, seed=6):
        assert cache.search(query, 400).ids.tolist() == owner.best(query, 400)
    np.testing.assert_allclose(cache.total, owner.vectors.sum(axis=0), atol=0.3)
    cache.remove(gone)
    assert len(cache) == len(owner.ids)


def test_erased_vectors_leave_the_file_and_others_see_it(tmp_path: Path) -> None:
    owner, file = Owner(500), tmp_path / "folder" / "some.vectors"
    made = owner.quantized(file=file)
    made.mark(3, 500, 7, bytes(TOKEN_BYTES))
    made.flush()
    reading = opened(file)
    assert (reading.revision, reading.upto, reading.seen) == (3, 500, 7)
    rows = reading.rows(owner.ids[[1, 2]])
    codes = [reading.codes[row].tobytes() for row in rows]
    before = file.read_bytes()
    assert all(code in before for code in codes)
    erasing = opened(file, writable=True)
    erasing.erase(erasing.rows(owner.ids[[1, 2]]))
    erasing.flush()
    after = file.read_bytes()
    assert not any(code in after for code in codes)
    assert reading.gone[rows].all()
    np.testing.assert_allclose(
        reading.total, owner.vectors.sum(axis=0) - owner.vectors[1] - owner.vectors[2], atol=0.02
    )
