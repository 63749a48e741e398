"""From URLs to engines, each imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from hybrid_memory.config import MemoryConfig
from hybrid_memory.engines.engine import INDEXES, Engine, EngineOptions, path_of
from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.log.archived import ArchivedLog
from hybrid_memory.log.port import EventLog, Expiring, Key
from hybrid_memory.sockets import found, registered

MEDIA = "-media"
"""Added to the name of a store, it is that of its media."""

_PACKAGE = "hybrid_memory.engines"
OWN = {
    "sqlite": f"{_PACKAGE}.sqlite:SqliteEngine",
    "memory": f"{_PACKAGE}.in_memory:InMemoryEngine",
    "redis": f"{_PACKAGE}.redis:RedisEngine",
    "rediss": f"{_PACKAGE}.redis:RedisEngine",
    "milvus": f"{_PACKAGE}.milvus:MilvusEngine",
    "clickhouse": f"{_PACKAGE}.clickhouse:ClickHouseEngine",
    "chdb": f"{_PACKAGE}.clickhouse:ClickHouseEngine",
}
"""By the scheme of the URL, up to a ``+``."""

Part = TypeVar("Part", EventLog, SemanticIndex)

_EXTRAS = {"redis": "redis", "rediss": "redis", "milvus": "milvus", "clickhouse": "clickhouse", "chdb": "clickhouse"}


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
    with ExitStack() as opened:
        engines = _Opening(config, key, opened).engines(media=media)
        opened.pop_all()  # none failed: they stay open
    return engines


def engine(url: str, options: EngineOptions) -> Engine:
    """What the URL names, not opened yet.

    Raises:
        InvalidConfigError: nobody knows such URLs.
        MissingDependencyError: its client is not installed.
    """
    scheme = url.partition(":")[0].partition("+")[0]
    if scheme not in OWN and ("://" not in url or scheme not in registered("engine")):
        raise InvalidConfigError(f"cannot open {url!r}: use {INDEXES}, or the path of a .yaml file")
    return cast("Engine", found("engine", scheme, OWN, _EXTRAS)(url, options))


class _Opening:
    """Opens engines, and has them closed again if one of them cannot be opened."""

    def __init__(self, config: MemoryConfig, key: Key | None, opened: ExitStack) -> None:
        self._config = config
        self._opened = opened
        self._options = EngineOptions(
            power_safe=config.power_safe,
            key=key() if callable(key) else key,
            exact_limit=config.exact_limit,
            algorithm=config.index.algorithm,
            nlist=config.index.nlist,
        )
        self._encrypted: list[Engine] = []

    def engines(self, *, media: bool) -> Engines:
        """All of them."""
        config = self._config
        store = self._engine(config.url)
        where = store if config.index.url in (None, config.url) else self._engine(config.index.url)
        log = self._closed_later(store.log())
        engines = Engines(log, self._closed_later(where.index()))
        beside = where.beside(MEDIA)
        if media or beside.exists:
            self._keep(beside)
            engines.media = self._closed_later(beside.index())
        if config.outbox is not None:
            engines.outbox = self._closed_later(self._outbox(config.outbox).log())
        if config.archive.url is not None:
            engines.archive = engines.log = ArchivedLog(log, self._engine(config.archive.url, keyless=True).archive())
        if self._encrypted:
            engines.rekey = self._rekey
        return engines

    def _engine(self, url: str, *, keyless: bool = False) -> Engine:
        opened = engine(url, self._options)
        if self._options.key is not None and not (opened.encrypts or keyless):
            raise InvalidConfigError(f"{url} {opened.keyless}, leave key= out")
        self._keep(opened)
        return opened

    def _outbox(self, name: str) -> Engine:
        path = Path(name).expanduser()
        taken = (path_of(url) for url in (self._config.url, self._config.index.url or self._config.url))
        if path.resolve() in {other.resolve() for other in taken if other is not None}:
            raise InvalidConfigError(f"outbox={name!r} is the store itself: name another file")
        return self._engine(f"sqlite:///{path}")

    def _keep(self, opened: Engine) -> None:
        if opened.encrypts:
            self._encrypted.append(opened)

    def _closed_later(self, part: Part) -> Part:
        self._opened.callback(part.close)
        return part

    def _rekey(self, key: Key) -> None:
        """Give all files of the store the new key."""
        value = key() if callable(key) else key
        for opened in self._encrypted:
            opened.rekey(value)
