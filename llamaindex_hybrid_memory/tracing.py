"""Traces of a memory's work as events and spans of LlamaIndex's instrumentation."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from uuid import uuid4

from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent, RetrievalStartEvent
from llama_index.core.instrumentation.span import active_span_id
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.event_handlers import NullEventHandler
from llama_index_instrumentation.span_handlers import NullSpanHandler

from hybrid_memory import Hit
from hybrid_memory.adapters import Span, handle, listening
from hybrid_memory.errors import HybridMemoryError
from llamaindex_hybrid_memory.retriever import node

dispatcher = get_dispatcher(__name__)

_NO_ARGUMENTS = inspect.signature(lambda: None).bind()


def shown_to_handlers() -> AbstractContextManager[None]:
    """A context manager that reports the memory's work to the handlers of LlamaIndex's instrumentation, if any.

    Each operation is a span such as ``hybrid_memory.compact-ID``, with its attributes as tags; the span of a recall
    contains a `RetrievalStartEvent` and a `RetrievalEndEvent`. Query and words appear only with the memory's setting
    ``trace_content``.
    """
    return listening(_reported) if _watched() else nullcontext()


def _watched() -> bool:
    events = (*dispatcher.event_handlers, *dispatcher.root.event_handlers)
    spans = (*dispatcher.span_handlers, *dispatcher.root.span_handlers)
    return not all(isinstance(one, NullEventHandler) for one in events) or not all(
        isinstance(one, NullSpanHandler) for one in spans
    )


@contextmanager
def _reported(span: Span) -> Iterator[None]:
    name = f"hybrid_memory.{span.name}-{uuid4()}"
    query = span.content.get("query", "") if span.shown else ""
    token = active_span_id.set(name)
    try:
        before = token.old_value if isinstance(token.old_value, str) else None
        dispatcher.span_enter(name, _NO_ARGUMENTS, parent_id=before, tags=dict(span.attributes))
        if span.name == "recall":
            dispatcher.event(RetrievalStartEvent(str_or_query_bundle=query))
        yield
        if span.name == "recall":
            nodes = [node(hit) if span.shown else _hidden(hit) for hit in span.content["hits"]]
            dispatcher.event(RetrievalEndEvent(str_or_query_bundle=query, nodes=nodes))
        dispatcher.span_exit(name, _NO_ARGUMENTS, result=dict(span.attributes))
    except BaseException as error:
        # Its words may quote somebody.
        told = error if span.shown else HybridMemoryError(type(error).__name__)
        dispatcher.span_drop(name, _NO_ARGUMENTS, err=told)
        raise
    finally:
        active_span_id.reset(token)


def _hidden(hit: Hit) -> NodeWithScore:
    """The hit with handle, scores, kind and length instead of words."""
    record, name = hit.record, handle(hit.record.id, hit.record.id)
    told = {"handle": name, "confidence": hit.confidence, "kind": record.kind.value, "chars": len(record.text)}
    return NodeWithScore(node=TextNode(id_=name, text="", extra_info=told), score=hit.score)
