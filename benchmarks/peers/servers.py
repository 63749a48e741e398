"""The servers of a measure: one of its own in an empty folder, and what they take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.servers import MilvusServer, RedisServer
from tests.servers import Server as LocalServer

POSTGRES = {
    "shared_buffers": "1GB", "maintenance_work_mem": "1GB", "max_wal_size": "4GB", "random_page_cost": "1.1",
    "effective_cache_size": "4GB",
}  # fmt: skip
"""For all that run on it; the rest, ``fsync`` among it, is PostgreSQL's own."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs.

    Attributes:
        process: its number.
        folder: of its files.
    """

    url: str
    process: int
    folder: Path

    def memory(self) -> int:
        """Bytes of its processes, those that they share counted once."""
        first = psutil.Process(self.process)
        total = 0
        for one in (first, *first.children(recursive=True)):
            try:
                total += one.memory_full_info().pss
            except psutil.NoSuchProcess:
                continue
        return total


@contextmanager
def serving(kind: str, folder: Path) -> Iterator[Server | None]:
    """The server of this kind, ``postgres``, ``redis`` or ``milvus``, for as long as it is needed; None for no kind."""
    if not kind:
        yield None
        return
    started: LocalServer
    if kind == "postgres":
        from tests.postgres_server import PostgresServer  # noqa: PLC0415 - optional

        started = PostgresServer(folder, options=POSTGRES)
    elif kind == "redis":
        started = RedisServer(folder, appendfsync="always")
    else:
        started = MilvusServer(folder)
    here = psutil.Process()
    before = {child.pid for child in here.children()}
    with started as running:
        process = next(child.pid for child in here.children() if child.pid not in before)
        yield Server(running.url, process, folder)


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
