"""What stands behind the handles of one memory: its ports while it is open, its scheduler, and its threads."""

from __future__ import annotations

import _thread
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

from hybrid_memory.context.assemble import compact_ahead
from hybrid_memory.context.layout import PromptRequest
from hybrid_memory.display import progress_bar
from hybrid_memory.errors import HybridMemoryError, MemoryClosedError
from hybrid_memory.facts.learn import Extractors, learn_alone
from hybrid_memory.log.port import Receipt
from hybrid_memory.recall.cache import RecallProjection, note_uses
from hybrid_memory.runtime.runners import INLINE, LoopRunner, Runner, drive
from hybrid_memory.runtime.scheduler import Scheduler
from hybrid_memory.runtime.tasks import PATIENT, Task, at_priority
from hybrid_memory.runtime.tracing import in_background
from hybrid_memory.scope import Scope
from hybrid_memory.store.forget import archive
from hybrid_memory.store.indexing import TextIndex
from hybrid_memory.store.migrate import flush
from hybrid_memory.store.remember import drain
from hybrid_memory.store.services import Services
from hybrid_memory.urls import shown_url

BACKGROUND = 3  # the priority of what nobody waits for

CLOSING = timedelta(seconds=5)
"""How long `close` waits for what is being done; what hangs longer is left to a thread that nobody waits for."""

ARCHIVE_EVERY, OUTBOX_EVERY, USES_EVERY = timedelta(hours=1), timedelta(seconds=5), timedelta(seconds=30)

_log = logging.getLogger(__name__)


class Runtime:
    """The services behind a memory's handles, while it is open, what is done in the background, and the threads.

    ``of`` is whose ports these are, if they are not its own; it stays open as long as this one is used.
    """

    def __init__(self, services: Services, of: Runtime | None = None) -> None:
        self._services = services
        self._of = of
        self.statistics = services.statistics
        self._executor: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self.scheduler = Scheduler(
            concurrency=services.config.orchestration.concurrency, statistics=services.statistics
        )
        self._behind: dict[Scope, PromptRequest] = {}
        self._counting = False
        self._learning: set[Scope] = set()
        self._closing = False
        self.closed = False
        self._pid = os.getpid()
        # Nothing in the background holds this strongly: who drops a memory without closing it gets all of it back.
        self._dropped = weakref.finalize(self, _drop, self.scheduler, services, self._pid, shared=of is not None)
        self._dropped.atexit = False  # what was acknowledged is on disk, and the rest is done after the next opening

    def _check_open(self) -> None:
        """In a fork no thread of the process runs on, and what these held stays locked."""
        if self.closed:
            raise MemoryClosedError
        if os.getpid() != self._pid:
            raise MemoryClosedError("that of another process, which forked this one")

    @property
    def forked(self) -> bool:
        """Whether this process is a fork of that which opened the memory."""
        return os.getpid() != self._pid

    @property
    def services(self) -> Services:
        """The ports; raises `MemoryClosedError` after `close`, and in a fork."""
        self._check_open()
        if self._of is not None:  # what it was given later counts here too
            self._services.embedder = self._of.services.embedder
            self._services.language_model = self._of.services.language_model
        return self._services

    @property
    def loop(self) -> Runner:
        """The runner of the async face; its threads start with the first use."""
        self._check_open()
        with self._lock:
            if self.closed:
                raise MemoryClosedError
            if self._executor is None:
                # Enough threads for slow models, few enough for one store; each starts when it is needed.
                self._executor = ThreadPoolExecutor(max_workers=16, thread_name_prefix="hybrid-memory")
            return LoopRunner(self._executor)

    def start(self) -> None:
        """Take up what an earlier process left undone, and what is done again and again."""
        if self._services.read_only or not self._services.config.orchestration.background:
            return
        self._pause("resume", _loosely(self._resume), "indexing")
        if self._services.archive is not None:
            self._again(ARCHIVE_EVERY, archive)
        if self._services.outbox is not None:
            self._again(OUTBOX_EVERY, drain)

    def after_write(self, scope: Scope) -> None:
        """Something was written: let it be indexed and read, by rules and the model, once the conversation pauses."""
        config = self._services.config
        if config.orchestration.background:
            self._pause(("index", scope.owner), _loosely(self._index, scope.owner), "indexing")
        if config.learning.background:
            self._pause(("learn", scope.owner), _loosely(self._learn, scope.owner), "learning")
            if scope in self._behind:
                self._pause(("compact", scope), _loosely(self._compact, scope), "summarization")

    def make_vectors(self) -> None:
        """Let the vectors be made now that a recall did without."""
        if self._services.read_only or not self._services.config.orchestration.background:
            return
        for owner in self._services.state(TextIndex).left.copy():
            self._pause(("index", owner), _loosely(self._index, owner), "indexing", timedelta(0))

    def learn_left(self) -> None:
        """Let the turns be read now that a prompt did without; a language model reads in the pause."""
        left = self._services.state(Extractors).left
        for owner in left.copy():
            left.discard(owner)
            self._pause(("read", owner), _loosely(self._learn, owner, False), "learning", timedelta(0))

    def after_recall(self) -> None:
        """Something was found: count its uses in the background."""
        if not self._counting and self._services.config.orchestration.background:
            self._counting = True
            self._again(USES_EVERY, note_all_uses)

    def after_assemble(self, scope: Scope, request: PromptRequest, *, behind: bool) -> None:
        """If its caller cannot wait, what is to be compacted is left for the pause after the answer."""
        if behind and not request.wait:
            self._behind[scope] = request
        self.make_vectors()
        self.learn_left()
        self.after_recall()

    async def compact_due(self, run: Runner, owner: Scope | None) -> None:
        """Compact now what was left for a pause, of this owner or of all."""
        for scope in list(self._behind):
            if owner is None or scope.owner == owner:
                await self._compacted(run, scope)

    async def _compacted(self, run: Runner, scope: Scope) -> None:
        request = self._behind.get(scope)
        if request is not None and await compact_ahead(run, self.services, scope, request):
            self._behind.pop(scope, None)

    def _pause(self, key: object, work: Callable[[], object], kind: str, delay: timedelta | None = None) -> None:
        """Do the work once nobody has asked for it for so long, by default as configured."""
        delay = self._services.config.learning.delay if delay is None else delay
        self.scheduler.debounced(key, delay, Task(work, kind=kind, priority=BACKGROUND))

    def _again(self, interval: timedelta, flow: Callable[[Runner, Services], Coroutine[Any, Any, object]]) -> None:
        services = self._services
        task = Task(
            lambda: in_background(lambda: drive(flow(INLINE, services))), kind="maintenance", priority=BACKGROUND
        )
        self.scheduler.every(interval, task)

    def _compact(self, scope: Scope) -> None:
        drive(self._compacted(INLINE, scope))

    def _learn(self, owner: Scope, model: bool = True) -> None:
        if owner in self._learning:
            if model:  # looks again whether the other one is done
                self._pause(("learn", owner), _loosely(self._learn, owner), "learning", timedelta(seconds=5))
            return
        self._learning.add(owner)
        try:
            drive(learn_alone(INLINE, self._services, owner, self._unless_closing, model=model))
        finally:
            self._learning.discard(owner)
        if self._services.config.orchestration.background:
            self._index(owner)

    def _index(self, owner: Scope) -> None:
        services = self._services
        index = services.state(TextIndex)
        drive(index.follow(INLINE, services, owner))
        if services.embedder is not None:
            with index.filling(owner):
                drive(index.embed_alone(INLINE, services, owner, self._unless_closing))

    def _resume(self) -> None:
        """Index what is in the log and not in the index."""
        services = self._services
        newest = services.truth.newest([None])
        for owner in drive(services.state(TextIndex).unfinished(INLINE, services, newest)):
            self.scheduler.schedule(Task(_loosely(self._index, owner), kind="indexing", priority=BACKGROUND))

    def _unless_closing(self, *_: int) -> None:
        """Called after every batch: what is left is taken up after the next opening."""
        if self._closing:
            raise MemoryClosedError

    def close(self) -> None:
        """Release stores and threads; what still hangs after `CLOSING` is left behind."""
        if self.forked:  # all of it is another process's
            self.closed = True
            return
        self._closing = True
        until = time.monotonic() + CLOSING.total_seconds()
        if not self.scheduler.close(until=until):
            _log.warning("%s is closed while some work hangs: it is taken up after the next opening", self.url)
        self._dropped.detach()
        if self._of is None and not self.closed:
            _note_last_uses(self._services)
        with self._lock:
            self.closed = True
            executor, self._executor = self._executor, None
        if executor is not None:
            # It can be waited for without an end only: so a thread waits that may be left.
            waiting = threading.Thread(target=executor.shutdown, name="hybrid-memory-closing", daemon=True)
            waiting.start()
            waiting.join(max(0.0, until - time.monotonic()))
        if self._of is None:
            close_ports(self._services)

    @property
    def url(self) -> str:
        """Where the store is, without a password."""
        return shown_url(self._services.config.url)

    def __str__(self) -> str:
        embedder = self._services.embedder.name if self._services.embedder else "text only"
        return f"{self.url} ({embedder}){' closed' if self.closed else ''}"


async def note_all_uses(run: Runner, services: Services) -> None:
    """Write down which records were used since the last time."""
    for owner in services.state(RecallProjection).uses.counted():
        await note_uses(run, services, owner)


def _note_last_uses(services: Services) -> None:
    try:
        drive(note_all_uses(INLINE, services))
    except HybridMemoryError as error:
        _log.warning("%s; the last uses are not noted", error)


def close_ports(of: Any) -> None:
    """Release the index, the log and the outbox of services or engines."""
    for part in (of.index, of.log, of.outbox):
        if part is not None:
            part.close()


def _loosely(method: Callable[..., object], *args: object) -> Callable[[], object]:
    """The call of a bound method, which does nothing once its object is gone."""
    reference = weakref.WeakMethod(method)

    def call() -> object:
        known = reference()
        return None if known is None else in_background(partial(known, *args))

    return call


def _drop(scheduler: Scheduler, services: Services, pid: int, *, shared: bool) -> None:
    """Release what a dropped memory had; on a thread of its own, since the garbage collector may call this anywhere.

    `threading.Thread` is started by that one: it waits for locks that the interrupted code may hold.
    """
    if os.getpid() != pid:
        return

    def release() -> None:
        scheduler.close(until=time.monotonic() + CLOSING.total_seconds())
        if not shared:
            _note_last_uses(services)
            close_ports(services)

    thread = partial(threading.Thread, target=release, name="hybrid-memory-release", daemon=True)
    with suppress(RuntimeError):  # the interpreter ends
        _thread.start_new_thread(lambda: thread().start(), ())


async def flush_owners(run: Runner, services: Services, owners: Sequence[Scope] | None, shown: bool | None) -> Receipt:
    """Do the derived work of these owners, or of all, under a progress bar."""
    with at_priority(PATIENT), progress_bar("indexing", shown=shown) as advance:
        return await flush(run, services, owners, advance)
