"""Log and index on a Redis server: the log needs Redis 7 or later, the index its Query Engine."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from hybrid_memory.engines.engine import Engine
from hybrid_memory.engines.redis.connection import RedisConnection
from hybrid_memory.engines.redis.index import RedisIndex
from hybrid_memory.engines.redis.log import RedisLog
from hybrid_memory.errors import InvalidConfigError

__all__ = ["RedisConnection", "RedisEngine", "RedisIndex", "RedisLog"]


class RedisEngine(Engine):
    """``redis://host``, ``rediss://`` for TLS, with ``+cluster`` for a cluster."""

    @cached_property
    def _connection(self) -> RedisConnection:
        return RedisConnection(self.url)

    def log(self) -> RedisLog:
        """The log on the server."""
        return RedisLog(self._connection)

    def index(self) -> RedisIndex:
        """The index on the server."""
        algorithm: Any = self.options.algorithm or "flat"
        if algorithm == "ivf_flat":
            raise InvalidConfigError("Redis has no index of the kind 'ivf_flat': use flat or hnsw")
        return RedisIndex(self._connection, algorithm=algorithm)
