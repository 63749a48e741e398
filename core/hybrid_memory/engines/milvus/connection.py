"""Parses a Milvus URL and provides one client for all threads that reconnects after a server restart."""

from __future__ import annotations

import importlib.util
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, unquote

import grpc
from pymilvus import MilvusClient, MilvusException

from hybrid_memory.errors import InvalidConfigError, MemoryClosedError, MissingDependencyError, StoreUnavailableError
from hybrid_memory.runtime.breaker import Breaker
from hybrid_memory.runtime.tasks import ENGINE_SECONDS, hurried
from hybrid_memory.urls import ENCODE, cleaned, parts_of, shown_url

T = TypeVar("T")

CONNECT_SECONDS = 2.0
CALL_SECONDS = 8.0
"""For this long, the client retries a call that cannot reach the server."""

PROBE_SECONDS = 0.5

_READING = ("query", "search")
_QUIET_SECONDS = 1.0
_CONNECTING = 2
"""The code of the client's error for an unreachable server; gRPC codes are not numbers."""

_LOST = ("not loaded", "not been loaded", "not exist", "not found", "can't find collection")


class Connection:
    """The client for one address, created at the first call.

    If the server reports a missing or unloaded collection, as after a restart, ``restore`` is called with the client,
    and the call is repeated.
    """

    def __init__(
        self, address: Address, restore: Callable[[MilvusClient], None], *, engine_timeout: float = ENGINE_SECONDS
    ) -> None:
        self._address = address
        self._restore = restore
        self._engine_timeout = engine_timeout
        self._client: MilvusClient | None = None
        self._lock = threading.RLock()
        self._closed = False
        self._answered = 0.0
        self._breaker = Breaker(f"Milvus at {address}")

    def call(self, verb: str, *args: Any, **named: Any) -> Any:
        """The result of the client method with this name."""
        self.check_open()
        return self._guarded(lambda: self._called(verb, *args, **named))

    def _guarded(self, run: Callable[[], T]) -> T:
        return self._breaker.call(run, probe=self._ping, answered=lambda error: _answered(error.__cause__))

    def _ping(self) -> None:
        """Check that the server responds; with TLS, the call itself is the check."""
        if self._address.uri.startswith("http://"):
            with grpc.insecure_channel(self._address.uri.removeprefix("http://")) as channel:
                grpc.channel_ready_future(channel).result(timeout=PROBE_SECONDS)

    def _called(self, verb: str, *args: Any, **named: Any) -> Any:
        client = self._open()
        try:
            answer = getattr(client, verb)(*args, timeout=self._seconds(verb), **named)
        except MilvusException as error:
            if not any(word in str(error) for word in _LOST):
                raise self._failed(verb, error) from error
            try:
                self._restore(client)
                answer = getattr(client, verb)(*args, timeout=self._seconds(verb), **named)
            except (MilvusException, grpc.RpcError, OSError) as again:
                raise self._failed(verb, again) from again
        except (grpc.RpcError, grpc.FutureTimeoutError, OSError) as error:
            raise self._failed(verb, error) from error
        except (AttributeError, ValueError) as error:  # of a client or channel that was closed meanwhile
            self.check_open()
            raise self._failed(verb, error) from error
        self._answered = time.monotonic()
        return answer

    def run(self, work: Callable[[MilvusClient], None]) -> None:
        def run() -> None:
            client = self._open()
            try:
                work(client)
            except (MilvusException, grpc.RpcError, OSError) as error:
                raise self._failed("create_collection", error) from error

        self.check_open()
        self._guarded(run)

    def check_open(self) -> None:
        if self._closed:
            raise MemoryClosedError

    def close(self) -> None:
        with self._lock:
            client, self._client, self._closed = self._client, None, True
        if client is not None:
            client.close()
            if not self._address.host:
                _leave(self._address.uri)

    def _open(self) -> MilvusClient:
        self.check_open()
        if self._address.host and time.monotonic() - self._answered > _QUIET_SECONDS:
            # Fail fast if the server is down; the client itself would keep retrying.
            try:
                socket.create_connection((self._address.host, self._address.port), CONNECT_SECONDS).close()
            except OSError as error:
                raise self._failed("connect", error) from error
        with self._lock:
            self.check_open()
            if self._client is None:
                self._client = self._connected()
            return self._client

    def _connected(self) -> MilvusClient:
        if not self._address.host and importlib.util.find_spec("milvus_lite") is None:
            raise MissingDependencyError("milvus-lite", "milvus")
        try:
            if not self._address.host:
                # The connections of this process to one folder share an engine, and are counted.
                folder = Path(self._address.uri).absolute()
                with _folders_lock:
                    _folders[folder] += 1
                folder.parent.mkdir(parents=True, exist_ok=True)
            client = MilvusClient(
                self._address.uri,
                user=self._address.user,
                password=self._address.password,
                db_name=self._address.database,
                timeout=CONNECT_SECONDS if self._address.host else CALL_SECONDS,
                dedicated=True,
            )
            self._restore(client)
        except (MilvusException, grpc.RpcError, OSError) as error:
            if not self._address.host:
                _leave(self._address.uri)
            raise self._failed("connect", error) from error
        self._answered = time.monotonic()
        return client

    def _seconds(self, verb: str) -> float:
        """The timeout of this call."""
        return min(self._engine_timeout, CALL_SECONDS) if verb in _READING and hurried() else CALL_SECONDS

    def _failed(self, verb: str, error: Exception) -> StoreUnavailableError:
        self._answered = 0.0
        if self._address.host and not _answered(error):
            # One that lost its server may not find it again: the next call makes a new client.
            with self._lock:
                client, self._client = self._client, None
            if client is not None:
                with suppress(MilvusException, grpc.RpcError, ValueError):
                    client.close()
        where = f"Milvus at {self._address}" if self._address.host else f"Milvus Lite in {self._address}"
        hint = (
            "is the server running, and are user, password and database right?"
            if self._address.host
            else "is the folder writable, and no other process at work in it?"
        )
        reason = cleaned(error, [self._address.password, self._address.user])
        return StoreUnavailableError(f"{where} failed at {verb}: {reason}; {hint}")


def _answered(error: BaseException | None) -> bool:
    """Whether the error is an answer from the server."""
    return isinstance(error, MilvusException) and isinstance(error.code, int) and error.code != _CONNECTING


_folders: Counter[Path] = Counter()
_folders_lock = threading.Lock()


def _leave(folder: str) -> None:
    """After the last connection to the folder, stop its engine and so unlock the folder."""
    from milvus_lite.server_manager import server_manager_instance  # noqa: PLC0415 - a server needs none

    with _folders_lock:
        _folders[Path(folder).absolute()] -= 1
        if not _folders[Path(folder).absolute()]:
            server_manager_instance.release_server(folder)


PORT = 19530
PREFIX = "hybrid_memory"
_FORMS = "milvus://[user:password@]host[:19530][/database][?prefix=name], milvus+tls://..., or milvus:///folder.db"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")


@dataclass(frozen=True, slots=True)
class Address:
    """Host and port of a server, or the folder of Milvus Lite; and the prefix of the collections."""

    uri: str
    host: str = ""
    port: int = 0
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    database: str = ""
    prefix: str = PREFIX

    @classmethod
    def read(cls, url: str) -> Address:
        """The address in a URL; ``milvus:///folder.db`` is relative, ``milvus:////folder.db`` absolute.

        Raises:
            InvalidConfigError: it is not a Milvus URL.
        """
        shown = shown_url(url)
        if (parts := parts_of(url)) is None:
            raise InvalidConfigError(f"cannot read the URL {shown!r}: write {_FORMS}; {ENCODE}")
        host, port = parts.hostname or "", parts.port or PORT
        options = parse_qs(parts.query, keep_blank_values=True)
        prefix = options.pop("prefix", [PREFIX])[-1]
        if parts.scheme not in ("milvus", "milvus+tls") or options:
            raise InvalidConfigError(f"cannot read the URL {shown!r}: write {_FORMS}")
        if not _NAME.fullmatch(prefix):
            raise InvalidConfigError(f"prefix must be letters, digits and underscores, got {prefix!r} in {shown!r}")
        path = unquote(parts.path[1:])
        if not host:
            if parts.scheme != "milvus" or not path.endswith(".db"):
                raise InvalidConfigError(f"the folder of Milvus Lite must end in .db, got {shown!r}: write {_FORMS}")
            return cls(uri=path, prefix=prefix)
        if path and not _NAME.fullmatch(path):
            raise InvalidConfigError(f"a database's name is letters, digits and underscores, got {shown!r}; {ENCODE}")
        secure = parts.scheme == "milvus+tls"
        name = f"[{host}]" if ":" in host else host
        return cls(
            uri=f"{'https' if secure else 'http'}://{name}:{port}",
            host=host,
            port=port,
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            database=path,
            prefix=prefix,
        )

    def __str__(self) -> str:
        return self.uri
