"""The embedded engine: log, index and vectors in one SQLite file."""

from __future__ import annotations

from pathlib import Path

from hybrid_memory.config import MemoryConfig
from hybrid_memory.engines.sqlite.database import Database
from hybrid_memory.engines.sqlite.health import check_file
from hybrid_memory.engines.sqlite.index import SqliteIndex
from hybrid_memory.engines.sqlite.log import SqliteLog
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.log.port import EventLog
from hybrid_memory.store.engine import Engine, Finding

__all__ = ["Database", "SqliteEngine", "SqliteIndex", "SqliteLog"]


class SqliteEngine(Engine):
    """``sqlite:///relative.db`` and ``sqlite:////absolute.db``; log and index share the file."""

    encrypts = True

    def __init__(self, url: str, config: MemoryConfig, key: str | bytes | None = None) -> None:
        super().__init__(url, config, key)
        self._files: dict[Path, Database] = {}

    @property
    def path(self) -> Path | None:
        """Of the file; None where the URL names none."""
        path = self.url.removeprefix("sqlite:///")
        return None if path in {self.url, "", ":memory:"} else Path(path).expanduser()

    def log(self) -> EventLog:
        """The log in the file."""
        return super().log() if self.path is None else SqliteLog(self._opened(self.path))

    def index(self, suffix: str = "") -> SemanticIndex:
        """The index in the file, or in one beside it."""
        if self.path is None:
            return super().index(suffix)
        return SqliteIndex(self._opened(self._beside(self.path, suffix)), exact_limit=self.config.exact_limit)

    def holds(self, suffix: str) -> bool:
        """Whether there is a file with this suffix."""
        return self.path is not None and self._beside(self.path, suffix).exists()

    def rekey(self, key: str | bytes) -> None:
        """Give all files that are open the new key."""
        for database in self._files.values():
            database.rekey(key)
        self.key = key

    def check(self) -> list[Finding]:
        """What is wrong with the pages of the file."""
        return [] if self.path is None else list(check_file(self.path, self.key))

    def _opened(self, path: Path) -> Database:
        if path not in self._files:
            self._files[path] = Database(path, power_safe=self.config.power_safe, key=self.key)
        return self._files[path]

    @staticmethod
    def _beside(path: Path, suffix: str) -> Path:
        return path.with_name(f"{path.stem}{suffix}{path.suffix}")
