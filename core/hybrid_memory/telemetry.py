"""OpenTelemetry metrics and spans of a memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hybrid_memory.errors import MissingDependencyError
from hybrid_memory.log.event import handle
from hybrid_memory.memory import HybridMemory
from hybrid_memory.runtime.statistics import WorkStats
from hybrid_memory.runtime.tracing import Span, Tracer

NAMES = {"recall": "search_memory", "remember": "create_memory", "forget": "delete_memory", "embed": "embeddings"}
"""Names of operations in the GenAI conventions; operations without one keep our name."""


def observe(
    memory: HybridMemory, *, meter_provider: Any = None, tracer_provider: Any = None, content: bool | None = None
) -> None:
    """Export the memory's statistics as OpenTelemetry metrics, and its operations from now on as spans.

    ``hybrid_memory.tasks`` by kind and outcome, ``.queued`` and ``.running`` by kind, ``.latency`` in seconds by kind
    and quantile, ``.cache.hits`` and ``.cache.misses`` by cache, ``.model.calls``, ``.model.tokens``,
    ``.embedding.batches`` and ``.embedding.texts``. A closed memory keeps its last values.

    Spans follow the GenAI conventions: ``search_memory``, ``create_memory``, ``delete_memory`` and ``embeddings``, with
    ``gen_ai.memory.store.id``, a hash of the memory's URL, and ``gen_ai.memory.record.count``. Others are named
    ``assemble``, ``compact``, ``learn``, ``index`` and ``offload``. Our own attributes start with
    ``hybrid_memory.``. Background work starts its own trace.

    The providers are those of the OpenTelemetry API, by default the global ones. With ``content``, by default the
    memory's setting ``trace_content``, spans contain queries, messages, hits, user and session, and error messages.

    Raises:
        MissingDependencyError: opentelemetry-api is not installed.
    """
    try:
        from opentelemetry import metrics, trace  # noqa: PLC0415 - optional
    except ImportError as error:
        raise MissingDependencyError("opentelemetry-api", extra="telemetry") from error
    meter = (meter_provider or metrics.get_meter_provider()).get_meter("hybrid_memory")

    def reading(name: str) -> list[Any]:
        return [lambda _: [metrics.Observation(value, at) for of, value, at in _figures(memory.work) if of == name]]

    for name in COUNTERS:
        meter.create_observable_counter(f"hybrid_memory.{name}", reading(name))
    for name in GAUGES:
        unit = "s" if name == "latency" else ""
        meter.create_observable_gauge(f"hybrid_memory.{name}", reading(name), unit=unit)
    tracer = (tracer_provider or trace.get_tracer_provider()).get_tracer("hybrid_memory")
    memory.trace(_spans(tracer, memory.url, content))


def _spans(tracer: Any, url: str, content: bool | None) -> Tracer:
    """A tracer that turns each of our spans into an OpenTelemetry span."""
    from opentelemetry.context import Context  # noqa: PLC0415 - optional
    from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415 - optional

    # A path or a database may be named after its user.
    store = hashlib.blake2b(url.encode(), digest_size=8).hexdigest()

    @contextmanager
    def traced(span: Span) -> Iterator[None]:
        operation = NAMES.get(span.name, span.name)
        title, subject = operation, {"gen_ai.memory.store.id": store}
        if span.name == "embed":
            model = span.attributes["model"]
            title = f"{operation} {model}"
            subject = {"gen_ai.provider.name": "hybrid_memory", "gen_ai.request.model": model}
        known = {"gen_ai.operation.name": operation, **subject, **_ours(span)}
        shown = span.shown if content is None else content
        context = Context() if span.root else None
        with tracer.start_as_current_span(
            title, context, attributes=known, record_exception=shown, set_status_on_exception=False
        ) as made:
            try:
                yield
            except BaseException as error:
                made.set_attribute("error.type", type(error).__name__)
                made.set_status(Status(StatusCode.ERROR, str(error) if shown else None))
                raise
            finally:
                made.set_attributes(_ours(span, content=shown))

    return traced


def _ours(span: Span, *, content: bool = False) -> dict[str, Any]:
    """The attributes under their OpenTelemetry names; with ``content``, those too that may be private."""
    ours = {f"hybrid_memory.{name}": value for name, value in span.attributes.items()}
    if span.name == "embed":
        del ours["hybrid_memory.model"]
    if span.name in NAMES and "count" in span.attributes:
        ours["gen_ai.memory.record.count"] = ours.pop("hybrid_memory.count")
    private: Mapping[str, Any] = span.content if content else {}
    if scope := private.get("scope"):
        whose = {"user.id": scope.user, "gen_ai.agent.id": scope.agent, "gen_ai.conversation.id": scope.session}
        ours |= {name: value for name, value in whose.items() if value is not None}
    if query := private.get("query"):
        ours["gen_ai.memory.query.text"] = query
    records = [
        {"id": handle(hit.record.id, hit.record.id), "content": hit.record.text, "score": hit.score}
        for hit in private.get("hits", ())
    ] or [{"content": message.text} for message in private.get("messages", ())]
    if records:
        ours["gen_ai.memory.records"] = json.dumps(records, ensure_ascii=False)
    return ours


COUNTERS = "tasks cache.hits cache.misses model.calls model.tokens embedding.batches embedding.texts".split()
GAUGES = ("queued", "running", "latency")


def _figures(work: WorkStats) -> Iterator[tuple[str, float, dict[str, str]]]:
    """The values of all instruments with their labels."""
    for kind, stats in work.kinds.items():
        for outcome in ("done", "failed", "cancelled", "missed"):
            yield "tasks", getattr(stats, outcome), {"kind": kind, "outcome": outcome}
        for name in ("queued", "running"):
            yield name, getattr(stats, name), {"kind": kind}
        for quantile in ("p50", "p95", "p99"):
            if (seconds := getattr(stats, quantile)) is not None:
                yield "latency", seconds, {"kind": kind, "quantile": quantile}
    for name, cache in work.caches.items():
        yield "cache.hits", cache.hits, {"cache": name}
        yield "cache.misses", cache.misses, {"cache": name}
    yield "model.calls", work.model_calls, {}
    yield "model.tokens", work.tokens, {}
    yield "embedding.batches", work.batches, {}
    yield "embedding.texts", work.batched, {}
