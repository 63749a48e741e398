"""The embedded engine: log, index and vectors in one SQLite file."""

from __future__ import annotations

from hybrid_memory.engines.sqlite.database import Database
from hybrid_memory.engines.sqlite.index import SqliteIndex
from hybrid_memory.engines.sqlite.log import SqliteLog

__all__ = ["Database", "SqliteIndex", "SqliteLog"]
