"""What OpenTelemetry is told of a memory."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from hybrid_memory import HybridMemory, Task, observe
from hybrid_memory.errors import MissingDependencyError


def collected(reader: InMemoryMetricReader) -> dict[str, dict[tuple[str, ...], float]]:
    """The points of each metric, by the values of their labels."""
    data: Any = reader.get_metrics_data()
    metrics = data.resource_metrics[0].scope_metrics[0].metrics
    return {
        metric.name: {tuple(point.attributes.values()): point.value for point in metric.data.data_points}
        for metric in metrics
    }


def test_the_figures_are_read_when_they_are_collected(memory: HybridMemory) -> None:
    reader = InMemoryMetricReader()
    observe(memory, meter_provider=MeterProvider([reader]))
    alice = memory.scoped(user="alice")
    alice.remember("I live in Berlin.")
    for _ in range(3):
        alice.recall("Where do I live?")
    memory.schedule(Task(lambda: None, kind="mine")).result()
    with pytest.raises(ZeroDivisionError):
        memory.schedule(Task(lambda: 1 // 0, kind="mine")).result()
    seen, work = collected(reader), memory.work
    assert seen["hybrid_memory.tasks"]["recall", "done"] == 3
    assert seen["hybrid_memory.tasks"]["mine", "done"] == seen["hybrid_memory.tasks"]["mine", "failed"] == 1
    assert seen["hybrid_memory.cache.hits"]["answers",] == work.caches["answers"].hits == 2
    assert seen["hybrid_memory.cache.misses"]["answers",] == work.caches["answers"].misses == 1
    assert seen["hybrid_memory.latency"]["recall", "p50"] == work.kinds["recall"].p50
    assert seen["hybrid_memory.queued"]["recall",] == 0
    assert seen["hybrid_memory.embedding.texts"][()] == work.batched == 2
    alice.recall("Where do I live?")
    assert collected(reader)["hybrid_memory.tasks"]["recall", "done"] == 4


def test_without_the_package_its_extra_is_named(memory: HybridMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry", None)
    with pytest.raises(MissingDependencyError, match=r"hybrid-agent-memory\[telemetry\]"):
        observe(memory)
