"""A Redis server behind one URL: calls, scripts, and server failures as the library's errors."""

from __future__ import annotations

import hashlib
import logging
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qs, unquote

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as LostConnectionError
from redis.exceptions import NoScriptError, RedisError, ResponseError
from redis.retry import Retry

from hybrid_memory.errors import InvalidConfigError, MemoryClosedError, StoreUnavailableError, StoreVersionError
from hybrid_memory.runtime.breaker import Breaker
from hybrid_memory.runtime.tasks import ENGINE_SECONDS, hurried
from hybrid_memory.urls import ENCODE, cleaned, parts_of, shown_url

CONNECT_SECONDS = 2
CALL_SECONDS = 10
PROBE_SECONDS = 0.5
MAX_CONNECTIONS = 1_000
"""The most connections of one process; a thread uses one at a time."""

READ_BYTES = 262_144
"""Bytes read from a socket at once: vectors arrive in hundreds of kilobytes."""

LAYOUT = 2
"""The version of the key layout; a store of another one is refused."""

_SCHEMES = ("redis", "rediss")
_COMMAND = re.compile(r"^Command # \d+ \(.*\) of pipeline caused error: ", re.DOTALL)
_PREFIX = re.compile(r"[A-Za-z0-9._-]{1,64}")

Value = str | bytes | int
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Address:
    scheme: str
    host: str
    port: int
    database: int
    user: str | None = field(repr=False)
    password: str | None = field(repr=False)
    prefix: str


class RedisConnection:
    """A Redis server, shared by log and index; usable from any thread.

    If a call loses its connection, it is repeated once on a new one. Every script recognizes its own earlier work, so
    that a lost answer does no harm and a restarted server is found without reopening the store.

    Args:
        engine_timeout: seconds that a read may take while a caller waits; see `OrchestrationConfig.engine_timeout`.
        url: ``redis://[user:password@]host[:port][/database][?prefix=name]``; ``rediss://`` for TLS. All
            keys start with the prefix, by default ``hybrid-memory``; it consists of letters, digits, dots, dashes and
            underscores.

    Attributes:
        prefix: the prefix of all keys.
        address: host and port, as shown in errors.

    Raises:
        InvalidConfigError: the URL is malformed, or the server is a node of a cluster.
        StoreUnavailableError: the server does not answer, or refuses.
        StoreVersionError: another version of this library wrote the store.
    """

    def __init__(self, url: str, *, engine_timeout: float = ENGINE_SECONDS) -> None:
        address = _parsed(url)
        self.prefix = address.prefix
        self.address = f"{address.host}:{address.port}"
        self._closed = False
        self._secrets = (address.password, address.user)
        self._breaker = Breaker(f"Redis at {self.address}")
        self._client: Any = self._attempted("connect to", lambda: self._opened(address, CALL_SECONDS), retry=False)
        self._hurried: Any = self._opened(address, min(engine_timeout, CALL_SECONDS))  # it connects at the first call
        try:
            self._check_layout()
        except BaseException:
            self._client.close()
            raise

    def call(self, *command: Value) -> Any:
        """The answer to one command, as bytes, numbers and lists."""
        return self._attempted("use", lambda: self._reader().execute_command(*command))

    def calls(self, commands: Sequence[Sequence[Value]]) -> list[Any]:
        """The answers to several commands, sent together; not a transaction."""

        def run() -> list[Any]:
            pipeline = self._reader().pipeline(transaction=False)
            for command in commands:
                pipeline.execute_command(*command)
            return list(pipeline.execute())

        return self._attempted("use", run) if commands else []

    def script(self, script: Script, keys: Sequence[str], values: Sequence[Value] = ()) -> Any:
        """The result of a script, which runs atomically."""

        def run() -> Any:
            client = self._reader() if script.reads else self._client
            try:
                return client.evalsha(script.sha, len(keys), *keys, *values)
            except NoScriptError:
                return client.eval(script.text, len(keys), *keys, *values)

        return self._attempted("use", run)

    def info(self, section: str) -> dict[str, Any]:
        """What the server says about itself."""
        answer: dict[str, Any] = self._attempted("use", lambda: self._client.info(section))
        return answer

    def rewrite(self) -> None:
        """Make the server rewrite its files, and wait for it."""
        self._attempted("use", lambda: _rewrite(self._client, self.address))

    def check_open(self) -> None:
        if self._closed:
            raise MemoryClosedError

    def close(self) -> None:
        self._closed = True
        self._client.close()
        self._hurried.close()

    def _reader(self) -> Any:
        """The client with the short timeout, for reads while a caller waits."""
        return self._hurried if hurried() else self._client

    def _attempted(self, verb: str, run: Callable[[], Result], *, retry: bool = True) -> Result:
        self.check_open()
        return self._breaker.call(
            lambda: self._tried(verb, run, retry=retry),
            probe=self._ping,
            answered=lambda error: isinstance(error.__cause__, ResponseError),
        )

    def _ping(self) -> None:
        """Check on a separate connection that the server responds."""
        settings = {**self._settings, "socket_connect_timeout": PROBE_SECONDS, "socket_timeout": PROBE_SECONDS}
        with Redis(retry=Retry(NoBackoff(), 0), **settings) as client:
            client.ping()

    def _tried(self, verb: str, run: Callable[[], Result], *, retry: bool) -> Result:
        try:
            try:
                return run()
            except LostConnectionError:
                if self._closed or not retry:
                    raise
                return run()
        except (RedisError, OSError) as error:
            self.check_open()
            # Without the command, which may contain names and text.
            reason = _COMMAND.sub("", str(cleaned(error, self._secrets)))
            raise StoreUnavailableError(
                f"cannot {verb} Redis at {self.address}: {reason}; see that the server "
                "runs, and that host, port, user and password are right"
            ) from error

    def _opened(self, address: _Address, seconds: float) -> Any:
        settings: dict[str, Any] = {
            "host": address.host,
            "port": address.port,
            "username": address.user,
            "password": address.password,
            "ssl": address.scheme.startswith("rediss"),
            "socket_connect_timeout": CONNECT_SECONDS,
            "socket_timeout": seconds,
            "protocol": 2,  # its answers have the same shape with every version of client and server
            "max_connections": MAX_CONNECTIONS,
            "socket_read_size": READ_BYTES,
        }
        self._settings = settings
        return Redis(db=address.database, retry=Retry(NoBackoff(), 0), **settings)

    def _check_layout(self) -> None:
        if int(self.info("cluster").get("cluster_enabled", 0)):
            raise InvalidConfigError(
                f"Redis at {self.address} is a node of a cluster, got one with cluster-enabled yes: it has the "
                "keys of some owners only. Use a single server, with replicas if you like, or Postgres or Milvus"
            )
        key = f"{self.prefix}:layout"
        self.call("SET", key, LAYOUT, "NX")
        layout = int(self.call("GET", key))
        if layout != LAYOUT:
            raise StoreVersionError(f"the store {self.prefix!r} on Redis at {self.address}", layout, LAYOUT)


class Script:
    """A Lua script, the hash by which a server knows it after the first run, and whether it only reads."""

    def __init__(self, *parts: str, reads: bool = False) -> None:
        self.reads = reads
        self.text = "\n".join(parts)
        self.sha = hashlib.sha1(self.text.encode()).hexdigest()  # noqa: S324 - it is Redis's own name for it


def _parsed(url: str) -> _Address:
    if (parts := parts_of(url)) is None:
        raise InvalidConfigError(f"{shown_url(url)!r} is not a Redis URL: {ENCODE}")
    port = parts.port or 6379
    options = parse_qs(parts.query, keep_blank_values=True)
    prefix = options.pop("prefix", ["hybrid-memory"])[-1]
    database = parts.path.strip("/") or "0"
    if parts.scheme not in _SCHEMES:
        raise InvalidConfigError(f"a Redis URL begins with one of {', '.join(_SCHEMES)}, got {shown_url(url)!r}")
    if options or parts.fragment:
        raise InvalidConfigError(f"the only option of a Redis URL is prefix, got {shown_url(url)!r}")
    if not _PREFIX.fullmatch(prefix):
        raise InvalidConfigError(
            f"the prefix of a Redis URL is 1 to 64 letters, digits, dots, dashes or underscores, got {prefix!r}"
        )
    if not database.isdecimal():
        raise InvalidConfigError(
            f"the path of a Redis URL is the number of a database, got {shown_url(url)!r}; {ENCODE}"
        )
    user, password = (unquote(part) if part else None for part in (parts.username, parts.password))
    return _Address(parts.scheme, parts.hostname or "localhost", port, int(database), user, password, prefix)


SCRUB_SECONDS = 600
"""Seconds that a server may take to rewrite its files."""

_PAUSE_SECONDS = 0.02

_log = logging.getLogger(__name__)


def warn_of_losses(connection: RedisConnection) -> None:
    """Log a warning about settings of the server that may lose acknowledged data."""
    if not connection.info("persistence").get("aof_enabled"):
        _log.warning("Redis at %s has no append-only file: a crash loses events", connection.address)
    warn_of_eviction(connection, "events")


def warn_of_eviction(connection: RedisConnection, what: str) -> None:
    """Log a warning if the server may evict data."""
    policy = str(connection.info("memory").get("maxmemory_policy", "noeviction"))
    if policy != "noeviction":
        _log.warning(
            "Redis at %s evicts keys when its memory is full (maxmemory-policy %s): %s may be lost; set noeviction",
            *(connection.address, policy, what),
        )


def size_bytes(connection: RedisConnection) -> int:
    """The size of the append-only files, or of the used memory without them."""
    answer = connection.info("all")
    return int(answer.get("aof_current_size", 0) or answer["used_memory"])


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
            f"Redis at {address} could not rewrite its files ({command}): erased data may remain in them; "
            "check its log and disk, then try again"
        )


def _wait(server: Any, deadline: float, address: str) -> dict[str, Any]:
    while True:
        answer: dict[str, Any] = server.info("persistence")
        busy = ("aof_rewrite_in_progress", "aof_rewrite_scheduled", "rdb_bgsave_in_progress")
        if not any(int(answer[part]) for part in busy):
            return answer
        if time.monotonic() > deadline:
            raise StoreUnavailableError(f"Redis at {address} did not rewrite its files within {SCRUB_SECONDS} s")
        time.sleep(_PAUSE_SECONDS)
