"""What stands behind the handles of one memory: its ports while it is open, and the threads of the async face."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from hybrid_memory.compute.debounce import Debounced
from hybrid_memory.compute.progress import progress_bar
from hybrid_memory.compute.runners import InlineRunner, LoopRunner, Runner, drive
from hybrid_memory.errors import MemoryClosedError
from hybrid_memory.flows import flush
from hybrid_memory.flows.assemble import Assembled, fold_ahead
from hybrid_memory.flows.learn import learn
from hybrid_memory.flows.prompting import Request
from hybrid_memory.flows.world import World
from hybrid_memory.types import Context, Receipt, Scope

WORKERS = 16
"""Threads for the async face, started as they are needed: enough for slow models, few enough for one store."""

INLINE = InlineRunner()
"""The runner of the blocking face."""


class House:
    """The world behind a memory's handles, while it is open, and the threads of the async face."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._executor: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        learning = world.config.learning
        self._learns = learning.background
        self._learner = Debounced(self._learn, learning.delay.total_seconds())
        self._folder = Debounced(self._fold, learning.delay.total_seconds())
        self._behind: dict[Scope, Request] = {}
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

    def said(self, scope: Scope) -> None:
        """Something was written: let it be read, by rules and the language model, once the conversation pauses."""
        if self._learns:
            self._learner.ask(scope.owner)
        if scope in self._behind:
            self._folder.ask(scope)

    def assembled(self, scope: Scope, request: Request, prompt: Assembled) -> Context:
        """The prompt; if its caller cannot wait, what is to be folded is left for the pause after the answer."""
        if prompt.behind and not request.wait:
            self._behind[scope] = request
        return prompt.context

    async def fold_ahead(self, run: Runner, owner: Scope | None) -> None:
        """Fold now what was left for a pause, of this owner or of all."""
        for scope in list(self._behind):
            if owner is None or scope.owner == owner:
                await self._folded(run, scope)

    async def _folded(self, run: Runner, scope: Scope) -> None:
        request = self._behind.get(scope)
        if request is not None and await fold_ahead(run, self.world, scope, request):
            self._behind.pop(scope, None)

    def _fold(self, scope: Scope) -> None:
        drive(self._folded(INLINE, scope))

    def _learn(self, owner: Scope) -> None:
        drive(learn(INLINE, self._world, owner, model=True))

    def close(self) -> None:
        """Release stores and threads."""
        self._learner.close()
        self._folder.close()
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


async def flush_owners(run: Runner, world: World, owners: Sequence[Scope] | None, shown: bool | None) -> Receipt:
    """Do the derived work of these owners, or of all, under a progress bar."""
    with progress_bar("indexing", shown=shown) as advance:
        return await flush.flush(run, world, owners, advance)
