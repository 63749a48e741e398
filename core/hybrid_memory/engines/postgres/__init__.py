"""Log and index in one Postgres database, written in one transaction each; it needs no extension."""

from __future__ import annotations

from functools import cached_property

from hybrid_memory.engines.postgres.connection import PostgresConnection
from hybrid_memory.engines.postgres.tables import PostgresIndex, PostgresLog
from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.index.port import SemanticIndex
from hybrid_memory.log.port import EventLog
from hybrid_memory.store.engine import Engine

__all__ = ["PostgresConnection", "PostgresEngine", "PostgresIndex", "PostgresLog"]


class PostgresEngine(Engine):
    """``postgresql://user:password@host:5432/database?schema=hybrid_memory``; log and index share a connection pool."""

    def log(self) -> EventLog:
        return PostgresLog(self._connection)

    def index(self) -> SemanticIndex:
        if (algorithm := self.config.index.algorithm or "flat") != "flat":
            raise InvalidConfigError(f"Postgres has no index of type {algorithm!r} here: use flat")
        return PostgresIndex(self._connection, cache_bytes=self.config.cache_megabytes << 20)

    @cached_property
    def _connection(self) -> PostgresConnection:
        return PostgresConnection(
            self.url,
            engine_timeout=self.config.orchestration.engine_timeout.total_seconds(),
            power_safe=self.config.power_safe,
            read_only=self.read_only,
        )
