"""Counts that gather until somebody takes them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Counts(Generic[K]):
    """Counts of numbers, by key; callable from any thread."""

    def __init__(self) -> None:
        self._counts: dict[K, Counter[int]] = {}
        self._lock = threading.Lock()

    def add(self, key: K, numbers: Iterable[int]) -> None:
        """Count each of these once more."""
        with self._lock:
            self._counts.setdefault(key, Counter()).update(numbers)

    def take(self, key: K) -> dict[int, int]:
        """What was counted, which begins anew."""
        with self._lock:
            return dict(self._counts.pop(key, {}))

    def counted(self) -> list[K]:
        """The keys that something was counted for."""
        with self._lock:
            return list(self._counts)
