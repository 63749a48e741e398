"""Log and index on a Redis server: the log needs Redis 7 or later, the index its Query Engine."""

from __future__ import annotations

from hybrid_memory.engines.redis.connection import RedisConnection
from hybrid_memory.engines.redis.index import RedisIndex
from hybrid_memory.engines.redis.log import RedisLog

__all__ = ["RedisConnection", "RedisIndex", "RedisLog"]
