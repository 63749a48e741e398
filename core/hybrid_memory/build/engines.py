"""From URLs to engines, each imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from hybrid_memory.config import MemoryConfig
from hybrid_memory.errors import InvalidConfigError, MissingDependencyError
from hybrid_memory.ports import EventLog, Expiring, Key, SemanticIndex

LOGS = "sqlite:///memory.db (relative), sqlite:////full/path/memory.db, memory:// or redis://host:6379/0"
INDEXES = f"{LOGS}, milvus://host:19530 or milvus:///folder.db"
ARCHIVES = "clickhouse://host:8123/database or chdb:///folder"

MEDIA = "-media"
"""Added to the name of a store, it is that of its media."""


@dataclass(slots=True)
class Engines:
    """What a memory stands on.

    Attributes:
        index: of words; media: the same engine, for what is no text; made when it is called.
        rekey: gives an encrypted store another key.
    """

    log: EventLog
    index: SemanticIndex
    media: Callable[[], SemanticIndex]
    archive: Expiring | None = None
    outbox: EventLog | None = None
    rekey: Callable[[Key], None] | None = None

    def close(self) -> None:
        """Release them all."""
        for part in (self.index, self.log, self.outbox):
            if part is not None:
                part.close()


def open_engines(config: MemoryConfig, key: Key | None) -> Engines:
    """The engines that the settings name.

    Raises:
        InvalidConfigError: a URL is wrong, or a key is given for an engine that cannot encrypt.
        MissingDependencyError: a client is not installed.
        StoreUnavailableError: a server does not answer.
    """
    apart = config.index.url not in {None, config.url}
    if key is not None and (apart or not config.url.startswith("sqlite:")):
        reason = "is written to no disk: there is nothing to encrypt" if config.url == "memory://" else "has no key"
        raise InvalidConfigError(f"{config.index.url or config.url} {reason}, leave key= out")
    with ExitStack() as opened:
        log, beside, rekey = _log(config, key)
        opened.callback(log.close)
        index = _index(config, config.index.url or "", "") if apart else beside()
        opened.callback(index.close)
        engines = Engines(log, index, lambda: _index(config, config.index.url or config.url, MEDIA), rekey=rekey)
        if config.archive.url is not None:
            from hybrid_memory.stores.archived import ArchivedLog  # noqa: PLC0415 - only what is asked for

            engines.archive = engines.log = ArchivedLog(log, _archive(config.archive.url))
        if config.outbox is not None:
            from hybrid_memory.stores.sqlite import Database, SqliteLog  # noqa: PLC0415 - brings FAISS

            engines.outbox = SqliteLog(Database(Path(config.outbox).expanduser(), power_safe=config.power_safe))
        opened.pop_all()
    return engines


def _log(
    config: MemoryConfig, key: Key | None
) -> tuple[EventLog, Callable[[], SemanticIndex], Callable[[Key], None] | None]:
    """The log, what opens the index beside it, and what changes the key."""
    if config.url == "memory://":
        from hybrid_memory.stores.memory import InMemoryIndex, InMemoryLog  # noqa: PLC0415 - only what is asked for

        return InMemoryLog(), InMemoryIndex, None
    if (path := _file(config.url)) is not None:
        from hybrid_memory.stores.sqlite import Database, SqliteIndex, SqliteLog  # noqa: PLC0415 - brings FAISS

        database = Database(path, power_safe=config.power_safe, key=key)
        return SqliteLog(database), lambda: SqliteIndex(database, exact_limit=config.exact_limit), database.rekey
    if config.url.startswith(("redis://", "rediss://", "redis+cluster://", "rediss+cluster://")):
        redis = _engine("redis")
        connection = redis.RedisConnection(config.url)
        return redis.RedisLog(connection), lambda: redis.RedisIndex(connection, algorithm=_flat_or_hnsw(config)), None
    raise InvalidConfigError(f"cannot open {config.url!r}: use {LOGS}, or the path of a .yaml file")


def _index(config: MemoryConfig, url: str, suffix: str) -> SemanticIndex:
    """An index of its own, in the store of this URL under a name with this suffix."""
    if url == "memory://":
        from hybrid_memory.stores.memory import InMemoryIndex  # noqa: PLC0415 - only what is asked for

        return InMemoryIndex()
    if (path := _file(url)) is not None:
        from hybrid_memory.stores.sqlite import Database, SqliteIndex  # noqa: PLC0415 - brings FAISS

        path = path.with_name(f"{path.stem}{suffix}{path.suffix}")
        return SqliteIndex(Database(path, power_safe=config.power_safe), exact_limit=config.exact_limit)
    scheme = url.partition(":")[0].partition("+")[0]
    if scheme in {"redis", "rediss"}:
        redis = _engine("redis")
        connection = redis.RedisConnection(_renamed(url, suffix, "hybrid-memory"))
        index: SemanticIndex = redis.RedisIndex(connection, algorithm=_flat_or_hnsw(config))
    elif scheme == "milvus":
        milvus = _engine("milvus")
        kind = (config.index.algorithm or "ivf_flat").upper()
        url = _renamed(url, suffix.replace("-", "_"), "hybrid_memory")
        index = milvus.MilvusIndex(url, index_type=kind, nlist=config.index.nlist)
    else:
        raise InvalidConfigError(f"cannot open {url!r} as an index: use {INDEXES}")
    return index


def _archive(url: str) -> Any:
    if url.partition(":")[0] not in {"clickhouse", "clickhouse+tls", "chdb"}:
        raise InvalidConfigError(f"cannot open {url!r} as an archive: use {ARCHIVES}")
    return _engine("clickhouse").ClickHouseArchive(url)


def _engine(name: str) -> Any:
    """The room of an engine whose client is optional, and comes with the extra of the same name."""
    try:
        return import_module(f"hybrid_memory.stores.{name}")
    except ImportError as error:
        raise MissingDependencyError(error.name or name, extra=name) from error


def _file(url: str) -> Path | None:
    """The path behind ``sqlite:///path``; None for another URL."""
    path = url.removeprefix("sqlite:///")
    return None if path in {url, "", ":memory:"} else Path(path).expanduser()


def _flat_or_hnsw(config: MemoryConfig) -> str:
    algorithm = config.index.algorithm or "flat"
    if algorithm not in {"flat", "hnsw"}:
        raise InvalidConfigError(f"Redis has no index of the kind {algorithm!r}: use flat or hnsw")
    return algorithm


def _renamed(url: str, suffix: str, default: str) -> str:
    """The same URL, for a store whose name has this suffix."""
    if not suffix:
        return url
    base, _, query = url.partition("?")
    settings = dict(parse_qsl(query))
    settings["prefix"] = settings.get("prefix", default) + suffix
    return f"{base}?{urlencode(settings)}"
