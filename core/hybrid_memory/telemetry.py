"""The figures of a memory as OpenTelemetry metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from hybrid_memory.errors import MissingDependencyError
from hybrid_memory.memory import HybridMemory
from hybrid_memory.runtime.statistics import CacheStats, KindStats, WorkStats

OUTCOMES = ("done", "failed", "cancelled", "missed")
QUANTILES = ("p50", "p95", "p99")

Figures = Callable[[WorkStats], Iterable[tuple[float, dict[str, str]]]]


def observe(memory: HybridMemory, *, meter_provider: Any = None) -> None:
    """Let a meter read the memory's figures whenever it collects; nothing is measured in between.

    ``hybrid_memory.tasks`` by kind and outcome, ``.queued`` and ``.running`` by kind, ``.latency`` in seconds by kind
    and quantile, ``.cache.hits`` and ``.cache.misses`` by cache, ``.model.calls``, ``.model.tokens``,
    ``.embedding.batches`` and ``.embedding.texts``. A memory that was closed keeps its last figures.

    Args:
        memory: open.
        meter_provider: of the OpenTelemetry API; the global one by default.

    Raises:
        MissingDependencyError: opentelemetry-api is not installed.
    """
    try:
        from opentelemetry import metrics  # noqa: PLC0415 - optional
    except ImportError as error:
        raise MissingDependencyError("opentelemetry-api", extra="telemetry") from error
    meter = (meter_provider or metrics.get_meter_provider()).get_meter("hybrid_memory")

    def reading(figures: Figures) -> list[Any]:
        return [lambda _: [metrics.Observation(value, labels) for value, labels in figures(memory.work)]]

    for name, figures in COUNTERS.items():
        meter.create_observable_counter(f"hybrid_memory.{name}", reading(figures))
    for name, figures in GAUGES.items():
        unit = "s" if name == "latency" else ""
        meter.create_observable_gauge(f"hybrid_memory.{name}", reading(figures), unit=unit)


def _kinds(read: Callable[[KindStats], Iterable[tuple[float | None, dict[str, str]]]]) -> Figures:
    def figures(work: WorkStats) -> Iterable[tuple[float, dict[str, str]]]:
        for kind, stats in work.kinds.items():
            for value, labels in read(stats):
                if value is not None:
                    yield value, {"kind": kind, **labels}

    return figures


def _caches(read: Callable[[CacheStats], int]) -> Figures:
    return lambda work: [(read(cache), {"cache": name}) for name, cache in work.caches.items()]


def _total(read: Callable[[WorkStats], int]) -> Figures:
    return lambda work: [(read(work), {})]


COUNTERS: dict[str, Figures] = {
    "tasks": _kinds(lambda kind: [(getattr(kind, outcome), {"outcome": outcome}) for outcome in OUTCOMES]),
    "cache.hits": _caches(lambda cache: cache.hits),
    "cache.misses": _caches(lambda cache: cache.misses),
    "model.calls": _total(lambda work: work.model_calls),
    "model.tokens": _total(lambda work: work.tokens),
    "embedding.batches": _total(lambda work: work.batches),
    "embedding.texts": _total(lambda work: work.batched),
}
GAUGES: dict[str, Figures] = {
    "queued": _kinds(lambda kind: [(kind.queued, {})]),
    "running": _kinds(lambda kind: [(kind.running, {})]),
    "latency": _kinds(lambda kind: [(getattr(kind, quantile), {"quantile": quantile}) for quantile in QUANTILES]),
}
