"""From the URLs of the settings to the engines behind a memory."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hybrid_memory.config import MemoryConfig
from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.index.port import SemanticIndex
from hybrid_memory.log.port import EventLog, Key
from hybrid_memory.log.views import ArchivedLog
from hybrid_memory.sockets import GROUPS, load, registered
from hybrid_memory.store.engine import INDEXES, Engine
from hybrid_memory.urls import HIDDEN, shown_url

OWN = {
    "memory": "hybrid_memory.engines.in_memory:InMemoryEngine",
    "sqlite": "hybrid_memory.engines.sqlite:SqliteEngine",
    "postgresql": "hybrid_memory.engines.postgres:PostgresEngine",
    "postgres": "hybrid_memory.engines.postgres:PostgresEngine",
    "redis": "hybrid_memory.engines.redis:RedisEngine",
    "rediss": "hybrid_memory.engines.redis:RedisEngine",
    "milvus": "hybrid_memory.engines.milvus:MilvusEngine",
    "clickhouse": "hybrid_memory.engines.clickhouse:ClickHouseEngine",
    "chdb": "hybrid_memory.engines.clickhouse:ClickHouseEngine",
}
"""The engines of this library, by URL scheme."""

EXTRAS = {
    "postgresql": "postgres",
    "postgres": "postgres",
    "redis": "redis",
    "rediss": "redis",
    "milvus": "milvus",
    "clickhouse": "clickhouse",
    "chdb": "clickhouse",
}


def secret(key: Key | None) -> Any:
    """The passphrase or the bytes, None without a key; a callable that returns None would make a plain store."""
    if not callable(key):
        return key
    if (value := key()) is None:
        raise InvalidConfigError("key= returned None: return a passphrase or 32 bytes, or leave key= out")
    return value


def engine_at(url: str, config: MemoryConfig, key: Key | None = None, *, read_only: bool = False) -> Engine:
    """The engine that the scheme of a URL names: one of ours, or of an installed package.

    Raises `InvalidConfigError` if nobody offers the scheme, or a key is given for an engine that cannot encrypt.
    """
    scheme = url.partition(":")[0].partition("+")[0]
    if f"://{HIDDEN}" in url:
        raise InvalidConfigError(f"{url!r} lacks user and password, which are never shown or written: add them")
    if ":" not in url or (scheme not in OWN and scheme not in registered("engine")):
        file = "" if ":" in url or not url else f"sqlite:///{url} for a file, or else "
        raise InvalidConfigError(
            f"cannot open {shown_url(url)!r}: use {file}{INDEXES}, the path of a .yaml file, or a package that "
            f"registers the scheme under {GROUPS['engine']}"
        )
    kind: type[Engine] = load("engine", scheme, OWN, EXTRAS)
    if key is not None and not kind.encrypts:
        reason = "is written to no disk: there is nothing to encrypt" if url == "memory://" else "has no key"
        raise InvalidConfigError(f"{shown_url(url)} {reason}, leave key= out")
    opened = kind(url, config, secret(key))
    opened.read_only = read_only
    return opened


@dataclass(slots=True)
class Engines:
    """What a memory stands on."""

    log: EventLog
    index: SemanticIndex
    archive: ArchivedLog | None = None
    outbox: EventLog | None = None

    def close(self) -> None:
        """Release them all."""
        for part in (self.index, self.log, self.outbox):
            if part is not None:
                part.close()


def open_engines(
    config: MemoryConfig, key: Key | None, *, engine: Engine | None = None, read_only: bool = False
) -> Engines:
    """The engines that the settings name; what was opened is closed again where another cannot be.

    ``engine`` stands in for the one that ``config.url`` names.
    """
    value = secret(key)
    if engine is not None and value is not None and engine.key != value:
        raise InvalidConfigError("key= does not reach the engine that you give: make that one with the key")
    at = partial(engine_at, config=config, key=value, read_only=read_only)
    first = engine or at(config.url)
    second = first if config.index.url in {None, config.url} else at(config.index.url or "")
    with ExitStack() as opened:
        log = first.log()
        opened.callback(log.close)
        index = second.index()
        opened.callback(index.close)
        engines = Engines(log, index)
        if config.outbox is not None:
            file = Path(config.outbox).expanduser().resolve()  # with the key of the store
            taken = [getattr(engine, "path", None) for engine in (first, second)]
            if file in [path.resolve() for path in taken if path is not None]:
                raise InvalidConfigError(f"outbox={config.outbox!r} is the store itself: choose another file")
            engines.outbox = at(f"sqlite:///{file}").log()
            opened.callback(engines.outbox.close)
        if config.archive.url is not None:
            archive = engine_at(config.archive.url, config).archive()
            engines.archive = engines.log = ArchivedLog(log, archive)
        opened.pop_all()  # none failed: they stay open
    return engines
