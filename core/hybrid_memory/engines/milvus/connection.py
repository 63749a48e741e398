"""One client for all threads, that comes back when the server does."""

from __future__ import annotations

import importlib.util
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
from pymilvus import MilvusClient, MilvusException

from hybrid_memory.engines.milvus.address import Address
from hybrid_memory.errors import MemoryClosedError, MissingDependencyError, StoreUnavailableError

CONNECT_SECONDS = 2.0
CALL_SECONDS = 8.0
"""The client repeats a call that finds no server until this is over."""

_QUIET_SECONDS = 1.0
_CONNECTING = 2
"""The code of an error of the client that finds no server; codes of gRPC are no numbers."""

_LOST = ("not loaded", "not been loaded", "not exist", "not found", "can't find collection")


class Connection:
    """The client of one address, made at the first call.

    Args:
        address: where.
        restore: called with the client where the server says that a collection is missing or not loaded, as after a
            restart; the call is repeated then.
    """

    def __init__(self, address: Address, restore: Callable[[MilvusClient], None]) -> None:
        self._address = address
        self._restore = restore
        self._client: MilvusClient | None = None
        self._lock = threading.RLock()
        self._closed = False
        self._answered = 0.0

    def call(self, verb: str, *args: Any, **named: Any) -> Any:
        """What the client's method of this name returns.

        Raises:
            StoreUnavailableError: there is no answer, or an error.
            MemoryClosedError: after `close`.
        """
        client = self._open()
        try:
            answer = getattr(client, verb)(*args, timeout=CALL_SECONDS, **named)
        except MilvusException as error:
            if not any(word in str(error) for word in _LOST):
                raise self._failed(verb, error) from error
            answer = self._again(client, verb, *args, **named)
        except (grpc.RpcError, grpc.FutureTimeoutError, OSError) as error:
            raise self._failed(verb, error) from error
        except (AttributeError, ValueError) as error:  # of a client or channel that was closed meanwhile
            self.check_open()
            raise self._failed(verb, error) from error
        self._answered = time.monotonic()
        return answer

    def run(self, work: Callable[[MilvusClient], None]) -> None:
        """Do this with the client; errors as in `call`."""
        client = self._open()
        try:
            work(client)
        except (MilvusException, grpc.RpcError, OSError) as error:
            raise self._failed("create_collection", error) from error

    def check_open(self) -> None:
        """Nothing, or `MemoryClosedError`."""
        if self._closed:
            raise MemoryClosedError

    def close(self) -> None:
        """Leave the server, or stop it where it runs in this process."""
        with self._lock:
            client, self._client, self._closed = self._client, None, True
        if client is not None:
            client.close()
            if not self._address.host:
                _leave(self._address.uri)

    def _open(self) -> MilvusClient:
        self.check_open()
        if self._address.host and time.monotonic() - self._answered > _QUIET_SECONDS:
            self._knock()
        with self._lock:
            self.check_open()
            if self._client is None:
                self._client = self._connected()
            return self._client

    def _knock(self) -> None:
        """Find out in no time that the server is down: the client itself would go on trying."""
        try:
            socket.create_connection((self._address.host, self._address.port), CONNECT_SECONDS).close()
        except OSError as error:
            raise self._failed("connect", error) from error

    def _connected(self) -> MilvusClient:
        if not self._address.host and importlib.util.find_spec("milvus_lite") is None:
            raise MissingDependencyError("milvus-lite", "milvus")
        try:
            if not self._address.host:
                _enter(self._address.uri)
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

    def _again(self, client: MilvusClient, verb: str, *args: Any, **named: Any) -> Any:
        try:
            self._restore(client)
            return getattr(client, verb)(*args, timeout=CALL_SECONDS, **named)
        except (MilvusException, grpc.RpcError, OSError) as error:
            raise self._failed(verb, error) from error

    def _forget(self) -> None:
        """Begin with a new client next time: one that has lost its server may not find it again."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            with suppress(MilvusException, grpc.RpcError, ValueError):
                client.close()

    def _failed(self, verb: str, error: Exception) -> StoreUnavailableError:
        self._answered = 0.0
        answered = isinstance(error, MilvusException) and isinstance(error.code, int) and error.code != _CONNECTING
        if self._address.host and not answered:
            self._forget()
        where = f"Milvus at {self._address}" if self._address.host else f"Milvus Lite in {self._address}"
        hint = (
            "is the server running, and are user, password and database right?"
            if self._address.host
            else "is the folder writable, and no other process at work in it?"
        )
        return StoreUnavailableError(f"{where} failed at {verb}: {error}; {hint}")


_folders: Counter[Path] = Counter()
_folders_lock = threading.Lock()


def _enter(folder: str) -> None:
    """Note that one more connection of this process uses the folder: they share one engine."""
    path = Path(folder).absolute()
    with _folders_lock:
        _folders[path] += 1
    path.parent.mkdir(parents=True, exist_ok=True)


def _leave(folder: str) -> None:
    """Stop the engine of the folder after its last connection, and so unlock the folder."""
    from milvus_lite.server_manager import server_manager_instance  # noqa: PLC0415 - a server needs none

    with _folders_lock:
        _folders[Path(folder).absolute()] -= 1
        if not _folders[Path(folder).absolute()]:
            server_manager_instance.release_server(folder)
