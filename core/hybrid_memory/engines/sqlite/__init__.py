"""The embedded engine: log, index and vectors in one SQLite file."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Self

from hybrid_memory.engines.engine import LOGS, Engine, EngineOptions, path_of
from hybrid_memory.engines.sqlite.database import Database
from hybrid_memory.engines.sqlite.index import SqliteIndex
from hybrid_memory.engines.sqlite.log import SqliteLog
from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.log.port import Key

__all__ = ["Database", "SqliteEngine", "SqliteIndex", "SqliteLog"]


class SqliteEngine(Engine):
    """``sqlite:///path``."""

    encrypts: ClassVar[bool] = True

    def __init__(self, url: str, options: EngineOptions) -> None:
        super().__init__(url, options)
        path = path_of(url)
        if path is None:
            raise InvalidConfigError(f"cannot open {url!r}: use {LOGS}")
        self._path = path

    @cached_property
    def _database(self) -> Database:
        return Database(self._path, power_safe=self.options.power_safe, key=self.options.key)

    @property
    def exists(self) -> bool:
        """Whether the file is there."""
        return self._path.exists()

    def log(self) -> SqliteLog:
        """The log in the file."""
        return SqliteLog(self._database)

    def index(self) -> SqliteIndex:
        """The index in the file."""
        return SqliteIndex(self._database, exact_limit=self.options.exact_limit)

    def beside(self, suffix: str) -> Self:
        """A file in the same folder."""
        path = self._path.with_name(f"{self._path.stem}{suffix}{self._path.suffix}")
        return type(self)(f"sqlite:///{path}", self.options)

    def rekey(self, key: Key) -> None:
        """See `Database.rekey`."""
        self._database.rekey(key)
