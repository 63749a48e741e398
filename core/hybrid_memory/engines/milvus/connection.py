"""Parses a Milvus URL and provides one client for all threads that reconnects after a server restart."""

from __future__ import annotations

import importlib.util
import re
import socket
import threading
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

import grpc
from pymilvus import MilvusClient, MilvusException

from hybrid_memory.engines.remote import CONNECT_SECONDS, PROBE_SECONDS, Remote, Result
from hybrid_memory.errors import InvalidConfigError, MissingDependencyError
from hybrid_memory.runtime.tasks import ENGINE_SECONDS, hurried
from hybrid_memory.urls import ENCODE, parts_of, shown_url

CALL_SECONDS = 8.0
"""For this long, the client retries a call that cannot reach the server."""

_READING = ("query", "search")
_QUIET_SECONDS = 1.0
_CONNECTING = 2
"""The code of the client's error for an unreachable server; gRPC codes are not numbers."""

_LOST = ("not loaded", "not been loaded", "not exist", "not found", "can't find collection")


class Connection(Remote):
    """The client for one address, created at the first call.

    If the server reports a missing or unloaded collection, as after a restart, collections are prepared again, and the
    call is repeated.
    """

    # The last two are of a client or channel that was closed under the call.
    failures = (MilvusException, grpc.RpcError, grpc.FutureTimeoutError, OSError, AttributeError, ValueError)

    def __init__(self, address: Address, *, engine_timeout: float = ENGINE_SECONDS) -> None:
        place, advice = f"Milvus Lite in {address.uri}", "is the folder writable, and no other process at work in it?"
        if address.host:
            place, advice = f"Milvus at {address.uri}", "is the server running, and are user, password, database right?"
        super().__init__(place, advice, [address.password, address.user], engine_timeout=engine_timeout)
        self._address = address
        self._client: MilvusClient | None = None
        self._lock = threading.RLock()
        self._answered = 0.0

    @abstractmethod
    def _prepare(self, client: MilvusClient) -> None:
        """Create the collections that do not exist, and load all."""

    def call(self, verb: str, name: str, **options: Any) -> Any:
        """The result of the client method with this name, for one of the collections."""
        timeout = min(self._engine_timeout, CALL_SECONDS) if verb in _READING and hurried() else CALL_SECONDS
        return self.run(verb, lambda client: getattr(client, verb)(self._named(name), timeout=timeout, **options))

    def run(self, verb: str, work: Callable[[MilvusClient], Result]) -> Result:
        """The result of this work with the client; errors name the verb."""

        def run() -> Result:
            try:
                client = self._opened()
                try:
                    result = work(client)
                except MilvusException as error:
                    if not any(word in str(error) for word in _LOST):
                        raise
                    self._prepare(client)
                    result = work(client)
            except self.failures as error:
                self._answered = 0.0
                if self._address.host and not self._is_answer(error):
                    # A client that lost its server may not find it again: the next call makes a new one.
                    with self._lock:
                        lost, self._client = self._client, None
                    if lost is not None:
                        with suppress(MilvusException, grpc.RpcError, ValueError):
                            lost.close()
                raise
            self._answered = time.monotonic()
            return result

        return self.attempt(f"{verb} in", run)

    def close(self) -> None:
        with self._lock:
            client, self._client, self._closed = self._client, None, True
        if client is not None:
            client.close()
            self._leave()

    def _named(self, name: str) -> str:
        return f"{self._address.prefix}_{name}"

    def _opened(self) -> MilvusClient:
        address = self._address
        if address.host and time.monotonic() - self._answered > _QUIET_SECONDS:
            # Fail fast if the server is down; the client itself would keep retrying.
            socket.create_connection((address.host, address.port), CONNECT_SECONDS).close()
        with self._lock:
            self.check_open()
            if self._client is None:
                self._client = self._connected()
            return self._client

    def _connected(self) -> MilvusClient:
        address = self._address
        if not address.host:
            if importlib.util.find_spec("milvus_lite") is None:
                raise MissingDependencyError("milvus-lite", "milvus")
            # The connections of this process to one folder share an engine, and are counted.
            with _folders_lock:
                _folders[Path(address.uri).absolute()] += 1
        try:
            if not address.host:
                Path(address.uri).absolute().parent.mkdir(parents=True, exist_ok=True)
            client = MilvusClient(
                address.uri,
                user=address.user,
                password=address.password,
                db_name=address.database,
                timeout=CONNECT_SECONDS if address.host else CALL_SECONDS,
                dedicated=True,
            )
            self._prepare(client)
        except BaseException:
            self._leave()
            raise
        return client

    def _leave(self) -> None:
        """After the last connection to a folder, stop its engine and so unlock the folder."""
        if self._address.host:
            return
        from milvus_lite.server_manager import server_manager_instance  # noqa: PLC0415 - a server needs none

        folder = Path(self._address.uri).absolute()
        with _folders_lock:
            _folders[folder] -= 1
            if not _folders[folder]:
                server_manager_instance.release_server(self._address.uri)

    def _probe(self) -> None:
        # With TLS, the call itself is the check.
        if self._address.uri.startswith("http://"):
            with grpc.insecure_channel(self._address.uri.removeprefix("http://")) as channel:
                grpc.channel_ready_future(channel).result(timeout=PROBE_SECONDS)

    def _is_answer(self, error: BaseException) -> bool:
        return isinstance(error, MilvusException) and isinstance(error.code, int) and error.code != _CONNECTING


_folders: Counter[Path] = Counter()
_folders_lock = threading.Lock()


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
        options = parse_qs(parts.query, keep_blank_values=True)
        prefix = options.pop("prefix", [PREFIX])[-1]
        if parts.scheme not in ("milvus", "milvus+tls") or options:
            raise InvalidConfigError(f"cannot read the URL {shown!r}: write {_FORMS}")
        if not _NAME.fullmatch(prefix):
            raise InvalidConfigError(f"prefix must be letters, digits and underscores, got {prefix!r} in {shown!r}")
        path, secure = unquote(parts.path[1:]), parts.scheme == "milvus+tls"
        host, port = parts.hostname or "", parts.port or PORT
        if not host:
            if secure or not path.endswith(".db"):
                raise InvalidConfigError(f"the folder of Milvus Lite must end in .db, got {shown!r}: write {_FORMS}")
            return cls(uri=path, prefix=prefix)
        if path and not _NAME.fullmatch(path):
            raise InvalidConfigError(f"a database's name is letters, digits and underscores, got {shown!r}; {ENCODE}")
        name = f"[{host}]" if ":" in host else host
        uri = f"{'https' if secure else 'http'}://{name}:{port}"
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        return cls(uri, host, port, user, password, database=path, prefix=prefix)
