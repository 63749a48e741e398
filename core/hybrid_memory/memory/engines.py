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
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.log.archived import ArchivedLog
from hybrid_memory.log.port import EventLog, Expiring, Key

LOGS = "sqlite:///memory.db (relative), sqlite:////full/path/memory.db, memory:// or redis://host:6379/0"
INDEXES = f"{LOGS}, milvus://host:19530 or milvus:///folder.db"
ARCHIVES = "clickhouse://host:8123/database or chdb:///folder"

MEDIA = "-media"
"""Added to the name of a store, it is that of its media."""


@dataclass(slots=True)
class Engines:
    """What a memory stands on.

    Attributes:
        index: of words; media: the same engine, for what is no text.
        rekey: gives an encrypted store another key.
    """

    log: EventLog
    index: SemanticIndex
    media: SemanticIndex | None = None
    archive: Expiring | None = None
    outbox: EventLog | None = None
    rekey: Callable[[Key], None] | None = None

    def close(self) -> None:
        """Release them all."""
        for part in (self.index, self.media, self.log, self.outbox):
            if part is not None:
                part.close()


def open_engines(config: MemoryConfig, key: Key | None, *, media: bool) -> Engines:
    """The engines that the settings name.

    Args:
        config: the settings.
        key: of an encrypted store.
        media: whether there may be new media; what is there of an embedded store is opened in any case, so that
            forgetting reaches it.

    Raises:
        InvalidConfigError: a URL is wrong, or a key is given for an engine that cannot encrypt.
        MissingDependencyError: a client is not installed.
        StoreUnavailableError: a server does not answer.
    """
    for url in (config.url, config.index.url or config.url):
        if key is not None and _file(url) is None:
            reason = "is written to no disk: there is nothing to encrypt" if url == "memory://" else "has no key"
            raise InvalidConfigError(f"{url} {reason}, leave key= out")
    with ExitStack() as opened:
        engines = _Opening(config, key, opened).engines(media=media)
        opened.pop_all()  # none failed: they stay open
    return engines


class _Opening:
    """Opens engines, and has them closed again if one of them cannot be opened."""

    def __init__(self, config: MemoryConfig, key: Key | None, opened: ExitStack) -> None:
        self._config = config
        self._key = key() if callable(key) else key
        self._opened = opened
        self._files: list[Any] = []

    def engines(self, *, media: bool) -> Engines:
        """All of them."""
        config, where = self._config, self._config.index.url or self._config.url
        log, beside = self._log()
        self._opened.callback(log.close)
        index = beside() if where == config.url else self._index(where, "")
        self._opened.callback(index.close)
        engines = Engines(log, index)
        path = _file(where)
        if media or (path is not None and _beside(path, MEDIA).exists()):
            engines.media = self._index(where, MEDIA)
            self._opened.callback(engines.media.close)
        if config.outbox is not None:
            taken = {path.resolve() for path in (_file(config.url), _file(where)) if path is not None}
            if Path(config.outbox).expanduser().resolve() in taken:
                raise InvalidConfigError(f"outbox={config.outbox!r} is the store itself: name another file")
            engines.outbox = _room("sqlite").SqliteLog(self._database(Path(config.outbox).expanduser()))
            self._opened.callback(engines.outbox.close)
        if config.archive.url is not None:
            engines.archive = engines.log = self._archived(log, config.archive.url)
        if self._files:
            engines.rekey = self._rekey
        return engines

    def _log(self) -> tuple[EventLog, Callable[[], SemanticIndex]]:
        """The log, and what opens the index beside it."""
        config = self._config
        if config.url == "memory://":
            memory = _room("in_memory")
            return memory.InMemoryLog(), memory.InMemoryIndex
        if (path := _file(config.url)) is not None:
            sqlite, database = _room("sqlite"), self._database(path)
            return sqlite.SqliteLog(database), lambda: sqlite.SqliteIndex(database, exact_limit=config.exact_limit)
        if _scheme(config.url) in {"redis", "rediss"}:
            redis = _room("redis", extra="redis")
            connection = redis.RedisConnection(config.url)
            return redis.RedisLog(connection), lambda: redis.RedisIndex(connection, algorithm=self._algorithm("flat"))
        raise InvalidConfigError(f"cannot open {config.url!r}: use {LOGS}, or the path of a .yaml file")

    def _index(self, url: str, suffix: str) -> SemanticIndex:
        """An index of its own, in the store of this URL under a name with this suffix."""
        index: SemanticIndex
        if url == "memory://":
            index = _room("in_memory").InMemoryIndex()
        elif (path := _file(url)) is not None:
            database = self._database(_beside(path, suffix))
            index = _room("sqlite").SqliteIndex(database, exact_limit=self._config.exact_limit)
        elif _scheme(url) in {"redis", "rediss"}:
            redis = _room("redis", extra="redis")
            connection = redis.RedisConnection(_renamed(url, suffix, "hybrid-memory"))
            index = redis.RedisIndex(connection, algorithm=self._algorithm("flat"))
        elif _scheme(url) == "milvus":
            milvus = _room("milvus", extra="milvus")
            url = _renamed(url, suffix.replace("-", "_"), "hybrid_memory")
            kind = self._algorithm("ivf_flat").upper()
            index = milvus.MilvusIndex(url, index_type=kind, nlist=self._config.index.nlist)
        else:
            raise InvalidConfigError(f"cannot open {url!r} as an index: use {INDEXES}")
        return index

    def _archived(self, log: EventLog, url: str) -> Any:
        if _scheme(url) not in {"clickhouse", "chdb"}:
            raise InvalidConfigError(f"cannot open {url!r} as an archive: use {ARCHIVES}")
        archive = _room("clickhouse", extra="clickhouse").ClickHouseArchive(url)
        return ArchivedLog(log, archive)

    def _database(self, path: Path) -> Any:
        database = _room("sqlite").Database(path, power_safe=self._config.power_safe, key=self._key)
        self._files.append(database)
        return database

    def _algorithm(self, default: str) -> str:
        algorithm = self._config.index.algorithm or default
        if default == "flat" and algorithm == "ivf_flat":
            raise InvalidConfigError("Redis has no index of the kind 'ivf_flat': use flat or hnsw")
        return algorithm

    def _rekey(self, key: Key) -> None:
        """Give all files of the store the new key."""
        value = key() if callable(key) else key
        for database in self._files:
            database.rekey(value)


def _room(name: str, *, extra: str = "") -> Any:
    """The room of an engine; its client may be optional, and comes with the extra."""
    try:
        return import_module(f"hybrid_memory.engines.{name}")
    except ImportError as error:
        if not extra:
            raise
        raise MissingDependencyError(error.name or name, extra=extra) from error


def _scheme(url: str) -> str:
    return url.partition(":")[0].partition("+")[0]


def _file(url: str) -> Path | None:
    """The path behind ``sqlite:///path``; None for another URL."""
    path = url.removeprefix("sqlite:///")
    return None if path in {url, "", ":memory:"} else Path(path).expanduser()


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.stem}{suffix}{path.suffix}")


def _renamed(url: str, suffix: str, default: str) -> str:
    """The same URL, for a store whose name has this suffix."""
    if not suffix:
        return url
    base, _, query = url.partition("?")
    settings = dict(parse_qsl(query))
    settings["prefix"] = settings.get("prefix", default) + suffix
    return f"{base}?{urlencode(settings)}"
