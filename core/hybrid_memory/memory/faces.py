"""The two faces of a verb: one coroutine, driven here and now, or on an event loop with worker threads.

async def _recall(self, run: Runner, query: str, *, k: int = 10) -> Hits: ...
recall, arecall = faces(_recall, needs=Right.READ)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeAlias, TypeVar

from hybrid_memory.log.visible import Horizon
from hybrid_memory.memory.runtime import Runtime
from hybrid_memory.runtime.runners import Runner, two_faces
from hybrid_memory.scope import Scope
from hybrid_memory.sharing.decide import Asked
from hybrid_memory.sharing.grant import Right
from hybrid_memory.store.services import Services


class Verbs:
    """What has verbs. Each gets the runner of the face that was called."""

    _runtime: Runtime

    async def _admitted(self, run: Runner, asked: Asked | None) -> Self:
        """This object for one call."""
        return self


class Handle(Verbs):
    """A memory as one owner sees it, now or as of an earlier time.

    Attributes:
        scope: whose it is.
    """

    def __init__(self, runtime: Runtime, scope: Scope, horizon: Horizon | None = None) -> None:
        self._runtime = runtime
        self._horizon = horizon
        self.scope = scope

    @property
    def _services(self) -> Services:
        services = self._runtime.services
        return services if self._horizon is None else replace(services, horizon=self._horizon)

    @property
    def _principal(self) -> Scope:
        """Who acts."""
        return self.scope.owner


P = ParamSpec("P")
T = TypeVar("T")
V = TypeVar("V", bound=Verbs)
Flow: TypeAlias = Callable[Concatenate[V, Runner, P], Coroutine[Any, Any, T]]
Face: TypeAlias = Callable[Concatenate[V, P], T]
Twin: TypeAlias = Callable[Concatenate[V, P], Coroutine[Any, Any, T]]


def faces(
    flow: Flow[V, P, T], *, needs: Right | None = None, trusted: bool | None = None, verb: str = ""
) -> tuple[Face[V, P, T], Twin[V, P, T]]:
    """The blocking verb and its async twin, each with the arguments of the coroutine.

    Args:
        flow: a method ``_verb(self, run, ...)`` with the docstring of the verb.
        needs: the right that the verb takes in a shared space; with None a space refuses it, if it needs the services.
        trusted: whether it takes trust there too; by default what is more than reading does.
        verb: its name in the audit of a space; by default that of the method.
    """
    trust = needs is not Right.READ if trusted is None else trusted
    asked = None if needs is None else Asked(verb or flow.__name__.lstrip("_"), needs, trusted=trust)

    async def admitted(self: V, run: Runner, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await flow(await self._admitted(run, asked), run, *args, **kwargs)

    face, twin = two_faces(admitted, lambda self: self._runtime.loop, like=flow)
    face.__dict__["asked"] = asked
    return face, twin


def renamed(new: Callable[P, T], old: str, instead: str) -> Callable[P, T]:
    """A verb under its former name, which warns."""

    @wraps(new)
    def warned(*args: P.args, **kwargs: P.kwargs) -> T:
        warnings.warn(f"{old} is deprecated: use {instead}", DeprecationWarning, stacklevel=2)
        return new(*args, **kwargs)

    warned.__doc__ = f"Deprecated: use `{instead}`."
    return warned
