"""The server of a measure, its own in an empty folder, and what its files take."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers import MilvusServer, RedisServer, Server

POSTGRES = {
    "shared_buffers": "1GB", "maintenance_work_mem": "1GB", "max_wal_size": "4GB", "random_page_cost": "1.1",
    "effective_cache_size": "4GB",
}  # fmt: skip
"""For all that run on it; the rest, ``fsync`` among it, is PostgreSQL's own."""


@contextmanager
def serving(kind: str, folder: Path) -> Iterator[str | None]:
    """The URL of a server, ``postgres``, ``redis`` or ``milvus``, for as long as it is needed; None for no kind."""
    if not kind:
        yield None
        return
    started: Server
    if kind == "postgres":
        from tests.postgres_server import PostgresServer  # noqa: PLC0415 - optional

        started = PostgresServer(folder, options=POSTGRES)
    elif kind == "redis":
        started = RedisServer(folder, appendfsync="always")
    else:
        started = MilvusServer(folder)
    with started as running:
        yield running.url


def bytes_in(folder: Path) -> int:
    """What the files of a folder take on the disk."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(Path(where) / name).st_blocks * 512
            except FileNotFoundError:
                continue
    return total
