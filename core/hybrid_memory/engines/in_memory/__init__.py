"""Log, archive and index in plain Python and NumPy: the store of ``memory://``, and the oracle for every engine."""

from __future__ import annotations

from typing import ClassVar, Self

from hybrid_memory.engines.engine import LOGS, Engine, EngineOptions
from hybrid_memory.engines.in_memory.archive import InMemoryArchive
from hybrid_memory.engines.in_memory.index import InMemoryIndex
from hybrid_memory.engines.in_memory.log import InMemoryLog
from hybrid_memory.errors import InvalidConfigError

__all__ = ["InMemoryArchive", "InMemoryEngine", "InMemoryIndex", "InMemoryLog"]


class InMemoryEngine(Engine):
    """``memory://``."""

    keyless: ClassVar[str] = "is written to no disk: there is nothing to encrypt"

    def __init__(self, url: str, options: EngineOptions) -> None:
        super().__init__(url, options)
        if url != "memory://":
            raise InvalidConfigError(f"cannot open {url!r}: use {LOGS}")

    def log(self) -> InMemoryLog:
        """A new log."""
        return InMemoryLog()

    def index(self) -> InMemoryIndex:
        """A new index."""
        return InMemoryIndex()

    def archive(self) -> InMemoryArchive:
        """A new archive."""
        return InMemoryArchive()

    def beside(self, suffix: str) -> Self:
        """The same."""
        return self
