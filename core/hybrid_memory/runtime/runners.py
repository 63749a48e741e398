"""One coroutine per verb, run in two ways: inline, or on an event loop with worker threads.

A flow does its input and output only through ``await run.call(port.verb, ...)`` and ``await run.gather(...)``.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import sys
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Executor
from functools import partial, update_wrapper
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from hybrid_memory.errors import MemoryClosedError

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


class Runner(Protocol):
    """Where the calls of a flow run."""

    async def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a blocking port method."""
        ...

    async def gather(self, *jobs: Callable[[], Awaitable[T]]) -> list[T]:
        """The results of independent parts of a flow, in order; the first error cancels the rest."""
        ...


class InlineRunner:
    """Makes calls inline; the flow never suspends."""

    async def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)

    async def gather(self, *jobs: Callable[[], Awaitable[T]]) -> list[T]:
        return [await job() for job in jobs]


class LoopRunner:
    """Awaits a port's async twin if it has one, otherwise runs the method on the executor.

    Each call gets a copy of the caller's context variables.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        owner = getattr(function, "__self__", None)
        beside = None if owner is None else getattr(owner, f"a{function.__name__}", None)
        twin: Callable[P, Awaitable[T]] | None = beside if asyncio.iscoroutinefunction(beside) else None
        if twin is not None:
            return await twin(*args, **kwargs)
        context = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        try:
            job = loop.run_in_executor(self._executor, partial(context.run, function, *args, **kwargs))
        except RuntimeError as error:  # the executor was shut down between two calls of a flow
            raise MemoryClosedError from error
        return await job

    async def gather(self, *jobs: Callable[[], Awaitable[T]]) -> list[T]:
        """The results, computed concurrently.

        Not a TaskGroup: that would raise an ExceptionGroup, while the inline runner raises the error itself.
        """
        tasks = [asyncio.ensure_future(job()) for job in jobs]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()


def drive(flow: Coroutine[Any, Any, T]) -> T:
    """The result of a flow that runs inline: one step, no event loop, as it never suspends on an `InlineRunner`."""
    try:
        flow.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    flow.close()
    raise RuntimeError(f"{flow!r} waits for an event loop: call its async twin")


INLINE = InlineRunner()  # the runner of all blocking methods


class TwinRunner(InlineRunner):
    """Awaits each function's async twin, ``arecall`` for ``recall``, so that the memory decides where it runs."""

    async def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of the twin, which is in the same object or module as the function."""
        name, owner = function.__name__, getattr(function, "__self__", None)
        private = "_" * name.startswith("_")
        beside = sys.modules[function.__module__] if owner is None else owner
        twin: Callable[P, Coroutine[Any, Any, T]] = getattr(beside, f"{private}a{name.removeprefix('_')}")
        return await twin(*args, **kwargs)


TWINS = TwinRunner()  # the runner of async methods that call other methods with two faces


def two_faces(
    flow: Callable[Concatenate[S, Runner, P], Coroutine[Any, Any, T]], runner: Callable[[S], Runner]
) -> tuple[Callable[Concatenate[S, P], T], Callable[Concatenate[S, P], Coroutine[Any, Any, T]]]:
    """The blocking method and its async twin: from ``_get(self, run, ...)``, the methods ``get`` and ``aget``.

    ``runner`` makes the twin's runner, given the object.
    """

    def face(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return drive(flow(self, INLINE, *args, **kwargs))

    async def twin(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await flow(self, runner(self), *args, **kwargs)

    name = flow.__name__.lstrip("_")
    _dress(face, flow, name, flow.__doc__)
    _dress(twin, flow, f"a{name}", f"Async twin of `{name}`.")
    return face, twin


def _dress(face: Callable[..., Any], flow: Callable[..., Any], name: str, doc: str | None) -> None:
    """Set a method's name, and the flow's signature without the runner."""
    declared = inspect.signature(flow)
    this, runner, *others = declared.parameters.values()
    parameters = [this.replace(kind=this.POSITIONAL_OR_KEYWORD), *others]
    update_wrapper(face, flow)
    face.__dict__["__signature__"] = declared.replace(parameters=parameters)
    face.__annotations__ = {key: kind for key, kind in flow.__annotations__.items() if key != runner.name}
    face.__name__, face.__doc__ = name, doc
    face.__qualname__ = f"{flow.__qualname__.rpartition('.')[0]}.{name}"
