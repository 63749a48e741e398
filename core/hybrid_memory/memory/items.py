"""The verbs for values that applications keep under keys of their own, which are no memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from hybrid_memory.documents import items
from hybrid_memory.documents.items import ItemOperation, ItemResult
from hybrid_memory.memory.faces import Verbs, faces
from hybrid_memory.memory.runtime import Runtime
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope

SWEEP_EVERY = timedelta(minutes=5)


class ItemMemory(Verbs):
    """An application's own values under namespaces and keys, separate from all turns; made by `HybridMemory.items`.

    Attributes:
        scope: the owner of the values.
        sweep_every: expired values are never found; they are destroyed by the first write after this time.
    """

    def __init__(self, runtime: Runtime, scope: Scope, sweep_every: timedelta = SWEEP_EVERY) -> None:
        self._runtime = runtime
        self.scope = scope
        self.sweep_every = sweep_every

    async def _batch(self, run: Runner, operations: Sequence[ItemOperation]) -> list[ItemResult]:
        """The results of `GetItem`, `FindItems`, `PutItem` and `ListNamespaces` operations, in their order.

        Reads see the state before the batch. Puts are durable when this returns, all or none; the last put under a key
        wins, and an item keeps the time of its first put. A destroyed value leaves log, index and files, together with
        all its earlier values.

        Raises:
            StoreUnavailableError: the disk is full or cannot be written. Nothing was written.
        """
        return await items.batch(run, self._runtime.services, self.scope, operations, self.sweep_every)

    batch, abatch = faces(_batch)

    async def _sweep(self, run: Runner) -> int:
        """Destroy all expired items now and return their number."""
        return await items.sweep(run, self._runtime.services, self.scope)

    sweep, asweep = faces(_sweep)

    def __repr__(self) -> str:
        return f"<ItemMemory {self.scope} in {self._runtime}>"
