from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import MemoryConfig
from tests.postgres_server import PostgresServer
from tests.servers import MilvusServer, RedisServer

NUMBERS = count(1)
MONDAY = datetime(2024, 5, 6, 9, tzinfo=UTC)

Url = Callable[[str], str]
Config = Callable[..., MemoryConfig]


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    # While everysec has the disk write what it has, it keeps the next writes in memory: a kill may lose these.
    with RedisServer(tmp_path_factory.mktemp("redis"), appendfsync="always") as server:
        yield server


@pytest.fixture(scope="module")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    # What is killed is the server, not the machine.
    with PostgresServer(tmp_path_factory.mktemp("postgres"), options={"fsync": "off"}) as server:
        yield server


@pytest.fixture(scope="session")
def milvus_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    with MilvusServer(tmp_path_factory.mktemp("milvus")) as server:
        yield server


@pytest.fixture
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Url:
    """The URL of a new store of an engine, whose server is started if it is not there yet."""

    def new(engine: str) -> str:
        if engine == "memory":
            return "memory://"
        if engine == "sqlite":
            return f"sqlite:///{tmp_path / f'store{next(NUMBERS)}.db'}"
        server: RedisServer | MilvusServer | PostgresServer = request.getfixturevalue(f"{engine}_server")
        return f"{server.url}?{'schema' if engine == 'postgres' else 'prefix'}=store{next(NUMBERS)}"

    return new


@pytest.fixture
def new_config(new_url: Url) -> Config:
    """The settings of a new memory on one engine or two, such as ``redis+milvus``, with the hashing embedder."""

    def new(engines: str, **settings: Any) -> MemoryConfig:
        log, _, index = engines.partition("+")
        where: dict[str, Any] = {"url": new_url(log), "index": {"url": new_url(index)} if index else {}}
        # A Postgres that need not be safe from power failures may lose what a killed server has not written yet.
        return MemoryConfig.of({**where, "embedder": "hashing", "power_safe": "postgres" in engines, **settings})

    return new
