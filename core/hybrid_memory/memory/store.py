"""The handle of a store, and how a copied, pickled or serialised handle finds its store again by URL."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar
from uuid import uuid4
from weakref import WeakKeyDictionary, WeakValueDictionary

from hybrid_memory import display
from hybrid_memory.arguments import checked
from hybrid_memory.config import CompactionConfig, MemoryConfig
from hybrid_memory.context.shortening import Condensed, How, condense
from hybrid_memory.context.strategies import resolve_strategy
from hybrid_memory.context.summary import Audit
from hybrid_memory.display import progress_bar
from hybrid_memory.documents import items
from hybrid_memory.documents.items import ItemOperation, ItemResult
from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.facts.facts import FactsProjection
from hybrid_memory.facts.learn import Extractors
from hybrid_memory.facts.profiling import profile_fields
from hybrid_memory.index.record import Record
from hybrid_memory.log.message import Message
from hybrid_memory.log.port import Receipt
from hybrid_memory.log.views import ReadOnlyLog
from hybrid_memory.memory.faces import Verbs, verb
from hybrid_memory.memory.runtime import Runtime, flush_owners
from hybrid_memory.memory.scoped import ScopedMemory
from hybrid_memory.models.port import Embedder, LanguageModel
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.statistics import WorkStats
from hybrid_memory.runtime.tasks import PATIENT, Job, Task, at_priority
from hybrid_memory.runtime.tracing import Tracer
from hybrid_memory.scope import Scope, scope_of
from hybrid_memory.store import forget as forgetting
from hybrid_memory.store import migrate as deriving
from hybrid_memory.store.indexing import TextIndex
from hybrid_memory.store.migrate import Migration
from hybrid_memory.store.projection import projections
from hybrid_memory.store.services import Services
from hybrid_memory.text.tokens import TokenCounter

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stats:
    """What a store holds, and how far its index is behind the log.

    Attributes:
        owners, sessions, events, records, vectors: counts.
        unindexed: events not indexed yet; pending: records without a vector yet.
        size_bytes: size of all files on disk; 0 in memory.
        embedder: the embedder's name, or None without one.
        work: counts, latencies and caches of this process.
        waiting: messages in the outbox.
        compactions: what became of the critical items in all compacted turns.
    """

    url: str
    owners: int
    sessions: int
    events: int
    records: int
    vectors: int
    unindexed: int
    pending: int
    size_bytes: int
    embedder: str | None
    work: WorkStats
    waiting: int = 0
    compactions: Audit = field(default_factory=Audit)

    def __repr__(self) -> str:
        names = ("owner", "session", "event", "record", "vector")
        counts = ", ".join(display.counted(getattr(self, f"{name}s"), name) for name in names)
        behind = f"; {self.unindexed:,} to be indexed, {self.pending:,} to be embedded"
        left = behind if self.unindexed or self.pending else ""
        return f"<Stats of {self.url}: {counts}, {self.size_bytes / 1e6:,.1f} MB{left}>"


class ItemMemory(Verbs):
    """An application's own values under namespaces and keys, separate from all turns; made by `HybridMemory.items`.

    Attributes:
        scope: the owner of the values.
    """

    def __init__(self, runtime: Runtime, scope: Scope) -> None:
        self._runtime = runtime
        self.scope = scope

    @verb()
    async def batch(self, run: Runner, operations: Sequence[ItemOperation]) -> list[ItemResult]:
        """The results of `GetItem`, `FindItems`, `PutItem` and `ListNamespaces` operations, in their order.

        Reads see the state before the batch. Puts are durable when this returns, all or none; the last put under a key
        wins, and an item keeps the time of its first put. A destroyed value leaves log, index and files, together with
        all its earlier values.

        Raises:
            StoreUnavailableError: the disk is full or cannot be written. Nothing was written.
        """
        return await items.batch(run, self._runtime.services, self.scope, operations)

    def __repr__(self) -> str:
        return f"<ItemMemory {self.scope} in {self._runtime}>"

    abatch = batch.twin


class HybridMemory(Verbs):
    """A memory store. Open one with `open_memory`, close it or use it in a ``with`` block; any thread may call it.

    A copy is the memory itself. A pickle holds the URL without a password, no settings: where it is read, that is the
    memory which the process holds under this URL, else the store is opened. One of ``memory://`` is found only in its
    own process, and elsewhere reading the pickle raises `InvalidConfigError`.
    """

    _described = "an open memory, as open_memory(url) gives it"

    def __init__(self, services: Services, as_embedder: Callable[[Any], Embedder], of: Runtime | None = None) -> None:
        self._runtime = Runtime(services, of)
        self._runtime.start()
        self._as_embedder = as_embedder
        self._of = of

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            ours = hasattr(ScopedMemory, name)
            hint = f": it is a verb of one owner's memory, memory.scoped(user=...).{name}" if ours else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}", name=name, obj=self)

    @property
    def _services(self) -> Services:
        return self._runtime.services

    @property
    def url(self) -> str:
        """The URL of the store, without its password."""
        return self._runtime.url

    @property
    def config(self) -> MemoryConfig:
        """The current settings."""
        return self._services.config

    @property
    def compaction(self) -> CompactionConfig:
        """The compaction settings; assign new ones to use them from the next call on."""
        return self._services.config.compaction

    @compaction.setter
    def compaction(self, config: CompactionConfig) -> None:
        resolve_strategy(config.strategy)
        services = self._services
        services.config = services.config.model_copy(update={"compaction": config})

    @property
    def token_counter(self) -> TokenCounter:
        """The function that counts the tokens of a text."""
        return self._services.count

    @checked
    def trace(self, tracer: Tracer) -> None:
        """Call a tracer for every operation from now on; see `hybrid_memory.telemetry.observe`.

        Raises:
            InvalidInputError: it cannot be called.
        """
        self._services.tracers.append(tracer)

    def now(self) -> datetime:
        """The time by the memory's clock."""
        return self._services.clock()

    def set_language_model(self, language_model: Any) -> None:
        """Use this language model for summaries and facts, unless the memory already has one.

        Raises:
            InvalidInputError: it is not a language model, see `open_memory`.
        """
        services = self._services
        if services.language_model or self._of or (model := self.language_model(language_model)) is None:
            return
        from hybrid_memory.facts.reader import ModelExtractor  # noqa: PLC0415 - only who has a model pays for it

        services.language_model = model
        own = profile_fields(services.state(FactsProjection).profile)
        fields = [(field.name, field.kind, field.description) for field in own]
        services.state(Extractors).reader = ModelExtractor(model, fields=fields)
        services.state(TextIndex).settled.clear()  # it reads all turns

    def language_model(self, model: Any = None, *, timeout: timedelta | None = None) -> LanguageModel | None:
        """Wrap a model so that its calls are measured and limited; without an argument, the memory's own model or None.

        Args:
            model: as in `open_memory`.
            timeout: for one answer; by default as configured.

        Raises:
            InvalidInputError: it is not a language model.
        """
        services = self._services
        if model is None:
            return services.language_model
        from hybrid_memory.models.language import MeasuredModel, as_language_model  # noqa: PLC0415 - only with a model

        limit = timeout or services.config.compaction.model_timeout
        hurried = timeout or services.config.orchestration.model_timeout
        known = as_language_model(model, timeout=limit, hurried=hurried)
        return MeasuredModel(known, services.statistics, services.count)

    @property
    def work(self) -> WorkStats:
        """Counts, latencies and cache statistics of this process; cheap, and available after `close`."""
        return self._runtime.statistics.snapshot()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._runtime.closed or self._runtime.forked

    def scoped(
        self,
        *,
        tenant: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        remember: bool = True,
    ) -> ScopedMemory:
        """The memory of one owner, or of one of their sessions if it is named.

        Args:
            tenant: a part of the owner, as are ``user`` and ``agent``.
            user: the user.
            agent: the agent.
            session: one conversation.
            remember: with False nothing is stored or learned through the result: `recall`, `assemble` and all that
                reads work as before, `remember`, `mirror` and `reset` do nothing, other verbs raise
                `InvalidInputError`.

        Raises:
            InvalidScopeError: none of tenant, user and agent is given, or one is malformed.
        """
        scope = scope_of(tenant=tenant, user=user, agent=agent, session=session)
        return ScopedMemory(self._runtime, scope, remember=remember)

    @checked
    def for_scope(self, scope: Scope) -> ScopedMemory:
        """The memory of any scope, such as one returned by `owners`; grants of shared spaces are not checked."""
        return ScopedMemory(self._runtime, scope)

    def as_read_only(self) -> HybridMemory:
        """A read-only handle of the same open store: nothing is written, learned, indexed or counted.

        Closing it leaves the store open.
        """
        services = replace(self._services, log=ReadOnlyLog(self._services.log), read_only=True)
        return HybridMemory(services, self._as_embedder, of=self._runtime)

    @checked
    def items(self, agent: str, *, tenant: str | None = None) -> ItemMemory:
        """A key-value store for an application's own values, which are not turns and not learned from.

        Args:
            agent: the application's own name.
            tenant: as in `scoped`.

        Raises:
            InvalidScopeError: a name is malformed.
        """
        return ItemMemory(self._runtime, Scope(tenant=tenant, agent=agent))

    @verb()
    async def condense(
        self,
        run: Runner,
        texts: Sequence[str | Message],
        *,
        max_tokens: int,
        query: str | None = None,
        how: How = "extractive",
    ) -> Condensed:
        """The texts shortened to a common budget, in the same order; a text of which nothing fits becomes empty.

        Texts that fit are unchanged. ``extractive`` keeps the most informative sentences of all texts verbatim, code
        blocks and addresses whole. ``llmlingua`` removes words with the compressor; if it fails, sentences are removed
        instead, and the note says so.

        Args:
            texts: the texts to shorten; a shortened message begins with its speaker.
            max_tokens: for all texts together, by the memory's token counter.
            query: the question that they should answer; without one, generally informative sentences are kept.
            how: the method, see above.

        Raises:
            InvalidInputError: there is no compressor for ``llmlingua``, the query is empty, or the budget is below 1.
        """
        return await condense(run, self._services, texts, query=query, max_tokens=max_tokens, how=how)

    @verb()
    async def flush(self, run: Runner, *, progress: bool | None = None) -> Receipt:
        """Finish all background work now, for every owner; see `ScopedMemory.flush`."""
        await self._runtime.compact_due(run, None)
        return await flush_owners(run, self._services, None, progress)

    @verb()
    async def owners(self, run: Runner) -> list[Scope]:
        """All owners that have any events, shared spaces included, sorted by name."""
        return sorted(await run.call(self._services.truth.heads), key=str)

    @verb()
    async def heads(self, run: Runner) -> dict[Scope, int]:
        """The last position of each owner's log."""
        return await run.call(self._services.truth.heads)

    @verb()
    async def records(self, run: Runner, owner: Scope, positions: Collection[int]) -> list[Record]:
        """The index records of the turns at these positions of an owner's log."""
        records = await run.call(self._services.index.get, list(positions))
        return [record for record in records if record.scope.owner == owner]

    @verb()
    async def stats(self, run: Runner) -> Stats:
        """What the store holds, and how far its index is behind the log."""
        services = self._services
        log = await run.call(services.log.size)
        heads = await run.call(services.log.heads)
        derived: dict[str, Any] = {}
        for projection in projections(services):
            derived |= await projection.stats(run, services, heads)
        return Stats(
            url=self.url,
            owners=log.owners,
            sessions=log.sessions,
            events=log.events,
            size_bytes=log.bytes,
            embedder=None if services.embedder is None else services.embedder.name,
            work=self.work,
            waiting=0 if services.outbox is None else (await run.call(services.outbox.size)).events,
            **derived,
        )

    @verb()
    async def rebuild(self, run: Runner, *, embedder: Any = None, progress: bool | None = None) -> Receipt:
        """Rebuild the index from the log, with another embedder if one is given.

        Recall keeps working meanwhile, by words, with a note on each hit. A new embedder applies to all handles of this
        memory.

        Raises:
            ModelError: the embedder failed. If it does not answer at all, nothing is changed; if it fails later, texts
                are indexed, and `flush` makes the missing vectors.
        """
        with at_priority(PATIENT), progress_bar("rebuilding", shown=progress) as advance:
            services = self._services
            model = services.embedder if embedder is None else await run.call(self._as_embedder, embedder)
            return await deriving.rebuild(run, services, model, advance)

    @verb()
    async def migrate(self, run: Runner, target: HybridMemory, *, progress: bool | None = None) -> Migration:
        """Copy this memory into another one, with another engine or embedder, and compare the two.

        You can repeat it: after an interruption it continues, and later it copies only what is new.

        Args:
            target: an open memory that is empty, or an earlier copy of this one, as long as nothing was forgotten here
                since.
            progress: show a progress bar; None shows one on a terminal.

        Raises:
            InvalidInputError: the target holds something else.
            StoreError: the copy differs from the original.
            ModelError: the target's embedder failed; its vectors are made later.
        """
        source, copy = self._services, target._services
        with at_priority(PATIENT):
            with progress_bar("copying", shown=progress, unit="event") as advance:
                copied = await deriving.copied(run, source, copy, advance)
            with progress_bar("indexing", shown=progress, unit="vector") as advance:
                return await deriving.derived(run, source, copy, copied, advance)

    @verb()
    async def archive(self, run: Runner) -> Receipt:
        """Move messages beyond the configured age into the archive now, as the background does every hour.

        Raises:
            StoreUnavailableError: the archive cannot be reached; messages it did not take stay in the log.
        """
        return await forgetting.archive(run, self._services)

    def schedule(self, task: Task[T]) -> Job[T]:
        """Schedule your own work with the library's, by priority and deadline, within the same limits.

        Args:
            task: see `Task`.

        Returns:
            A `concurrent.futures.Future`, which can also be awaited.
        """
        _ = self._services  # raises where it is closed
        job = self._runtime.scheduler.schedule(task)
        job.add_done_callback(lambda _: self._runtime)  # holds this memory until it is done
        return job

    @verb()
    async def forget(self, run: Runner, *, user: str, tenant: str | None = None, dry_run: bool = False) -> Receipt:
        """Destroy everything of a user: with every agent, and in shared spaces.

        Args:
            user: as in `scoped`.
            tenant: the user's tenant; None means users without a tenant.
            dry_run: only report what would be destroyed.

        Raises:
            InvalidScopeError: the user is not named.
            StoreUnavailableError: another process keeps the engine from cleaning its files; call it again.
        """
        scope = Scope(tenant=tenant, user=user)
        return await forgetting.forget_user(run, self._services, scope.user or "", scope.tenant, dry_run=dry_run)

    def close(self) -> None:
        """Release the store; calling it again is harmless. Turns not indexed yet are indexed after reopening."""
        self._runtime.close()

    async def aclose(self) -> None:
        """Async twin of `close`."""
        await asyncio.to_thread(self._runtime.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self._services.read_only:
            raise InvalidConfigError(f"{self!r} is read-only, and its URL would open it to be written: pickle the URL")
        return memory_at, (url_of(self),)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema  # noqa: PLC0415 - only a model of pydantic asks for it

        # As for any class, but that the error says what to give.
        message = f"Input should be {cls._described}"
        return core_schema.custom_error_schema(
            core_schema.is_instance_schema(cls), "open_memory", custom_error_message=message
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        return {"description": cls._described}

    def __repr__(self) -> str:
        return f"<HybridMemory {self._runtime}>"

    acondense = condense.twin
    aflush = flush.twin
    aowners = owners.twin
    aheads = heads.twin
    arecords = records.twin
    astats = stats.twin
    arebuild = rebuild.twin
    amigrate = migrate.twin
    aarchive = archive.twin
    aforget = forget.twin


IN_MEMORY = "memory://"

_lock = threading.Lock()
_opened: dict[str, HybridMemory] = {}
_given: WeakValueDictionary[str, HybridMemory] = WeakValueDictionary()
_names: WeakKeyDictionary[HybridMemory, str] = WeakKeyDictionary()


def url_of(memory: HybridMemory) -> str:
    """A URL under which this process finds the memory again, for as long as somebody holds it.

    A memory of ``memory://`` gets one of its own, since each of these is another store.
    """
    with _lock:
        url = _names.get(memory)
        if url is None:
            url = f"{IN_MEMORY}{uuid4()}" if memory.url == IN_MEMORY else memory.url
            _names[memory] = url
        _given[url] = memory
        return url


def held(url: str) -> HybridMemory | None:
    """The open memory that somebody in this process holds under this URL."""
    memory = _given.get(url)
    return None if memory is None or memory.closed else memory


def memory_at(url: str) -> HybridMemory:
    """The memory that this process holds under the URL; else the first call opens it, until the process ends.

    Raises `InvalidConfigError` if it was a store in memory, and is gone.
    """
    if (memory := held(url)) is not None:
        return memory
    if url.startswith(IN_MEMORY) and url != IN_MEMORY:
        raise InvalidConfigError(
            f"{url!r} was a store in the memory of a process, and is gone: what is to outlive its process needs a "
            "store in a file, as in sqlite:///memory.db"
        )
    from hybrid_memory.memory.opening import open_memory  # noqa: PLC0415 - all engines and models; most only look

    with _lock:
        memory = _opened.get(url)
        if memory is None or memory.closed:  # in a fork it is the other process's
            memory = _opened[url] = open_memory(url)
            _names[memory] = url  # its own url has no password
        return memory


def close_all() -> None:
    """Close what `memory_at` opened; a later call opens it again."""
    with _lock:
        memories = list(_opened.values())
        _opened.clear()
    for memory in memories:
        memory.close()


atexit.register(close_all)
