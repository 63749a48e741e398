"""Every log passes the suite of the port, and so does one with an archive behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import pytest

from hybrid_memory.engines.in_memory import InMemoryArchive, InMemoryLog
from hybrid_memory.engines.redis import RedisConnection, RedisLog
from hybrid_memory.engines.sqlite import Database, SqliteLog
from hybrid_memory.log.archived import ArchivedLog
from hybrid_memory.ports import EventLog
from hybrid_memory.testing.archive import ArchiveContract
from hybrid_memory.testing.event_log import EventLogContract
from hybrid_memory.testing.redis_server import RedisServer

NUMBERS = count()
ENCRYPTED = pytest.param("encrypted", marks=pytest.mark.skipif(find_spec("sqlcipher3") is None, reason="no SQLCipher"))


@pytest.fixture(scope="module")
def plain_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A server without modules: the log needs none."""
    with RedisServer(tmp_path_factory.mktemp("redis"), modules=False) as server:
        yield server


class TestEventLog(EventLogContract):
    @pytest.fixture(params=["memory", "sqlite", ENCRYPTED, "redis", "cluster", "archived memory", "archived sqlite"])
    def log(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EventLog]:
        def sqlite() -> EventLog:
            key = bytes(32) if request.param == "encrypted" else None
            return SqliteLog(Database(tmp_path / "memory.db", power_safe=False, key=key))

        def redis(url: str) -> EventLog:
            return RedisLog(RedisConnection(f"{url}?prefix=log-{next(NUMBERS)}"))

        openers: dict[str, Callable[[], EventLog]] = {
            "memory": InMemoryLog,
            "sqlite": sqlite,
            "encrypted": sqlite,
            "redis": lambda: redis(request.getfixturevalue("plain_redis").url),
            "cluster": lambda: redis(request.getfixturevalue("cluster_url")),
            "archived memory": lambda: ArchivedLog(InMemoryLog(), InMemoryArchive()),
            "archived sqlite": lambda: ArchivedLog(sqlite(), InMemoryArchive()),
        }
        log = openers[request.param]()
        yield log
        log.close()


class TestInMemoryArchive(ArchiveContract):
    @pytest.fixture
    def archive(self) -> InMemoryArchive:
        return InMemoryArchive()
