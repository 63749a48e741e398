"""Log and index in one Postgres database, written in one transaction each; the index needs the pgvector extension."""

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


EXACT_LIMIT = 20_000
"""The most vectors of one owner that are searched exactly: 10,000 of width 384 take the server 8 ms."""


class PostgresEngine(Engine):
    """``postgresql://user:password@host:5432/database?schema=hybrid_memory``; log and index share a connection pool."""

    def __init__(self, url: str, config: MemoryConfig, key: str | bytes | None = None) -> None:
        super().__init__(url, config, key)
        self._opened: dict[str, PostgresConnection] = {}

    def log(self) -> EventLog:
        return PostgresLog(self._connected(""))

    def index(self, suffix: str = "") -> SemanticIndex:
        algorithm = self.config.index.algorithm or "hnsw"
        if algorithm not in {"flat", "hnsw"}:
            raise InvalidConfigError(f"Postgres has no index of type {algorithm!r} here: use flat or hnsw")
        limit = min(self.config.exact_limit, EXACT_LIMIT) if algorithm == "hnsw" else None
        return PostgresIndex(self._connected(suffix), exact_limit=limit)

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
