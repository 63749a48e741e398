from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hybrid_memory.runtime.caches import LruCache


def test_the_entry_used_longest_ago_makes_room() -> None:
    cache: LruCache[str, int] = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]
    assert (cache.hits, cache.misses) == (3, 1)
    cache.clear()
    nothing: LruCache[str, int] = LruCache(0)
    nothing.put("a", 1)
    assert cache.get("a") is nothing.get("a") is None


def test_threads_never_see_more_than_it_holds() -> None:
    cache: LruCache[int, int] = LruCache(8)

    def work(start: int) -> bool:
        for number in range(start, start + 2000):
            cache.put(number % 50, number % 50)
            value = cache.get(number % 50)
            if value not in {None, number % 50}:
                return False
        return True

    with ThreadPoolExecutor(max_workers=4) as pool:
        assert all(pool.map(work, range(4)))
    assert sum(cache.get(number) is not None for number in range(50)) == 8
