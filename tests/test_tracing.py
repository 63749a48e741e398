"""Traces of a memory's own, and what OpenTelemetry is told: what is a span, beneath what, and what is not in it."""

import sys
from collections import Counter
from datetime import timedelta
from types import FrameType
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from hybrid_memory import HybridMemory, MemoryConfig, ScopedMemory, Task, observe, open_memory
from hybrid_memory.config import OrchestrationConfig
from hybrid_memory.errors import InvalidInputError, MissingDependencyError, StoreUnavailableError
from hybrid_memory.runtime import tracing
from tests.doubles import line_to, wait_until
from tests.faces import Face, Open

PRIVATE = ("margarete", "therapy", "quince", "porto", "aubergine", "lisbon")
"""A user, a session, words of turns and queries, all in lower case."""


class Watched:
    """A memory whose spans are kept."""

    def __init__(self, memory: HybridMemory, **options: Any) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("test")
        observe(memory, tracer_provider=self.provider, **options)

    @property
    def spans(self) -> list[ReadableSpan]:
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def one(self, name: str) -> dict[str, Any]:
        """The attributes of the last span of this name."""
        (*_, span) = [span for span in self.spans if span.name == name]
        return dict(span.attributes or {})

    def tree(self) -> list[str]:
        """The names, indented beneath their parents, in the order of their beginning."""
        depth: dict[int, int] = {}
        lines = []
        for span in self.spans:
            parent = span.parent.span_id if span.parent else 0
            assert span.context is not None
            depth[span.context.span_id] = level = depth.get(parent, -1) + 1
            lines.append("  " * level + span.name.split()[0])
        return lines


def whole_life(memory: Any) -> None:
    """Every operation that is traced, and one that fails."""
    memory.remember("I moved from Lisbon to Porto, where I eat a quince every day.")
    memory.remember("Noted.", role="assistant")
    memory.recall("Which fruit does she eat in Porto?")
    memory.remember("And what do I cook with the aubergine?")
    memory.assemble()
    memory.offload("aubergine\n" * 500)
    memory.compact(keep=1)
    memory.forget(query="quince")
    with pytest.raises(InvalidInputError):
        memory.compact(strategy="aubergine")


@pytest.fixture
def margarete(memory: HybridMemory) -> ScopedMemory:
    return memory.scoped(user="margarete", session="therapy")


def test_each_operation_is_a_span_beneath_the_one_that_it_belongs_to(
    memory: HybridMemory, margarete: ScopedMemory, face: Face
) -> None:
    watched = Watched(memory)
    whole_life(face(margarete))
    assert watched.tree() == [
        "create_memory",
        "create_memory",
        "search_memory",
        "  index",
        "    embeddings",
        "  embeddings",
        "create_memory",
        "assemble",
        "  learn",
        "    embeddings",
        "  search_memory",
        "    index",
        "      embeddings",
        "    embeddings",
        "offload",
        "compact",
        "delete_memory",
    ]
    seen = " ".join(span.to_json() for span in watched.spans).lower()
    assert [word for word in PRIVATE if word in seen] == [], "unless it is asked for"


def test_a_span_has_the_attributes_of_the_conventions_and_our_own(
    memory: HybridMemory, margarete: ScopedMemory, face: Face
) -> None:
    watched, asked = Watched(memory), face(margarete)
    asked.remember("I live in Porto.")
    hits = asked.recall("Where does she live?", k=3)
    found = watched.one("search_memory")
    assert found["gen_ai.operation.name"] == "search_memory"
    assert found["gen_ai.memory.record.count"] == len(hits) == 1
    assert found["hybrid_memory.k"] == 3
    assert found["hybrid_memory.top_score"] == hits[0].score
    assert (found["hybrid_memory.tier"], found["hybrid_memory.cached"]) == ("semantic", False)
    assert len(found["gen_ai.memory.store.id"]) == 16
    asked.recall("Where does she live?", k=3)
    assert watched.one("search_memory")["hybrid_memory.cached"] is True
    written = watched.one("create_memory")
    assert written["gen_ai.memory.record.count"] == 1
    embedded = next(span for span in watched.spans if span.name.startswith("embeddings"))
    assert embedded.name == "embeddings hashing-256"
    assert watched.one(embedded.name)["gen_ai.request.model"] == "hashing-256"


def test_an_error_is_recorded_without_its_words(memory: HybridMemory, margarete: ScopedMemory, face: Face) -> None:
    watched = Watched(memory)
    line_to(memory, "log").error = StoreUnavailableError("the log of margarete is away")
    with pytest.raises(StoreUnavailableError):
        face(margarete).remember("I live in Porto.")
    (span,) = watched.spans
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes is not None
    assert span.attributes["error.type"] == "StoreUnavailableError"
    assert span.status.description is None
    assert not span.events


@pytest.mark.background
def test_work_in_the_background_begins_a_trace_of_its_own(opened: Open, face: Face) -> None:
    memory = opened(url="memory://", learning={"delay": timedelta(milliseconds=20)})
    watched = Watched(memory)
    with watched.tracer.start_as_current_span("caller"):
        face(memory.scoped(user="margarete")).remember("I am an engineer and live in Porto.")
        wait_until(lambda: {"learn", "index"} <= {span.name for span in watched.spans})
    roots = {span.name for span in watched.spans if span.parent is None}
    assert {"caller", "learn", "index"} <= roots
    (write,) = [span for span in watched.spans if span.name == "create_memory"]
    assert write.parent is not None


def calls(memory: ScopedMemory) -> Counter[str]:
    """How often each function of the tracing is called in a write, a recall, a prompt and an offload."""
    counted: Counter[str] = Counter()
    ours = (tracing.__file__, sys.modules[observe.__module__].__file__)

    def count(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename in ours:
            counted[frame.f_code.co_qualname.rpartition(".")[2]] += 1

    sys.setprofile(count)
    try:
        memory.remember("I live in Porto.")
        memory.recall("Porto")
        memory.recall("Where is the aubergine?")
        memory.remember("And the quince?")
        memory.assemble()
        memory.offload("aubergine\n" * 500)
    finally:
        sys.setprofile(None)
    return counted


def test_off_each_operation_asks_once_and_nothing_else_is_called() -> None:
    config = MemoryConfig(url="memory://", embedder="hashing", orchestration=OrchestrationConfig(background=False))
    with open_memory(config) as memory:
        off = calls(memory.scoped(user="margarete", session="off"))
        watched = Watched(memory)
        on = calls(memory.scoped(user="other", session="off"))
    assert set(off) == {"begun"}
    assert off["begun"] >= len(watched.spans)
    assert {"recorded", "_given"} <= set(on)


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
