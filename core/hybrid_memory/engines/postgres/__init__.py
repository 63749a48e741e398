"""Log and index in one Postgres database, written in one transaction each; it needs no extension."""

from __future__ import annotations

from hybrid_memory.config import MemoryConfig
from hybrid_memory.engines.postgres.connection import PostgresConnection
from hybrid_memory.engines.postgres.index import PostgresIndex
from hybrid_memory.engines.postgres.log import PostgresLog
from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.index.port import SemanticIndex
from hybrid_memory.log.port import EventLog
from hybrid_memory.store.engine import Engine

__all__ = ["PostgresConnection", "PostgresEngine", "PostgresIndex", "PostgresLog"]


class PostgresEngine(Engine):
    """``postgresql://user:password@host:5432/database?schema=hybrid_memory``; log and index share a connection pool."""

    def __init__(self, url: str, config: MemoryConfig, key: str | bytes | None = None) -> None:
        super().__init__(url, config, key)
        self._opened: dict[str, PostgresConnection] = {}

    def log(self) -> EventLog:
        return PostgresLog(self._connected(""))

    def index(self, suffix: str = "") -> SemanticIndex:
        if (algorithm := self.config.index.algorithm or "flat") != "flat":
            raise InvalidConfigError(f"Postgres has no index of type {algorithm!r} here: use flat")
        return PostgresIndex(self._connected(suffix), cache_bytes=self.config.cache_megabytes << 20)

    def _connected(self, suffix: str) -> PostgresConnection:
        if suffix not in self._opened:
            self._opened[suffix] = PostgresConnection(
                self.url,
                suffix=suffix.replace("-", "_"),
                engine_timeout=self.config.orchestration.engine_timeout.total_seconds(),
                power_safe=self.config.power_safe,
                read_only=self.read_only,
            )
        return self._opened[suffix]
