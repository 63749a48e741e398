"""Data structures that threads share: a bounded cache, and accumulating counts."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import Any, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Keeps the most recently used entries, each for at most ``ttl`` seconds; callable from any thread.

    ``hits`` and ``misses`` are how often `get` found a valid entry, and how often it did not, ``cleared`` how often
    `clear` was called.
    """

    def __init__(self, capacity: int, *, ttl: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.capacity = capacity
        self.ttl = ttl
        self.hits = 0
        self.misses = 0
        self.cleared = 0
        self._clock = clock
        self._entries: OrderedDict[K, tuple[V, float]] = OrderedDict()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(LruCache, ttl=self.ttl), (self.capacity,)  # what a copy lacks it finds again

    @property
    def size(self) -> int:
        """The number of entries, including expired ones that were not dropped yet."""
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """The value, or None."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                value, since = entry
                if self.ttl is None or self._clock() - since < self.ttl:
                    self.hits += 1
                    self._entries.move_to_end(key)
                    return value
                del self._entries[key]
            self.misses += 1
            return None

    def reject(self, key: K) -> None:
        """Drop an entry that `get` found but that is unusable; it counts as a miss."""
        with self._lock:
            self.hits -= 1
            self.misses += 1
            self._entries.pop(key, None)

    def put(self, key: K, value: V, *, since: int | None = None) -> None:
        """Store the value, dropping the least recently used entry if necessary.

        Does nothing if the cache was cleared since ``since``, a value of ``cleared`` from before the value was
        computed.
        """
        with self._lock:
            if since not in (None, self.cleared):
                return
            self._entries[key] = (value, 0.0 if self.ttl is None else self._clock())
            self._entries.move_to_end(key)
            while len(self._entries) > self.capacity:
                self._entries.popitem(last=False)

    def clear(self, which: Callable[[K, V], bool] | None = None) -> None:
        """Drop all entries, or those whose key and value meet the condition."""
        with self._lock:
            for key in [key for key, (value, _) in self._entries.items() if which is None or which(key, value)]:
                del self._entries[key]
            self.cleared += 1

    def __repr__(self) -> str:
        return f"LruCache({self.size} of {self.capacity} entries, {self.hits} hits, {self.misses} misses)"


def kept_by_hash(capacity: int) -> Callable[[Callable[[str], V]], Callable[[str], V]]:
    """Cache a function of a text by the hash of that, so that no words are kept; when full, the cache starts anew."""

    def decorated(function: Callable[[str], V]) -> Callable[[str], V]:
        known: dict[int, V] = {}

        @wraps(function)
        def remembered(text: str) -> V:
            key = hash(text)
            value = known.get(key)
            if value is None:
                value = function(text)
                if len(known) >= capacity:
                    known.clear()
                known[key] = value
            return value

        return remembered

    return decorated


class Counts(Generic[K]):
    """Counts of numbers, by key; callable from any thread."""

    def __init__(self) -> None:
        self._counts: dict[K, Counter[int]] = {}
        self._lock = threading.Lock()

    def add(self, key: K, numbers: Iterable[int]) -> None:
        """Add one to each of these counts."""
        with self._lock:
            self._counts.setdefault(key, Counter()).update(numbers)

    def take(self, key: K) -> dict[int, int]:
        """The counts of the key, which are reset."""
        with self._lock:
            return dict(self._counts.pop(key, {}))

    def counted(self) -> list[K]:
        """The keys that have counts."""
        with self._lock:
            return list(self._counts)
