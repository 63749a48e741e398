"""What the figures say."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.statistics import Statistics, WorkStats


def test_figures_of_one_kind() -> None:
    statistics = Statistics()
    for _ in range(6):
        statistics.queued("recall")
    statistics.started("recall", 1.0)
    statistics.ended("recall", 2.0)
    statistics.started("recall", 2.0)
    statistics.ended("recall", 4.0, failed=True, late=True)
    statistics.started("recall", 2.0)
    statistics.cancelled("recall")
    statistics.expired("recall")
    statistics.expired("recall")
    statistics.ran("recall", 2.0)
    stats = statistics.snapshot().kinds["recall"]
    assert (stats.done, stats.failed, stats.cancelled, stats.missed) == (2, 3, 1, 3)
    assert (stats.running, stats.queued) == (1, 0)
    assert stats.latency == pytest.approx((2 * 0.9 + 4 * 0.1) * 0.9 + 2 * 0.1)
    assert stats.waiting == pytest.approx((1 * 0.9 + 2 * 0.1) * 0.9 + 2 * 0.1)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=1500))
def test_a_quantile_is_the_smallest_of_the_last_values_that_so_many_do_not_exceed(values: list[float]) -> None:
    statistics = Statistics()
    for value in values:
        statistics.ran("recall", value)
    stats = statistics.snapshot().kinds["recall"]
    last = values[-1024:]
    for percent in (50, 95, 99):
        quantile = getattr(stats, f"p{percent}")
        assert quantile in last
        assert sum(value <= quantile for value in last) * 100 >= percent * len(last)
        assert sum(value < quantile for value in last) * 100 < percent * len(last)


def test_models_batches_and_caches() -> None:
    statistics, cache = Statistics(), LruCache[str, int](10)
    statistics.watch("embeddings", cache)
    assert statistics.snapshot().batch_size is None
    assert statistics.snapshot().caches["embeddings"].hit_rate is None
    statistics.model_call(120)
    statistics.model_call()
    statistics.batch(32)
    statistics.batch(8)
    cache.put("a", 1)
    for key in "aaab":
        cache.get(key)
    stats = statistics.snapshot()
    assert (stats.model_calls, stats.tokens, stats.batches, stats.batched, stats.batch_size) == (2, 120, 2, 40, 20)
    embeddings = stats.caches["embeddings"]
    assert (embeddings.size, embeddings.capacity, embeddings.hits, embeddings.misses) == (1, 10, 3, 1)
    assert embeddings.hit_rate == 0.75
    assert json.loads(json.dumps(asdict(stats)))["kinds"] == {}


def test_it_reads_well() -> None:
    statistics = Statistics()
    assert repr(statistics.snapshot()) == (
        "WorkStats(0 done, 0 failed, 0 cancelled, 0 missed, 0 running, 0 queued; 0 model calls, 0 tokens, 0 batches)"
    )
    assert WorkStats().table() == "0 model calls, 0 tokens, 0 batches"
    statistics.queued("<learning>")
    statistics.ran("recall", 1.5)
    statistics.batch(31)
    statistics.watch("embeddings", LruCache(1000))
    stats = statistics.snapshot()
    assert "\n" not in repr(stats)
    assert "1 done" in repr(stats)
    assert "1 batches of 31.0 texts" in repr(stats)
    kinds, caches, models = stats.table().split("\n\n")
    assert len({len(line) for line in kinds.splitlines()}) == 1
    assert kinds.splitlines()[0].split()[:2] == ["kind", "done"]
    assert "1,500.0" in kinds.splitlines()[2]
    assert "1,000" in caches
    assert models.endswith("texts")


def test_threads_lose_no_count() -> None:
    statistics = Statistics()

    def work(_: int) -> None:
        for _ in range(500):
            statistics.queued("recall")
            statistics.started("recall", 0.1)
            statistics.ended("recall", 0.1)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    stats = statistics.snapshot().kinds["recall"]
    assert (stats.done, stats.running, stats.queued) == (2000, 0, 0)


def test_an_entry_expires_and_counts_as_a_miss_then() -> None:
    now = [0.0]
    cache: LruCache[str, int] = LruCache(2, ttl=10, clock=lambda: now[0])
    cache.put("a", 1)
    now[0] = 9
    assert cache.get("a") == 1
    cache.put("b", 2)
    now[0] = 10
    assert cache.get("a") is None
    assert cache.get("b") == 2
    assert (cache.hits, cache.misses, cache.size) == (2, 1, 1)
    assert repr(cache) == "LruCache(1 of 2 entries, 2 hits, 1 misses)"
    cache.put("a", 3)
    now[0] = 19
    assert cache.get("a") == 3
    assert cache.get("b") is None


@pytest.mark.parametrize("ttl", [0, -1, float("nan")])
def test_a_time_to_live_must_be_above_zero(ttl: float) -> None:
    with pytest.raises(InvalidInputError, match="ttl must be above 0 seconds"):
        LruCache(1, ttl=ttl)
