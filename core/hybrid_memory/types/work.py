"""What was done, how often, and how long it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from hybrid_memory.types import display


@dataclass(frozen=True, slots=True)
class KindStats:
    """Figures of one kind of work; times in seconds, None before the first.

    Attributes:
        done, failed, cancelled: how each ended; failed counts those whose deadline passed before they began, too.
        retried: further attempts; missed: began or ended after the deadline.
        running, queued: now; queued counts what waits for a retry, too.
        latency: moving average of the run time; waiting: of the time in the queue.
        p50, p95, p99: of the run time, over the last 1,024.
    """

    done: int = 0
    failed: int = 0
    cancelled: int = 0
    retried: int = 0
    missed: int = 0
    running: int = 0
    queued: int = 0
    latency: float | None = None
    waiting: float | None = None
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

    @property
    def hit_rate(self) -> float | None:
        """Share of hits; None before the first use."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else None


@dataclass(frozen=True, slots=True)
class WorkStats:
    """What was done so far; `table` shows all of it.

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

    def table(self) -> str:
        """All figures as aligned text; times in milliseconds."""
        parts = [_aligned(rows) for rows in (self._kind_rows(), self._cache_rows()) if len(rows) > 1]
        return "\n\n".join([*parts, self._models()])

    def __repr__(self) -> str:
        kinds = self.kinds.values()
        counts = ", ".join(
            f"{sum(getattr(kind, name) for kind in kinds):,} {name}"
            for name in ("done", "failed", "cancelled", "missed", "running", "queued")
        )
        return f"WorkStats({counts}; {self._models()})"

    def _repr_html_(self) -> str:
        return "".join(
            [
                *(_html(rows) for rows in (self._kind_rows(), self._cache_rows()) if len(rows) > 1),
                f"<p>{escape(self._models())}</p>",
            ]
        )

    def _models(self) -> str:
        size = f" of {self.batch_size:.1f} texts" if self.batch_size is not None else ""
        return f"{self.model_calls:,} model calls, {self.tokens:,} tokens, {self.batches:,} batches{size}"

    def _kind_rows(self) -> list[list[str]]:
        counts = ("done", "failed", "cancelled", "retried", "missed", "running", "queued")
        times = ("latency", "waiting", "p50", "p95", "p99")
        rows = [["kind", *counts, *(f"{name} ms" for name in times)]]
        for kind, stats in sorted(self.kinds.items()):
            figures = [f"{getattr(stats, name):,}" for name in counts]
            rows.append([kind, *figures, *(_milliseconds(getattr(stats, name)) for name in times)])
        return rows

    def _cache_rows(self) -> list[list[str]]:
        rows = [["cache", "size", "capacity", "hits", "misses", "hit rate"]]
        for name, cache in sorted(self.caches.items()):
            rate = "" if cache.hit_rate is None else f"{cache.hit_rate:.0%}"
            rows.append([name, f"{cache.size:,}", f"{cache.capacity:,}", f"{cache.hits:,}", f"{cache.misses:,}", rate])
        return rows


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1000:,.1f}"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    )


def _html(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    return display.table(head, [[escape(cell) for cell in row] for row in body])
