"""Spans of a memory's operations for registered tracers; without any, an operation costs one extra check.

``@traced`` decorates a flow, ``@traced_step`` a plain function called inside one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any, ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(slots=True)
class Span:
    """An operation, from its beginning to its end.

    Attributes:
        name: recall, remember, forget, assemble, compact, learn, index, embed, offload or digest.
        attributes: numbers and names of settings, some known only at the end; nothing private.
        content: possibly private data, such as ``query``, ``hits``, ``messages`` and ``scope``.
        shown: whether the memory's settings allow traces to include the content.
        root: whether it has no parent, as in background work.
    """

    name: str
    attributes: dict[str, Any] = field(default_factory=dict)
    content: dict[str, Any] = field(default_factory=dict)
    shown: bool = False
    root: bool = False


Tracer: TypeAlias = Callable[[Span], AbstractContextManager[Any] | AbstractAsyncContextManager[Any]]
"""Returns a context manager that is entered when an operation begins; one that is only async gets no steps."""

Given: TypeAlias = Mapping[str, Any]  # the arguments of an operation by name

BACKGROUND = "background"

_listening: ContextVar[tuple[Tracer, ...]] = ContextVar("hybrid_memory_tracers", default=())
_current: ContextVar[Span | None] = ContextVar("hybrid_memory_span", default=None)


@contextmanager
def listening(tracer: Tracer) -> Iterator[None]:
    """Inside the block, the tracer receives the spans of all memories."""
    token = _listening.set((*_listening.get(), tracer))
    try:
        yield
    finally:
        _listening.reset(token)


def in_background(work: Callable[[], T]) -> T:
    """Run deferred work without the tracers of the caller that deferred it; its spans are roots."""
    tokens = _listening.set(()), _current.set(Span(BACKGROUND))
    try:
        return work()
    finally:
        _listening.reset(tokens[0])
        _current.reset(tokens[1])


def note(**attributes: Any) -> None:
    """Add attributes to the current span, if there is one."""
    span = _current.get()
    if span is not None:
        span.attributes.update(attributes)


def traced(
    name: str, before: Callable[[Span, Given], None] | None = None, after: Callable[[Span, Any], None] | None = None
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]:
    """Trace a flow with ``services`` among its arguments; a call inside a span of the same name belongs to that.

    ``before`` sets attributes from the arguments, ``after`` from the result.
    """

    def decorated(flow: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        signature = inspect.signature(flow)
        place = list(signature.parameters).index("services")

        @wraps(flow)
        def begun(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
            services: Any = args[place]
            if not (services.tracers or _listening.get()):
                return flow(*args, **kwargs)
            outer = _current.get()
            if outer is not None and outer.name == name:
                return flow(*args, **kwargs)
            root = outer is not None and outer.name == BACKGROUND
            span = Span(name, shown=services.config.trace_content, root=root)
            if before is not None:
                before(span, _given(signature, args, kwargs))
            return recorded(span, services.tracers, partial(flow, *args, **kwargs))

        async def recorded(span: Span, own: Sequence[Tracer], work: Callable[[], Coroutine[Any, Any, T]]) -> T:
            tracers = tuple(dict.fromkeys((*own, *_listening.get())))
            async with AsyncExitStack() as stack:
                for tracer in tracers:
                    entered = tracer(span)
                    if isinstance(entered, AbstractContextManager):
                        stack.enter_context(entered)
                    else:
                        await stack.enter_async_context(entered)
                tokens = _listening.set(tracers), _current.set(span)
                try:
                    result = await work()
                    if after is not None:
                        after(span, result)
                    return result
                finally:
                    _listening.reset(tokens[0])
                    _current.reset(tokens[1])

        return begun

    return decorated


def traced_step(name: str, before: Callable[[Span, Given], None]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Trace a plain function called inside a traced flow; see `traced`."""

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)

        @wraps(function)
        def begun(*args: P.args, **kwargs: P.kwargs) -> T:
            tracers = _listening.get()
            if not tracers:
                return function(*args, **kwargs)
            span = Span(name)
            before(span, _given(signature, args, kwargs))
            with ExitStack() as stack:
                for tracer in tracers:
                    entered = tracer(span)
                    if isinstance(entered, AbstractContextManager):
                        stack.enter_context(entered)
                return function(*args, **kwargs)

        return begun

    return decorated


def _given(signature: inspect.Signature, args: Any, kwargs: Any) -> Given:
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments
