"""The verbs of what an application keeps under keys of its own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from hybrid_memory.items import items
from hybrid_memory.items.item import ItemOperation, ItemResult
from hybrid_memory.memory.runtime import INLINE, Runtime
from hybrid_memory.runtime.runners import drive
from hybrid_memory.scope import Scope

SWEEP_EVERY = timedelta(minutes=5)


class ItemMemory:
    """Values under namespaces and keys, apart from all turns; made by `HybridMemory.items`.

    Attributes:
        scope: whose they are.
        sweep_every: what has expired is never found; it is destroyed with the first write after this time.
    """

    def __init__(self, runtime: Runtime, scope: Scope, sweep_every: timedelta = SWEEP_EVERY) -> None:
        self._runtime = runtime
        self.scope = scope
        self.sweep_every = sweep_every

    def batch(self, operations: Sequence[ItemOperation]) -> list[ItemResult]:
        """The results, in the order of the operations: `GetItem`, `FindItems`, `PutItem`, `ListNamespaces`.

        What is read is what stood before the batch. Its puts are durable when this returns, all or none; of several
        under one key the last one counts, and an item keeps the instant when it was put first. What is destroyed
        leaves log, index and files with all its earlier values.

        Raises:
            StoreUnavailableError: the disk is full or cannot be written. Nothing was written.
        """
        return drive(items.batch(INLINE, self._runtime.services, self.scope, operations, self.sweep_every))

    async def abatch(self, operations: Sequence[ItemOperation]) -> list[ItemResult]:
        """Async twin of `batch`."""
        return await items.batch(self._runtime.loop, self._runtime.services, self.scope, operations, self.sweep_every)

    def sweep(self) -> int:
        """Destroy now what has expired; returns how many items that were."""
        return drive(items.sweep(INLINE, self._runtime.services, self.scope))

    async def asweep(self) -> int:
        """Async twin of `sweep`."""
        return await items.sweep(self._runtime.loop, self._runtime.services, self.scope)

    def __repr__(self) -> str:
        return f"<ItemMemory {self.scope} in {self._runtime}>"
