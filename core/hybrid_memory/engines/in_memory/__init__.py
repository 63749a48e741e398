"""Log, archive and index in plain Python and NumPy: the store of ``memory://``, and the oracle of the tests."""

from __future__ import annotations

from hybrid_memory.engines.in_memory.index import InMemoryIndex
from hybrid_memory.engines.in_memory.log import InMemoryArchive, InMemoryLog
from hybrid_memory.index.port import SemanticIndex
from hybrid_memory.log.port import EventLog
from hybrid_memory.store.engine import Engine

__all__ = ["InMemoryArchive", "InMemoryEngine", "InMemoryIndex", "InMemoryLog"]


class InMemoryEngine(Engine):
    """``memory://``: exists as long as the process."""

    def log(self) -> EventLog:
        return InMemoryLog() if self.url == "memory://" else super().log()

    def index(self, suffix: str = "") -> SemanticIndex:
        return InMemoryIndex() if self.url == "memory://" else super().index(suffix)
