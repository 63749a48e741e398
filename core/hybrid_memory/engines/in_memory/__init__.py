"""Log, archive and index in plain Python and NumPy: the store of ``memory://``, and the oracle for every engine."""

from __future__ import annotations

from hybrid_memory.engines.in_memory.archive import InMemoryArchive
from hybrid_memory.engines.in_memory.index import InMemoryIndex
from hybrid_memory.engines.in_memory.log import InMemoryLog

__all__ = ["InMemoryArchive", "InMemoryIndex", "InMemoryLog"]
