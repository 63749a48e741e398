"""The verbs: `HybridMemory` for a store, `ScopedMemory` for one owner's part of it.

Each verb has a blocking face and an async twin with a leading ``a``, both driving the same flow.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, Self

from hybrid_memory.compute.progress import progress_bar
from hybrid_memory.compute.runners import InlineRunner, LoopRunner, Runner, drive
from hybrid_memory.errors import MemoryClosedError
from hybrid_memory.flows import flush, history, rebuild, recall, remember, stats
from hybrid_memory.flows.remember import Content, as_messages
from hybrid_memory.flows.world import World
from hybrid_memory.ports import Embedder
from hybrid_memory.types import Hit, Message, Receipt, RecordKind, Role, Scope, Stats, Weights

WORKERS = 16
"""Threads for the async face, started as they are needed: enough for slow models, few enough for one store."""

_INLINE = InlineRunner()


class _House:
    """The world behind a memory's handles, while it is open, and the threads of the async face."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._executor: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self.closed = False

    @property
    def world(self) -> World:
        """The ports; raises `MemoryClosedError` after `close`."""
        if self.closed:
            raise MemoryClosedError
        return self._world

    @property
    def loop(self) -> Runner:
        """The runner of the async face; its threads start with the first use."""
        with self._lock:
            if self.closed:
                raise MemoryClosedError
            if self._executor is None:
                self._executor = ThreadPoolExecutor(max_workers=WORKERS, thread_name_prefix="hybrid-memory")
            return LoopRunner(self._executor)

    def close(self) -> None:
        """Release stores and threads."""
        with self._lock:
            self.closed = True
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=True)
        self._world.index.close()
        self._world.log.close()

    @property
    def url(self) -> str:
        """Where the store is."""
        return self._world.config.url

    def __str__(self) -> str:
        embedder = self._world.embedder.name if self._world.embedder else "text only"
        return f"{self._world.config.url} ({embedder}){' closed' if self.closed else ''}"


class HybridMemory:
    """A memory store. Open one with `open_memory`, close it or use it in a ``with`` block; any thread may call it.

    Args:
        world: its ports, from `hybrid_memory.build`.
        as_embedder: turns what the caller gives to `rebuild` into an embedder.
    """

    def __init__(self, world: World, as_embedder: Callable[[Any], Embedder]) -> None:
        self._house = _House(world)
        self._as_embedder = as_embedder

    @property
    def url(self) -> str:
        """Where the store is, as in its configuration."""
        return self._house.url

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._house.closed

    def scoped(
        self,
        *,
        tenant: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
    ) -> ScopedMemory:
        """The memory of one owner, and of one session of theirs if it is named.

        Raises:
            InvalidScopeError: none of tenant, user and agent is given, or one is malformed.
        """
        return ScopedMemory(self._house, Scope(tenant=tenant, user=user, agent=agent, session=session))

    def flush(self, *, progress: bool | None = None) -> Receipt:
        """Do all derived work now, for every owner; see `ScopedMemory.flush`."""
        return drive(_flush(_INLINE, self._house.world, None, progress))

    async def aflush(self, *, progress: bool | None = None) -> Receipt:
        """Async twin of `flush`."""
        return await _flush(self._house.loop, self._house.world, None, progress)

    def stats(self) -> Stats:
        """What the store holds, and how far its index follows the log."""
        return drive(stats.stats(_INLINE, self._house.world))

    async def astats(self) -> Stats:
        """Async twin of `stats`."""
        return await stats.stats(self._house.loop, self._house.world)

    def rebuild(self, *, embedder: Any = None, progress: bool | None = None) -> Receipt:
        """Drop the index and derive it again from the log, with another embedder if one is given.

        Raises:
            ModelError: the embedder failed; the texts are indexed, and `flush` makes the vectors later.
        """
        with progress_bar("rebuilding", shown=progress) as advance:
            return drive(rebuild.rebuild(_INLINE, self._house.world, self._replacement(embedder), advance))

    async def arebuild(self, *, embedder: Any = None, progress: bool | None = None) -> Receipt:
        """Async twin of `rebuild`."""
        with progress_bar("rebuilding", shown=progress) as advance:
            world = self._house.world
            return await rebuild.rebuild(self._house.loop, world, self._replacement(embedder), advance)

    def close(self) -> None:
        """Release the store; harmless when repeated. What is not indexed yet is indexed after the next opening."""
        self._house.close()

    async def aclose(self) -> None:
        """Async twin of `close`."""
        await asyncio.to_thread(self._house.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<HybridMemory {self._house}>"

    def _replacement(self, embedder: Any) -> Embedder | None:
        return self._house.world.embedder if embedder is None else self._as_embedder(embedder)


async def _flush(run: Runner, world: World, owners: Sequence[Scope] | None, shown: bool | None) -> Receipt:
    with progress_bar("indexing", shown=shown) as advance:
        return await flush.flush(run, world, owners, advance)


class ScopedMemory:
    """One owner's memory; made by `HybridMemory.scoped`.

    Attributes:
        scope: whose it is.
    """

    def __init__(self, house: _House, scope: Scope) -> None:
        self._house = house
        self.scope = scope

    def remember(
        self,
        content: Content,
        *,
        role: Role | str = Role.USER,
        at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,  # noqa: A002 - the field's name, as in Message
    ) -> Receipt:
        """Write text, a message, a dict (``{"role": ..., "content": ...}``) or a list of these, all or none.

        The events are durable when this returns; indexing comes later, at the latest with the next recall.
        Writing a message again under the same id changes nothing.

        Args:
            content: what was said.
            role: of plain texts.
            at: when it was said; aware. The clock's time if neither this nor the message says.
            metadata: JSON values of the caller's own, for every message; a message's own values win.
            id: makes the write of one message idempotent within its session.

        Raises:
            InvalidMessageError: one of them cannot be stored. Nothing was written.
            IdConflictError: the id is taken by another message. Nothing was written.
            StoreUnavailableError: the disk is full or cannot be written. Nothing was written.
        """
        messages = as_messages(content, role=role, at=at, metadata=metadata, message_id=id)
        return drive(remember.remember(_INLINE, self._house.world, self.scope, messages))

    async def aremember(
        self,
        content: Content,
        *,
        role: Role | str = Role.USER,
        at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,  # noqa: A002 - the field's name, as in Message
    ) -> Receipt:
        """Async twin of `remember`."""
        messages = as_messages(content, role=role, at=at, metadata=metadata, message_id=id)
        return await remember.remember(self._house.loop, self._house.world, self.scope, messages)

    def recall(
        self,
        query: str,
        *,
        k: int = 10,
        within: Literal["user", "session"] = "user",
        kinds: Collection[RecordKind] = (),
        categories: Collection[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        metadata: Mapping[str, str | int | float | bool | None] | None = None,
        weights: Weights | None = None,
    ) -> list[Hit]:
        """The records that answer the query best, at most k, best first; what was just written is found.

        Args:
            query: a question or any text.
            k: how many at most.
            within: all sessions of the owner, or this handle's session only.
            kinds: only these; empty means any.
            categories: only these; empty means any.
            since: only what was said then or later; aware.
            until: only what was said before; aware.
            metadata: only records whose metadata has exactly these values.
            weights: of the signals, instead of the configured ones.

        Raises:
            InvalidInputError: an empty query, k below 1, ``within="session"`` without a session, a naive instant.
        """
        request = recall.Request.of(
            self.scope, query, k=k, within=within, kinds=kinds, categories=categories,
            since=since, until=until, metadata=metadata, weights=weights,
        )  # fmt: skip
        return drive(recall.recall(_INLINE, self._house.world, request))

    async def arecall(
        self,
        query: str,
        *,
        k: int = 10,
        within: Literal["user", "session"] = "user",
        kinds: Collection[RecordKind] = (),
        categories: Collection[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        metadata: Mapping[str, str | int | float | bool | None] | None = None,
        weights: Weights | None = None,
    ) -> list[Hit]:
        """Async twin of `recall`."""
        request = recall.Request.of(
            self.scope, query, k=k, within=within, kinds=kinds, categories=categories,
            since=since, until=until, metadata=metadata, weights=weights,
        )  # fmt: skip
        return await recall.recall(self._house.loop, self._house.world, request)

    def history(
        self, *, limit: int | None = None, since: datetime | None = None, until: datetime | None = None
    ) -> list[Message]:
        """The messages as they were said, oldest first: of the session, or of all sessions if the scope names none.

        Args:
            limit: the newest so many; None is all.
            since: only what was said then or later; aware.
            until: only what was said before; aware.
        """
        flow = history.history(_INLINE, self._house.world, self.scope, limit=limit, since=since, until=until)
        return drive(flow)

    async def ahistory(
        self, *, limit: int | None = None, since: datetime | None = None, until: datetime | None = None
    ) -> list[Message]:
        """Async twin of `history`."""
        world = self._house.world
        return await history.history(self._house.loop, world, self.scope, limit=limit, since=since, until=until)

    def flush(self, *, progress: bool | None = None) -> Receipt:
        """Index now what was written and is not indexed yet; recall would otherwise do it first.

        Args:
            progress: show a bar; None shows it on a terminal.

        Raises:
            ModelError: the embedder failed; texts are indexed, and the vectors that wait are made next time.
        """
        return drive(_flush(_INLINE, self._house.world, [self.scope.owner], progress))

    async def aflush(self, *, progress: bool | None = None) -> Receipt:
        """Async twin of `flush`."""
        return await _flush(self._house.loop, self._house.world, [self.scope.owner], progress)

    def __repr__(self) -> str:
        return f"<ScopedMemory {self.scope} in {self._house}>"
