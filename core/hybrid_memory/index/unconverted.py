"""A base for engines that still bring everything themselves; it goes when the last of them has the narrow port."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_memory.arrays import Floats
from hybrid_memory.index.port import Matches, Query, Status
from hybrid_memory.index.record import Where
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.scope import Scope


class Unconverted(SemanticIndex):
    """Nothing here is called: the engine overrides what would call it."""

    def status(
        self, owner: Scope | None = None, *, sessions: Sequence[str | None] = (), pending: int = 0, sums: bool = False
    ) -> Status:
        """See `IndexEngine.status`."""
        raise NotImplementedError(owner, sessions, pending, sums)

    def search(self, query: Query, where: Where, k: int) -> Matches:
        """See `IndexEngine.search`."""
        raise NotImplementedError(query, where, k)

    def vectors(self, keys: Sequence[int | bytes], owner: Scope | None = None) -> dict[int | bytes, Floats]:
        """See `IndexEngine.vectors`."""
        raise NotImplementedError(keys, owner)

    def terms(self, owner: Scope, wanted: Sequence[str] = (), *, near: str = "") -> dict[str, int]:
        """See `IndexEngine.terms`."""
        raise NotImplementedError(owner, wanted, near)
