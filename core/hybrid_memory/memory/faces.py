"""The two faces of a verb: one coroutine, driven here and now, or on an event loop with worker threads.

@verb(Right.READ)
async def recall(self, run: Runner, query: str, *, k: int = 10) -> Hits: ...
arecall = recall.twin
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeAlias, TypeVar, overload

from hybrid_memory.arguments import Arguments
from hybrid_memory.documents import editing
from hybrid_memory.documents.document import MAX_CHARS, Block, block_path
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.facts.learn import learn_before_reading
from hybrid_memory.log.message import Origin
from hybrid_memory.log.views import Horizon, ReadOnlyLog
from hybrid_memory.memory.runtime import Runtime
from hybrid_memory.runtime.runners import INLINE, Runner, two_faces
from hybrid_memory.scope import Scope
from hybrid_memory.sharing import Asked, Right
from hybrid_memory.store.indexing import TextIndex
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import check_horizon

SILENT = frozenset(("assemble", "remember", "mirror", "reset"))
"""What an agent calls at each turn: with ``remember=False`` these verbs work, and store nothing."""


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
        remembers: whether what is said through this handle is stored.
    """

    def __init__(
        self, runtime: Runtime, scope: Scope, horizon: Horizon | None = None, *, remember: bool = True
    ) -> None:
        self._runtime = runtime
        self._horizon = horizon
        self.scope = scope
        self.remembers = remember
        self._principal = scope.owner  # who acts

    @property
    def _services(self) -> Services:
        services = self._runtime.services
        if not self.remembers:
            services = replace(services, log=ReadOnlyLog(services.log), read_only=True)
        return services if self._horizon is None else replace(services, horizon=self._horizon)

    async def _admitted(self, run: Runner, asked: Asked | None) -> Self:
        if self._horizon is not None:
            await check_horizon(run, self._runtime.services, self.scope, self._horizon)
        if self.remembers or asked is None:
            return self
        if asked.needed is not Right.READ and asked.verb not in SILENT:
            raise InvalidInputError(f"{asked.verb}: nothing is stored with remember=False: use scoped() without it")
        services = self._runtime.services
        if self._horizon is None and not services.read_only:  # what was said in other sessions is found
            await services.state(TextIndex).catch_up(run, services, self.scope.owner)
            await learn_before_reading(run, services, self.scope)
        return self

    @property
    def _owned(self) -> editing.Owned:
        """Whose documents these are."""
        return editing.Owned(self._services, self.scope)


P = ParamSpec("P")
T = TypeVar("T")
V = TypeVar("V", bound=Verbs)
Flow: TypeAlias = Callable[Concatenate[V, Runner, P], Coroutine[Any, Any, T]]


class Verb(Generic[V, P, T]):
    """What type checkers see of a verb: a blocking method, and its async twin. It is a plain function."""

    twin: Callable[Concatenate[V, P], Coroutine[Any, Any, T]]

    @overload
    def __get__(self, handle: None, kind: type, /) -> Callable[Concatenate[V, P], T]: ...
    @overload
    def __get__(self, handle: V, kind: type, /) -> Callable[P, T]: ...
    def __get__(self, handle: V | None, kind: type, /) -> Any: ...


def verb(
    needs: Right | None = None, *, called: str = "", refusal: type[InvalidInputError] = InvalidInputError
) -> Callable[[Flow[V, P, T]], Verb[V, P, T]]:
    """Make the blocking verb of a flow, with the async one as its ``twin``; both take the arguments behind ``run``.

    ``needs`` is the right that it takes in a shared space; with None a space refuses it, if it needs the services.
    ``called`` is its name in the audit of a space, ``refusal`` the error of an argument that is not what the signature
    says.
    """

    def made(flow: Flow[V, P, T]) -> Verb[V, P, T]:
        asked = None if needs is None else Asked(called or flow.__name__, needs)
        arguments = Arguments(flow, refusal)

        @wraps(flow)
        async def admitted(self: V, run: Runner, /, *args: P.args, **kwargs: P.kwargs) -> T:
            given, named = arguments(args, kwargs)
            handle = await self._admitted(run, asked)
            try:
                running = flow(handle, run, *given, **named)
            except TypeError:  # of the arguments: nothing of the flow has run yet
                check_call(self, face if run is INLINE else face.twin, args, kwargs)
                raise
            return await running

        face: Any
        face, face.twin = two_faces(admitted, lambda self: self._runtime.loop)
        face.asked = asked
        return face  # type: ignore[no-any-return]

    return made


def check_call(owner: object, face: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise the `TypeError` of arguments that do not fit, for the signature that callers see: it has no runner."""
    declared = signature(face)
    try:
        declared.bind(owner, *args, **kwargs)
    except TypeError as problem:
        _, *others = declared.parameters.values()
        names = [one.replace(annotation=Parameter.empty, default=Parameter.empty) for one in others]
        shape = declared.replace(parameters=names, return_annotation=Parameter.empty)
        raise TypeError(f"{type(owner).__name__}.{face.__name__}(): {problem}; it takes {shape}") from None


class Part(Verbs):
    """A handle within a memory, which asks for the same rights."""

    def __init__(self, memory: Handle) -> None:
        self._runtime = memory._runtime  # noqa: SLF001 - a part of it
        self._memory = memory

    async def _admitted(self, run: Runner, asked: Asked | None) -> Self:
        memory = await self._memory._admitted(run, asked)  # noqa: SLF001 - a part of it
        if memory is self._memory:
            return self
        handle = copy(self)
        handle._memory = memory  # noqa: SLF001 - a copy of this one
        return handle

    @property
    def _services(self) -> Services:
        return self._memory._services  # noqa: SLF001 - a part of it

    @property
    def _owned(self) -> editing.Owned:
        return self._memory._owned  # noqa: SLF001 - a part of it


class BlockHandle(Part):
    """The block with one label, which need not exist yet; made by `ScopedMemory.block`.

    Every change is an event in the log.
    """

    def __init__(self, memory: Handle, label: str) -> None:
        super().__init__(memory)
        self.label = label

    @verb(Right.WRITE, called="put_block")
    async def put(
        self,
        run: Runner,
        value: str = "",
        *,
        description: str = "",
        max_chars: int = MAX_CHARS,
        read_only: bool = False,
    ) -> Block:
        """Create or replace the block; for applications, which may also set read-only blocks.

        A label has 1 to 64 letters, digits, ``_``, ``.`` and ``-``.

        Args:
            value: the text.
            description: tells the model what belongs in the block.
            max_chars: the longest the text may ever be, 1 to 100,000.
            read_only: forbid edits by the model.

        Raises:
            InvalidInputError: the label or an argument is out of range. Nothing was changed.
        """
        return await editing.put(run, self._owned, Block(self.label, value, description, max_chars, read_only))

    @verb(Right.WRITE, called="edit_block")
    async def edit(
        self,
        run: Runner,
        *,
        append: str | None = None,
        old: str | None = None,
        new: str = "",
        value: str | None = None,
        revision: int | None = None,
        id: str = "",  # noqa: A002 - the field's name, as in remember
        source: str | Sequence[str] = (),
        origin: Origin | str | None = None,
    ) -> Block:
        """Change the text, as a model does; give exactly one of ``append``, ``old`` and ``value``.

        Concurrent appends are all kept. A replacement succeeds as long as the text it replaces is still there.

        Args:
            append: text to add on a new line at the end.
            old: text that occurs exactly once in the block; it becomes ``new``.
            new: the replacement; empty removes ``old``.
            value: the whole new text.
            revision: with ``value``: the revision you read; None overwrites whatever is there.
            id: makes the edit idempotent.
            source: ids of the messages the edit comes from; it is forgotten with them.
            origin: whose words the edit adds: by default the operator's, or the assistant's if ``id`` or ``source`` is
                given. A block has the lowest origin of its parts and of the messages behind them.

        Raises:
            InvalidInputError: the block does not exist, is read-only or would be too long, ``old`` does not occur
                exactly once, or the revision differs. Nothing was changed.
        """
        path = block_path(self.label)
        name, change = editing.block_change(path, append=append, old=old, new=new, value=value)
        made = await editing.write(
            run, self._owned, path, name, change, call=id, source=source, origin=origin, default=Origin.OPERATOR,
            seen=revision,
        )  # fmt: skip
        return made.block

    @verb(Right.WRITE, called="undo_block")
    async def undo(self, run: Runner) -> Block:
        """Undo the last change; call it again to undo the one before.

        Raises:
            InvalidInputError: there is nothing to undo.
        """
        return (await editing.undo(run, self._owned, block_path(self.label))).block

    @verb(Right.READ, called="block_history")
    async def history(self, run: Runner) -> list[Block]:
        """The block after each of its changes, oldest first.

        Raises:
            InvalidInputError: no block ever had this label.
        """
        return [made.block for made in await editing.history(run, self._owned, block_path(self.label))]

    @verb(Right.WRITE, called="remove_block")
    async def remove(self, run: Runner) -> None:
        """Remove the block from the prompt; its history is kept, and `undo` restores it.

        Raises:
            InvalidInputError: there is no such block.
        """
        await editing.delete(run, self._owned, block_path(self.label))

    def __repr__(self) -> str:
        return f"<BlockHandle {self.label!r} of {self._memory!r}>"

    aput = put.twin
    aedit = edit.twin
    aundo = undo.twin
    ahistory = history.twin
    aremove = remove.twin
