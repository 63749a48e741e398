"""Leaving nothing of what was destroyed in the files of a server."""

from __future__ import annotations

import logging
import time
from typing import Any

from redis.exceptions import ResponseError

from hybrid_memory.engines.redis.connection import RedisConnection
from hybrid_memory.errors import StoreUnavailableError

SCRUB_SECONDS = 600
"""How long writing the files of a server anew may take."""

_PAUSE_SECONDS = 0.02

_log = logging.getLogger(__name__)


def scrub(connection: RedisConnection) -> None:
    """Have every server write its files anew, and wait for it.

    Raises:
        StoreUnavailableError: a server could not.
    """
    connection.on_servers(lambda server: _rewrite(server, connection.address))


def warn_of_losses(connection: RedisConnection) -> None:
    """Say in the log what of the server's settings may lose what was acknowledged."""
    for answer in connection.on_servers(lambda server: server.info("all")):
        if not answer.get("aof_enabled"):
            _log.warning("Redis at %s keeps no append-only file: a crash loses events", connection.address)
        if str(answer.get("maxmemory_policy", "noeviction")) != "noeviction":
            _log.warning("Redis at %s evicts keys when its memory is full: events may go", connection.address)


def size_bytes(connection: RedisConnection) -> int:
    """Of the append-only files, or of the memory where there are none."""
    answer = connection.on_servers(lambda server: server.info("all"))
    return sum(int(one.get("aof_current_size", 0) or one["used_memory"]) for one in answer)


def _rewrite(server: Any, address: str) -> None:
    deadline = time.monotonic() + SCRUB_SECONDS
    _wait(server, deadline, address)  # a rewrite that runs already may have begun before the words were destroyed
    files = server.info("persistence")["aof_enabled"]
    command = "BGREWRITEAOF" if files else "BGSAVE"
    while True:
        try:
            server.execute_command(command)
            break
        except ResponseError as error:
            if "in progress" not in str(error):
                raise
            _wait(server, deadline, address)  # another one was faster
    answer = _wait(server, deadline, address)
    if answer["aof_last_bgrewrite_status" if files else "rdb_last_bgsave_status"] != "ok":
        raise StoreUnavailableError(
            f"Redis at {address} could not write its files anew ({command}): what was erased may still stand in them; "
            "look at its log and its disk, and try again"
        )


def _wait(server: Any, deadline: float, address: str) -> dict[str, Any]:
    while True:
        answer: dict[str, Any] = server.info("persistence")
        busy = ("aof_rewrite_in_progress", "aof_rewrite_scheduled", "rdb_bgsave_in_progress")
        if not any(int(answer[part]) for part in busy):
            return answer
        if time.monotonic() > deadline:
            raise StoreUnavailableError(f"Redis at {address} did not write its files anew in {SCRUB_SECONDS} s")
        time.sleep(_PAUSE_SECONDS)
