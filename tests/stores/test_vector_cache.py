from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

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


def filled(size: int, *, exact_limit: int, batch: int = 97) -> tuple[VectorCache, Ids, Floats]:
    cache, ids, vectors = VectorCache(DIM, exact_limit=exact_limit), some_ids(size), clustered(size)
    for start in range(0, size, batch):
        cache.add(ids[start : start + batch], vectors[start : start + batch])
        if cache.overgrown:
            cache.train()
    return cache, ids, vectors


def similar(cache: VectorCache, query: Floats, ids: Ids) -> Floats:
    rows, there = cache.rows(ids)
    return np.where(there, rows @ query, np.float32(np.nan))


def best(ids: Ids, vectors: Floats, query: Floats, k: int) -> tuple[list[int], Floats]:
    scores = vectors @ query
    order = np.argsort(-scores, kind="stable")[:k]
    return ids[order].tolist(), scores[order]


@pytest.mark.parametrize("k", [1, 10, 5000])
def test_an_exact_cache_agrees_with_numpy(k: int) -> None:
    cache, ids, vectors = filled(900, exact_limit=10_000)
    assert not cache.approximate
    chance = np.random.default_rng(1)
    for query in clustered(10, seed=2):
        for share in (None, 0.5, 0.01):
            kept = np.ones(len(ids), bool) if share is None else chance.random(len(ids)) < share
            allowed = None if share is None else np.append(ids[kept], [10**12])
            found = cache.search(query, k, allowed)
            expected, scores = best(ids[kept], vectors[kept], query, k)
            assert found.ids.tolist() == expected
            np.testing.assert_allclose(found.scores, scores, atol=1e-5)
        np.testing.assert_allclose(similar(cache, query, ids), vectors @ query, atol=1e-5)


@pytest.mark.parametrize("reloaded", [False, True])
def test_an_approximate_cache_finds_nine_in_ten(tmp_path: Path, reloaded: bool) -> None:
    cache, ids, vectors = filled(4000, exact_limit=300)
    assert cache.approximate
    if reloaded:
        cache.save(tmp_path / "cache.npz")
        loaded = VectorCache.load(tmp_path / "cache.npz", DIM, exact_limit=300)
        assert loaded is not None
        cache = loaded
    found = wanted = 0
    for query in clustered(50, seed=3):
        matches = cache.search(query, 10)
        assert (np.diff(matches.scores) <= 0).all()
        expected, _ = best(ids, vectors, query, 10)
        found += len(set(matches.ids.tolist()) & set(expected))
        wanted += len(expected)
        np.testing.assert_allclose(similar(cache, query, ids[:50]), vectors[:50] @ query, atol=1e-5)
    assert found / wanted >= 0.9


def test_a_small_selection_of_an_approximate_cache_is_searched_exactly() -> None:
    cache, ids, vectors = filled(4000, exact_limit=300)
    chosen = np.random.default_rng(4).choice(len(ids), size=250, replace=False)
    for query in clustered(10, seed=5):
        found = cache.search(query, 20, ids[chosen])
        assert found.ids.tolist() == best(ids[chosen], vectors[chosen], query, 20)[0]


def test_a_large_selection_of_an_approximate_cache_holds_only_what_is_allowed() -> None:
    cache, ids, vectors = filled(4000, exact_limit=300)
    chosen = np.random.default_rng(6).choice(len(ids), size=2000, replace=False)
    found = wanted = 0
    for query in clustered(30, seed=7):
        matches = cache.search(query, 10, ids[chosen])
        assert set(matches.ids.tolist()) <= set(ids[chosen].tolist())
        found += len(set(matches.ids.tolist()) & set(best(ids[chosen], vectors[chosen], query, 10)[0]))
        wanted += 10
    assert found / wanted >= 0.9


@pytest.mark.parametrize("exact_limit", [50, 10_000])
def test_what_is_not_there_is_not_found(exact_limit: int) -> None:
    empty = VectorCache(DIM, exact_limit=exact_limit)
    query, nothing = clustered(1)[0], np.empty(0, dtype=np.int64)
    assert empty.search(query, 5).ids.tolist() == []
    assert empty.search(query, 5, np.array([1], dtype=np.int64)).ids.tolist() == []
    assert np.isnan(similar(empty, query, np.array([1], dtype=np.int64))).all()
    cache, ids, _ = filled(200, exact_limit=exact_limit)
    assert cache.search(query, 0).ids.tolist() == []
    assert cache.search(query, 5, nothing).ids.tolist() == []
    unknown = np.array([10**12, ids[0]], dtype=np.int64)
    assert np.isnan(similar(cache, query, unknown)).tolist() == [True, False]


def test_a_cleared_cache_can_be_filled_again() -> None:
    cache, ids, vectors = filled(400, exact_limit=100)
    cache.clear(revision=7)
    assert (len(cache), cache.approximate, cache.revision, cache.upto) == (0, False, 7, 0)
    cache.add(ids[:50], vectors[:50])
    assert cache.search(vectors[3], 1).ids.tolist() == [ids[3]]


def test_a_saved_cache_goes_on_where_it_was(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "cache.npz"
    cache, ids, vectors = filled(1000, exact_limit=100)
    cache.revision, cache.upto = 3, 1000
    assert cache.grown
    cache.save(file)
    loaded = VectorCache.load(file, DIM, exact_limit=100)
    assert loaded is not None
    assert (len(loaded), loaded.approximate, loaded.grown) == (1000, True, False)
    assert (loaded.revision, loaded.upto) == (3, 1000)
    new = clustered(1, seed=9)
    loaded.add(np.array([10**9], dtype=np.int64), new)
    assert loaded.grown
    assert loaded.search(new[0], 1).ids.tolist() == [10**9]
    assert loaded.search(vectors[5], 1).ids.tolist() == [ids[5]]


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "cache.npz"
    cache, ids, vectors = filled(200, exact_limit=50)
    cache.save(file)
    before = file.read_bytes()
    cache.add(np.array([10**9], dtype=np.int64), vectors[:1])

    def full(_: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        cache.save(file)
    assert file.read_bytes() == before
    loaded = VectorCache.load(file, DIM)
    assert loaded is not None
    assert len(loaded) == len(ids)


def test_a_cache_of_another_width_is_not_loaded(tmp_path: Path) -> None:
    cache, _, _ = filled(200, exact_limit=50)
    cache.save(tmp_path / "cache.npz")
    assert VectorCache.load(tmp_path / "cache.npz", DIM + 1) is None
    assert VectorCache.load(tmp_path / "absent.npz", DIM) is None
