"""Counts operations and how long they take."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hybrid_memory.runtime.caches import LruCache

RECENT = 1024  # how many run times the quantiles cover

_COUNTS = ("done", "failed", "cancelled", "missed", "running", "queued")


class Statistics:
    """Collects figures; each method may be called from any thread and takes a few microseconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._recent: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=RECENT))
        self._caches: dict[str, LruCache[Any, Any]] = {}
        self._model_calls = self._tokens = self._batches = self._batched = 0

    def count(self, kind: str, **changes: int) -> None:
        """Change the counts of a kind of work: ``queued=1`` for a scheduled task, ``queued=-1, cancelled=1`` later."""
        with self._lock:
            for name, change in changes.items():
                self._kinds[kind][name] += change

    def ended(self, kind: str, seconds: float, *, failed: bool = False, late: bool = False) -> None:
        """Count a started task that ended after this many seconds; late means after its deadline."""
        self.ran(kind, seconds, failed=failed)  # first: otherwise it would neither run nor have ended for a moment
        self.count(kind, running=-1, missed=int(late))

    def ran(self, kind: str, seconds: float, *, failed: bool = False) -> None:
        """Count unscheduled work that took this many seconds."""
        with self._lock:
            self._kinds[kind]["failed" if failed else "done"] += 1
            self._recent[kind].append(seconds)

    @contextmanager
    def timed(self, kind: str) -> Iterator[None]:
        """Time the block as unscheduled work."""
        began, failed = time.perf_counter(), True
        try:
            yield
            failed = False
        finally:
            self.ran(kind, time.perf_counter() - began, failed=failed)

    def model_call(self, tokens: int = 0) -> None:
        """Count a call of a language model; tokens in and out together."""
        with self._lock:
            self._model_calls += 1
            self._tokens += tokens

    def batch(self, texts: int) -> None:
        """Count a batch of this many texts for the embedder."""
        with self._lock:
            self._batches += 1
            self._batched += texts

    def watch(self, name: str, cache: LruCache[Any, Any]) -> None:
        """Include the figures of this cache."""
        with self._lock:
            self._caches[name] = cache

    def snapshot(self) -> WorkStats:
        """The current figures."""
        with self._lock:
            fields = {kind: (dict(counts), list(self._recent[kind])) for kind, counts in self._kinds.items()}
            caches = {
                name: CacheStats(cache.size, cache.capacity, cache.hits, cache.misses)
                for name, cache in self._caches.items()
            }
            sums = (self._model_calls, self._tokens, self._batches, self._batched)
        kinds = {}
        for kind, (counts, recent) in fields.items():  # outside the lock: nobody who records waits for the sorting
            values = sorted(recent)
            # The smallest value that this percentage does not exceed.
            quantiles: dict[str, Any] = {
                f"p{percent}": values[(len(values) * percent - 1) // 100] for percent in (50, 95, 99) if values
            }
            kinds[kind] = KindStats(**counts, **quantiles)
        return WorkStats(kinds, caches, *sums)


@dataclass(frozen=True, slots=True)
class KindStats:
    """Figures of one kind of work; times in seconds, None before the first.

    Attributes:
        done, failed, cancelled: how each ended; failed counts those whose deadline passed before they began, too.
        missed: began or ended after the deadline; running, queued: now.
        p50, p95, p99: of the run time, over the last 1,024.
    """

    done: int = 0
    failed: int = 0
    cancelled: int = 0
    missed: int = 0
    running: int = 0
    queued: int = 0
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


@dataclass(frozen=True, slots=True)
class CacheStats:
    """Figures of one cache."""

    size: int
    capacity: int
    hits: int
    misses: int


@dataclass(frozen=True, slots=True)
class WorkStats:
    """What was done so far.

    Attributes:
        kinds: by kind of work; caches: by name.
        model_calls, tokens: of language models, tokens in and out together.
        batches, batched: calls of the embedder, and texts in them.
    """

    kinds: Mapping[str, KindStats] = field(default_factory=dict)
    caches: Mapping[str, CacheStats] = field(default_factory=dict)
    model_calls: int = 0
    tokens: int = 0
    batches: int = 0
    batched: int = 0

    @property
    def batch_size(self) -> float | None:
        """Texts in a batch, on average; None before the first."""
        return self.batched / self.batches if self.batches else None

    def __repr__(self) -> str:
        kinds = self.kinds.values()
        counts = ", ".join(f"{sum(getattr(kind, name) for kind in kinds):,} {name}" for name in _COUNTS)
        size = f" of {self.batch_size:.1f} texts" if self.batch_size is not None else ""
        models = f"{self.model_calls:,} model calls, {self.tokens:,} tokens, {self.batches:,} batches{size}"
        return f"WorkStats({counts}; {models})"
