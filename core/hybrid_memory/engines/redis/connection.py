"""A Redis server behind one URL: calls, scripts, and server failures as the library's errors; the names in its keys.

Keys of one owner have the owner's tag in braces, and are of log or index.

``owners``: a hash, owners by tag. ``position``: the last one given out. ``rows:embedder``: name and width, of the
vectors. ``rows:records``: a hash, the owner's tag by record id. ``rows:holders``: a sorted set of content hash, tag and
id, in one text, of the records with a vector.
"""

from __future__ import annotations

import hashlib
import logging
import re
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as LostConnectionError
from redis.exceptions import NoScriptError, RedisError, ResponseError
from redis.retry import Retry

from hybrid_memory.engines.remote import CONNECT_SECONDS, PROBE_SECONDS, Address, Remote, Result
from hybrid_memory.engines.stored import owner_json
from hybrid_memory.errors import InvalidConfigError, StoreUnavailableError, StoreVersionError
from hybrid_memory.runtime.tasks import ENGINE_SECONDS, hurried
from hybrid_memory.scope import Scope
from hybrid_memory.urls import ENCODE, shown_url

CALL_SECONDS = 10
MAX_CONNECTIONS = 1_000  # the most connections of one process; a thread uses one at a time
READ_BYTES = 262_144  # bytes read from a socket at once: vectors arrive in hundreds of kilobytes
LAYOUT = 4  # the version of the key layout; a store of another one is refused
SCRUB_SECONDS = 600  # seconds that a server may take to rewrite its files

_PAUSE_SECONDS = 0.02
_PORTS = {"redis": 6379, "rediss": 6379}
_FORMS = "redis://[user:password@]host[:6379][/database][?prefix=name] or rediss://..."
_COMMAND = re.compile(r"^Command # \d+ \(.*\) of pipeline caused error: ", re.DOTALL)
_PREFIX = r"[A-Za-z0-9._-]{1,64}"

Value = str | bytes | int

_log = logging.getLogger(__name__)


class RedisConnection(Remote):
    """A Redis server, shared by log and index; usable from any thread.

    If a call loses its connection, it is repeated once on a new one. Every script recognizes its own earlier work, so
    that a lost answer does no harm and a restarted server is found without reopening the store.

    Args:
        url: ``redis://[user:password@]host[:port][/database][?prefix=name]``; ``rediss://`` for TLS. All
            keys start with the prefix, by default ``hybrid-memory``; it consists of letters, digits, dots, dashes and
            underscores.

    Raises:
        InvalidConfigError: the URL is malformed, or the server is a node of a cluster.
        StoreUnavailableError: the server does not answer, or refuses.
        StoreVersionError: another version of this library wrote the store.
    """

    failures = (RedisError, OSError)

    def __init__(self, url: str, *, engine_timeout: float = ENGINE_SECONDS) -> None:
        address = Address.read(url, "Redis", _PORTS, _FORMS, option="prefix", default="hybrid-memory", pattern=_PREFIX)
        host, database = address.host or "localhost", address.path.strip("/") or "0"
        if not database.isdecimal():
            raise InvalidConfigError(
                f"the path of a Redis URL is the number of a database, got {shown_url(url)!r}; {ENCODE}"
            )
        super().__init__(
            f"Redis at {host}:{address.port}",
            "see that the server runs, and that host, port, user and password are right",
            (address.password, address.user),
            engine_timeout=engine_timeout,
        )
        self.prefix = address.name
        self._settings: dict[str, Any] = {
            "host": host,
            "port": address.port,
            "db": int(database),
            "username": address.user or None,
            "password": address.password or None,
            "ssl": address.scheme == "rediss",
            "socket_connect_timeout": CONNECT_SECONDS,
        }
        self._client = self._opened(socket_timeout=CALL_SECONDS)
        self._hurried = self._opened(socket_timeout=min(engine_timeout, CALL_SECONDS))
        try:
            if int(self.info("cluster").get("cluster_enabled", 0)):
                raise InvalidConfigError(  # noqa: TRY301 - so that it is closed
                    f"{self.place} is a node of a cluster, got one with cluster-enabled yes: it has the "
                    "keys of some owners only. Use a single server, with replicas if you like, or Postgres or Milvus"
                )
            key = f"{self.prefix}:layout"
            self.call("SET", key, LAYOUT, "NX")
            layout = int(self.call("GET", key))
            if layout != LAYOUT:
                raise StoreVersionError(f"the store {self.prefix!r} on {self.place}", layout, LAYOUT)  # noqa: TRY301
        except BaseException:
            self.close()
            raise

    def call(self, *command: Value) -> Any:
        """The answer to one command, as bytes, numbers and lists."""
        return self._asked(lambda: self._reader().execute_command(*command))

    def calls(self, commands: Sequence[Sequence[Value]]) -> list[Any]:
        """The answers to several commands, sent together; not a transaction."""

        def run() -> list[Any]:
            pipeline = self._reader().pipeline(transaction=False)
            for command in commands:
                pipeline.execute_command(*command)
            return list(pipeline.execute())

        return self._asked(run) if commands else []

    def script(self, script: Script, root: str, values: Sequence[Value]) -> Any:
        """The result of a script, which runs atomically."""

        def run() -> Any:
            client = self._reader() if script.reads else self._client
            try:
                return client.evalsha(script.sha, 1, root, *values)
            except NoScriptError:
                return client.eval(script.text, 1, root, *values)

        return self._asked(run)

    def info(self, section: str) -> dict[str, Any]:
        """What the server says about itself."""
        answer: dict[str, Any] = self._asked(lambda: self._client.info(section))
        return answer

    def rewrite(self) -> None:
        """Make the server rewrite its files, and wait for it."""
        deadline = time.monotonic() + SCRUB_SECONDS
        while True:
            # A rewrite that runs already may have begun before the words were destroyed.
            files = self._at_rest(deadline)["aof_enabled"]
            command = "BGREWRITEAOF" if files else "BGSAVE"
            try:
                self.call(command)
                break
            except StoreUnavailableError as error:
                if "in progress" not in str(error):  # another one was faster
                    raise
        if self._at_rest(deadline)["aof_last_bgrewrite_status" if files else "rdb_last_bgsave_status"] != "ok":
            raise StoreUnavailableError(
                f"{self.place} could not rewrite its files ({command}): erased data may remain in them; "
                "check its log and disk, then try again"
            )

    def warn_of_eviction(self, what: str) -> None:
        """Log a warning if the server may evict data."""
        policy = str(self.info("memory").get("maxmemory_policy", "noeviction"))
        if policy != "noeviction":
            _log.warning(
                "%s evicts keys when its memory is full (maxmemory-policy %s): %s may be lost; set noeviction",
                *(self.place, policy, what),
            )

    def close(self) -> None:
        self._closed = True
        self._client.close()
        self._hurried.close()

    def _asked(self, run: Callable[[], Result]) -> Result:
        def twice() -> Result:
            try:
                return run()
            except LostConnectionError:
                if self._closed:
                    raise
                return run()

        return self.ask("use", twice)

    def _reader(self) -> Any:
        """The client with the short timeout, for reads while a caller waits."""
        return self._hurried if hurried() else self._client

    def _at_rest(self, deadline: float) -> dict[str, Any]:
        """What the server says about its files once it rewrites none."""
        while True:
            answer = self.info("persistence")
            busy = ("aof_rewrite_in_progress", "aof_rewrite_scheduled", "rdb_bgsave_in_progress")
            if not any(int(answer[part]) for part in busy):
                return answer
            if time.monotonic() > deadline:
                raise StoreUnavailableError(f"{self.place} did not rewrite its files within {SCRUB_SECONDS} s")
            time.sleep(_PAUSE_SECONDS)

    def _opened(self, **settings: float) -> Any:
        """A client, which connects at its first call."""
        return Redis(
            **{**self._settings, **settings},
            retry=Retry(NoBackoff(), 0),
            protocol=2,  # its answers have the same shape with every version of client and server
            max_connections=MAX_CONNECTIONS,
            socket_read_size=READ_BYTES,
        )

    def _probe(self) -> None:
        with self._opened(socket_connect_timeout=PROBE_SECONDS, socket_timeout=PROBE_SECONDS) as client:
            client.ping()

    def _is_answer(self, error: BaseException) -> bool:
        return isinstance(error, ResponseError)

    def _reason(self, error: Exception) -> str:
        return _COMMAND.sub("", super()._reason(error))  # without the command, which may contain names and text


_PRELUDE = r"""
local root = KEYS[1]
local function text(number) return string.format('%.0f', number) end
"""


class Script:
    """A Lua script, the hash by which a server knows it after the first run, and whether it only reads.

    Its only key is the ``root`` of all that it touches.
    """

    def __init__(self, *parts: str, reads: bool = False) -> None:
        self.reads = reads
        self.text = "\n".join([_PRELUDE, *parts])
        self.sha = hashlib.sha1(self.text.encode()).hexdigest()  # noqa: S324 - it is Redis's own name for it


@lru_cache(maxsize=65536)
def digest_or_none(text: str | None) -> str:
    """A digest of 24 hexadecimal digits, so that names in keys need no escaping; ``-`` for None, as no digest is."""
    return "-" if text is None else hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


@lru_cache(maxsize=65536)
def owner_tag(scope: Scope) -> str:
    """A digest of the scope's owner, 32 hexadecimal digits."""
    return hashlib.blake2b(owner_json(scope).encode(), digest_size=16).hexdigest()
