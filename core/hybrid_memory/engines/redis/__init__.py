"""Log and index on a Redis server, version 7 or later; neither needs a module."""

from __future__ import annotations

from functools import cached_property

from hybrid_memory.engines.redis.connection import RedisConnection
from hybrid_memory.engines.redis.index import RedisIndex
from hybrid_memory.engines.redis.log import RedisLog
from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.index.port import SemanticIndex
from hybrid_memory.log.port import EventLog
from hybrid_memory.store.engine import Engine

__all__ = ["RedisConnection", "RedisEngine", "RedisIndex", "RedisLog"]


class RedisEngine(Engine):
    """``redis://host:6379/0`` and ``rediss://``; log and index share a connection."""

    def log(self) -> EventLog:
        return RedisLog(self._connection)

    def index(self) -> SemanticIndex:
        if (algorithm := self.config.index.algorithm or "flat") != "flat":
            raise InvalidConfigError(f"Redis has no index of type {algorithm!r} here: use flat")
        return RedisIndex(self._connection, cache_bytes=self.config.cache_megabytes << 20)

    @cached_property
    def _connection(self) -> RedisConnection:
        seconds = self.config.orchestration.engine_timeout.total_seconds()
        return RedisConnection(self.url, engine_timeout=seconds)
