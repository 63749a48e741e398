"""The engines that a file may name, and their URLs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine.

    Attributes:
        prefixes: of its URLs.
        url: where it is if the file does not say.
    """

    prefixes: tuple[str, ...]
    url: str


_MEMORY = Engine(("memory://",), "memory://")
_REDIS = Engine(("redis://", "rediss://", "redis+cluster://", "rediss+cluster://"), "redis://localhost:6379/0")

LOGS: Mapping[str, Engine] = {
    "sqlite": Engine(("sqlite:///",), "sqlite:///memory.db"),
    "memory": _MEMORY,
    "redis": _REDIS,
}
INDEXES: Mapping[str, Engine] = {
    "faiss": Engine(("sqlite:///",), "sqlite:///memory.index.db"),
    "memory": _MEMORY,
    "redis": _REDIS,
    "milvus": Engine(("milvus://", "milvus+tls://"), "milvus://localhost:19530"),
}
ARCHIVES: Mapping[str, Engine] = {
    "clickhouse": Engine(("clickhouse://", "clickhouse+tls://"), "clickhouse://localhost:8123/default"),
    "chdb": Engine(("chdb:///",), "chdb:///memory.archive"),
}


def named(url: str | None, engines: Mapping[str, Engine]) -> str | None:
    """The engine that a URL belongs to."""
    return next((name for name, engine in engines.items() if (url or "").startswith(engine.prefixes)), None)
