"""Parses a ClickHouse URL and provides a client for the server or the embedded engine."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPSConnection
from math import ceil
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from urllib.parse import parse_qsl, unquote

import clickhouse_connect
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError, DatabaseError

from hybrid_memory.errors import InvalidConfigError, MemoryClosedError, MissingDependencyError, StoreUnavailableError
from hybrid_memory.runtime.breaker import Breaker
from hybrid_memory.runtime.tasks import ENGINE_SECONDS, hurried
from hybrid_memory.urls import ENCODE, cleaned, parts_of, shown_url

Row: TypeAlias = Sequence[Any]
Result = TypeVar("Result")

_INSERTING = {"async_insert": 0, "max_partitions_per_insert_block": 0}
"""Inserts are durable on return, and may span more than a hundred months."""


class Connection:
    """A client of the server or of the embedded engine."""

    def __init__(self, address: Address, prepare: str, *, engine_timeout: float = ENGINE_SECONDS) -> None:
        self._address = address
        self._engine_timeout = engine_timeout
        self._prepare = prepare
        self._lock = threading.Lock()
        self._clients: dict[bool, Client] = {}
        self._closed = False
        self._breaker = Breaker()

    def query(self, sql: str, parameters: Mapping[str, Any]) -> list[Row]:
        return self._call("read", lambda client: list(client.query(sql, parameters=dict(parameters)).result_rows))

    def command(self, sql: str, parameters: Mapping[str, Any]) -> None:
        self._call("change", lambda client: client.command(sql, parameters=dict(parameters)))

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Insert these rows immediately; on disk on return."""
        self._call(
            "write to",
            lambda client: client.insert(table, rows, column_names=list(columns), settings=_INSERTING),
        )

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for client in self._clients.values():
                client.close()
            self._clients.clear()

    def _call(self, verb: str, run: Callable[[Client], Result]) -> Result:
        if self._closed:
            raise MemoryClosedError
        return self._breaker.call(
            lambda: self._tried(verb, run),
            probe=self._ping,
            refusal=self._silent,
            answered=lambda error: type(error.__cause__) is DatabaseError,  # what is below says that nobody answered
        )

    def _silent(self, failure: Exception | None) -> StoreUnavailableError:
        return StoreUnavailableError(
            f"the archive at {self._address.place} is not asked, as it did not answer lately: {failure}"
        )

    def _ping(self) -> None:
        """Check that the server responds."""
        options = self._address.options
        if "host" in options:
            kind = HTTPSConnection if options["secure"] else HTTPConnection
            connection = kind(options["host"], options["port"], timeout=PROBE_SECONDS)
            with closing(connection):
                connection.request("GET", "/ping")
                connection.getresponse()

    def _tried(self, verb: str, run: Callable[[Client], Result]) -> Result:
        client = self._opened(soon=verb == "read" and "host" in self._address.options and hurried())
        try:
            return run(client)
        except (ClickHouseError, OSError) as error:
            if self._closed:  # under the call
                raise MemoryClosedError from error
            raise self._unavailable(verb, error) from error

    def _opened(self, *, soon: bool) -> Client:
        with self._lock:
            if self._closed:
                raise MemoryClosedError
            if soon not in self._clients:
                self._clients[soon] = self._connected(soon=soon)
            return self._clients[soon]

    def _connected(self, *, soon: bool) -> Client:
        options = self._address.options
        if soon:
            # The client knows whole seconds only.
            options = {**options, "send_receive_timeout": min(ceil(self._engine_timeout), CALL_SECONDS)}
        try:
            client = clickhouse_connect.get_client(**options)
        except ImportError as error:
            raise MissingDependencyError("chdb", "chdb") from error
        except (ClickHouseError, OSError) as error:
            raise self._unavailable("open", error) from error
        try:
            client.command(self._prepare)
        except BaseException as error:
            client.close()
            if isinstance(error, ClickHouseError | OSError):
                raise self._unavailable("prepare", error) from error
            raise
        return client

    def _unavailable(self, verb: str, error: Exception) -> StoreUnavailableError:
        reason = str(cleaned(error, self._address.secrets)).strip().replace("\n", " ")
        if "already initialized with path" in reason:
            reason = "this process has the embedded engine open on another folder, and can have one only"
        return StoreUnavailableError(
            f"cannot {verb} the archive at {self._address.place}: {reason[:500]}; "
            "see that it runs and that this user may use the table, then try again"
        )


CONNECT_SECONDS = 2
CALL_SECONDS = 10
PROBE_SECONDS = 0.5
TABLE = "memory_archive"
"""The table if the URL names none."""

_PORTS = {"clickhouse": 8123, "clickhouse+tls": 8443}
_TABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_FORMS = "use clickhouse://[user:password@]host[:8123]/database?table=name, clickhouse+tls://... or chdb:///folder"


@dataclass(frozen=True, slots=True)
class Address:
    """Arguments for `clickhouse_connect.get_client`, the table, and the location as error messages show it."""

    table: str
    place: str
    options: dict[str, Any] = field(repr=False)  # with the password

    @property
    def secrets(self) -> list[str]:
        """Strings that no message may contain."""
        user = self.options.get("username", "")
        return [self.options.get("password", ""), "" if user == "default" else user]


def parsed(url: str) -> Address:
    """The parts of the URL.

    Raises:
        InvalidConfigError: it is not the URL of an archive.
    """
    scheme, _, rest = url.partition("://")
    if scheme != "chdb" and scheme not in _PORTS:
        raise InvalidConfigError(f"{scheme!r} is not a known archive: {_FORMS}")
    rest, _, query = rest.partition("?")
    table = _table(query)
    if scheme == "chdb":
        folder = rest.removeprefix("/")
        if not rest.startswith("/") or not folder:
            raise InvalidConfigError(
                f"{shown_url(url)!r} names no folder: use chdb:///relative or chdb:////absolute/folder"
            )
        path = str(Path(folder).expanduser().absolute())
        return Address(table, path, {"interface": "chdb", "path": path})
    return _server(scheme, rest, table)


def _server(scheme: str, rest: str, table: str) -> Address:
    if (parts := parts_of(f"//{rest}")) is None:
        raise InvalidConfigError(f"the URL of the {scheme} archive is wrong: {_FORMS}; {ENCODE}")
    host, port = parts.hostname, parts.port or _PORTS[scheme]
    database = unquote(parts.path.strip("/")) or "default"
    if not host or "/" in database:
        raise InvalidConfigError(f"the URL of the {scheme} archive must name a host and one database: {_FORMS}")
    options = {
        "host": host,
        "port": port,
        "username": unquote(parts.username or "default"),
        "password": unquote(parts.password or ""),
        "database": database,
        "secure": scheme == "clickhouse+tls",
        "connect_timeout": CONNECT_SECONDS,
        "send_receive_timeout": CALL_SECONDS,
        "autogenerate_session_id": False,  # a session admits one query at a time
        "dedicated_pool": True,
    }
    return Address(table, f"{host}:{port}/{database}", options)


def _table(query: str) -> str:
    options = dict(parse_qsl(query, keep_blank_values=True))
    table = options.pop("table", TABLE)
    if options:
        raise InvalidConfigError("the only option of an archive URL is table")
    if not _TABLE.fullmatch(table):
        raise InvalidConfigError(f"table {table!r} must be of letters, digits and underscores, at most 128")
    return table
