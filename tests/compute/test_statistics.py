"""What the figures say."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.statistics import Statistics


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
