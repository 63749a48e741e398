"""What the scheme of a URL names: an engine that holds a log, an index, an archive, or several of these."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from hybrid_memory.config import MemoryConfig
from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.log.port import Archive, EventLog
from hybrid_memory.store.health import Finding

LOGS = "sqlite:///memory.db (relative), sqlite:////full/path/memory.db, memory:// or redis://host:6379/0"
INDEXES = f"{LOGS}, milvus://host:19530 or milvus:///folder.db"
ARCHIVES = "clickhouse://host:8123/database or chdb:///folder"


class Engine:
    """An engine at a URL; it offers what it overrides, and opens that when it is asked for.

    A package registers its class under ``hybrid_memory.engines``, by the scheme of its URLs.

    Attributes:
        url: as it was given.
        config: all settings of the memory.
        key: of an encrypted store; None without one.
        encrypts: whether it can be given a key.

    Raises:
        InvalidConfigError: the URL is malformed.
    """

    encrypts = False

    def __init__(self, url: str, config: MemoryConfig, key: str | bytes | None = None) -> None:
        self.url = url
        self.config = config
        self.key = key

    def log(self) -> EventLog:
        """The log (L3) at this URL.

        Raises:
            StoreUnavailableError: a server does not answer, or a file cannot be opened.
        """
        raise InvalidConfigError(f"cannot open {self.url!r} as a log: use {LOGS}, or the path of a .yaml file")

    def index(self, suffix: str = "") -> SemanticIndex:
        """The index (L2) at this URL; with a suffix a second one beside it, under a name that ends so."""
        raise InvalidConfigError(f"cannot open {self.url!r} as an index: use {INDEXES}")

    def archive(self) -> Archive:
        """The archive at this URL."""
        raise InvalidConfigError(f"cannot open {self.url!r} as an archive: use {ARCHIVES}")

    def holds(self, suffix: str) -> bool:
        """Whether an index with this suffix is known to be there already, without opening it."""
        return False

    def rekey(self, key: str | bytes) -> None:
        """Give what is open another key; raises `InvalidConfigError` where nothing is encrypted."""
        raise InvalidConfigError(f"{self.url} has no key to be changed, got one of {len(key)} characters")

    def check(self) -> list[Finding]:
        """What is wrong beneath log and index, such as a broken page of a file; empty where nothing is."""
        return []


def renamed(url: str, suffix: str, default: str) -> str:
    """The URL with the suffix on its ``prefix`` setting, whose default is given."""
    if not suffix:
        return url
    base, _, query = url.partition("?")
    settings = dict(parse_qsl(query))
    settings["prefix"] = settings.get("prefix", default) + suffix
    return f"{base}?{urlencode(settings)}"
