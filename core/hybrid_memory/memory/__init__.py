"""The verbs: `HybridMemory` for a store, `ScopedMemory` for one owner's part of it, `SpaceMemory` for a shared one.

Each verb has a blocking face and an async twin with a leading ``a``, both driving the same flow.
"""

from __future__ import annotations

from hybrid_memory.memory.scoped import ScopedMemory, SpaceMemory
from hybrid_memory.memory.store import HybridMemory

__all__ = ["HybridMemory", "ScopedMemory", "SpaceMemory"]
