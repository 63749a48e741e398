"""What a URL opens: an engine for logs, indexes or archives, ours or one that an installed package registers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self
from urllib.parse import parse_qsl, urlencode

from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.log.port import Archive, EventLog, Key

LOGS = "sqlite:///memory.db (relative), sqlite:////full/path/memory.db, memory:// or redis://host:6379/0"
INDEXES = f"{LOGS}, milvus://host:19530 or milvus:///folder.db"
ARCHIVES = "clickhouse://host:8123/database or chdb:///folder"


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The settings that engines look at, each those that concern it; see `hybrid_memory.MemoryConfig`.

    Attributes:
        key: of an encrypted store, a passphrase or 32 bytes.
    """

    power_safe: bool = True
    key: str | bytes | None = None
    exact_limit: int = 50_000
    algorithm: str | None = None
    nlist: int = 1024


class Engine:
    """Opens what one URL names; nothing is opened before it is asked for.

    A package registers a subclass under `hybrid_memory.sockets.GROUPS`, by the scheme of its URLs, and overrides what
    it has.

    Args:
        url: of the store.
        options: the settings.

    Attributes:
        encrypts: whether it takes a key.
        keyless: why it does not, as the rest of a sentence.
        prefix: of a URL that names none; dash: what stands for a dash in it.

    Raises:
        InvalidConfigError: the URL is malformed.
    """

    encrypts: ClassVar[bool] = False
    keyless: ClassVar[str] = "has no key"
    prefix: ClassVar[str] = "hybrid-memory"
    dash: ClassVar[str] = "-"

    def __init__(self, url: str, options: EngineOptions) -> None:
        self.url = url
        self.options = options

    @property
    def exists(self) -> bool:
        """Whether it must be opened even where nobody needs it, because forgetting has to reach what is there."""
        return False

    def log(self) -> EventLog:
        """The log of this store; closed by whoever asked for it."""
        raise InvalidConfigError(f"cannot open {self.url!r} as a log: use {LOGS}")

    def index(self) -> SemanticIndex:
        """The index of this store, on the same connection as its log."""
        raise InvalidConfigError(f"cannot open {self.url!r} as an index: use {INDEXES}")

    def archive(self) -> Archive:
        """The archive of this store."""
        raise InvalidConfigError(f"cannot open {self.url!r} as an archive: use {ARCHIVES}")

    def beside(self, suffix: str) -> Self:
        """The same engine, for a store whose name has this suffix: by default the prefix in its URL has."""
        base, _, query = self.url.partition("?")
        settings = dict(parse_qsl(query))
        settings["prefix"] = settings.get("prefix", self.prefix) + suffix.replace("-", self.dash)
        return type(self)(f"{base}?{urlencode(settings)}", self.options)

    def rekey(self, key: Key) -> None:
        """Encrypt the store, which is open, with another key."""
        raise InvalidConfigError(f"{self.url} {self.keyless}")


def path_of(url: str) -> Path | None:
    """The path behind ``sqlite:///path``; None for another URL."""
    path = url.removeprefix("sqlite:///")
    return None if path in {url, "", ":memory:"} else Path(path).expanduser()
