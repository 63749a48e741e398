"""Traces of what a memory does in a run, for LangSmith, ``astream_events`` and callbacks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext
from inspect import isawaitable
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import ensure_config
from langchain_core.runnables.config import get_async_callback_manager_for_config, get_callback_manager_for_config

from hybrid_memory import Hit
from hybrid_memory.adapters import TWINS, Runner, Span, handle, listening
from hybrid_memory.errors import HybridMemoryError
from langchain_hybrid_memory.documents import document

CHAINS = frozenset({"compact", "learn", "offload"})


def shown_in_run(run: Runner) -> AbstractContextManager[None]:
    """A context manager that traces the memory's work as child runs of the current run, if it has callbacks.

    A recall is a retriever run ``hybrid_memory.recall``; compaction, learning and offloading are chain runs
    such as ``hybrid_memory.compact``. Query and words appear only with the memory's setting ``trace_content``.
    """
    config = ensure_config()
    callbacks = config.get("callbacks")
    if not getattr(callbacks, "handlers", callbacks):
        return nullcontext()
    manage = get_async_callback_manager_for_config if run is TWINS else get_callback_manager_for_config
    return listening(RunTracer(manage(config)))


class RunTracer:
    """A tracer that reports spans as runs, through a run's callbacks.

    Args:
        manager: the callback manager; blocking or async, like the methods that call the memory.
    """

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    def __call__(self, span: Span) -> AbstractContextManager[None] | AbstractAsyncContextManager[None]:
        if span.name == "recall":
            return self._retrieval(span)
        return self._chain(span) if span.name in CHAINS else nullcontext()

    @asynccontextmanager
    async def _retrieval(self, span: Span) -> AsyncIterator[None]:
        query = span.content["query"] if span.shown else ""
        made = await _result(self._manager.on_retriever_start(None, query, name="hybrid_memory.recall"))
        try:
            yield
        except BaseException as error:
            await _result(made.on_retriever_error(_error(span, error)))
            raise
        hits: Sequence[Hit] = span.content["hits"]
        await _result(made.on_retriever_end([document(hit) if span.shown else _hidden(hit) for hit in hits]))

    @asynccontextmanager
    async def _chain(self, span: Span) -> AsyncIterator[None]:
        name = f"hybrid_memory.{span.name}"
        made = await _result(self._manager.on_chain_start(None, dict(span.attributes), name=name))
        try:
            yield
        except BaseException as error:
            await _result(made.on_chain_error(_error(span, error)))
            raise
        await _result(made.on_chain_end(dict(span.attributes)))


def _hidden(hit: Hit) -> Document:
    """The hit with handle, scores, kind and length instead of words."""
    record, name = hit.record, handle(hit.record.id, hit.record.id)
    told = {"handle": name, "score": hit.score, "confidence": hit.confidence, "kind": record.kind.value}
    return Document(page_content="", id=name, metadata={**told, "chars": len(record.text)})


def _error(span: Span, error: BaseException) -> BaseException:
    """The error; if content is hidden, without its message, which may quote the conversation."""
    return error if span.shown else HybridMemoryError(type(error).__name__)


async def _result(given: Any) -> Any:
    return await given if isawaitable(given) else given
