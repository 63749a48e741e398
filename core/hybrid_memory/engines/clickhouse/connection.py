"""One ClickHouse client: made at the first call, shared by all threads, with our errors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import clickhouse_connect
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from hybrid_memory.engines.clickhouse.address import Address
from hybrid_memory.errors import MemoryClosedError, MissingDependencyError, StoreUnavailableError

Row: TypeAlias = Sequence[Any]

_INSERTING = {"async_insert": 0, "max_partitions_per_insert_block": 0}
"""Written on return, and a batch may span more than a hundred months."""


class Connection:
    """A client of the server or of the embedded engine.

    Args:
        address: of either.
        prepare: makes the table, with the first client; called again until it went well once.
    """

    def __init__(self, address: Address, prepare: Callable[[Client], None]) -> None:
        self._address = address
        self._prepare = prepare
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._closed = False

    def query(self, sql: str, parameters: Mapping[str, Any]) -> list[Row]:
        """All rows of a SELECT."""
        with self._calling("read") as client:
            return list(client.query(sql, parameters=dict(parameters)).result_rows)

    def command(self, sql: str, parameters: Mapping[str, Any]) -> None:
        """Run a statement that has no rows."""
        with self._calling("change") as client:
            client.command(sql, parameters=dict(parameters))

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Insert these rows at once; on disk on return."""
        with self._calling("write to") as client:
            client.insert(table, rows, column_names=list(columns), settings=_INSERTING)

    def close(self) -> None:
        """Close the client; harmless when repeated."""
        with self._lock:
            self._closed = True
            if self._client is not None:
                self._client.close()
                self._client = None

    @contextmanager
    def _calling(self, verb: str) -> Iterator[Client]:
        client = self._opened()
        try:
            yield client
        except (ClickHouseError, OSError) as error:
            if self._closed:  # under the call
                raise MemoryClosedError from error
            raise self._unavailable(verb, error) from error

    def _opened(self) -> Client:
        with self._lock:
            if self._closed:
                raise MemoryClosedError
            if self._client is None:
                self._client = self._connected()
            return self._client

    def _connected(self) -> Client:
        try:
            client = clickhouse_connect.get_client(**self._address.options)
        except ImportError as error:
            raise MissingDependencyError("chdb", "chdb") from error
        except (ClickHouseError, OSError) as error:
            raise self._unavailable("open", error) from error
        try:
            self._prepare(client)
        except BaseException as error:
            client.close()
            if isinstance(error, ClickHouseError | OSError):
                raise self._unavailable("prepare", error) from error
            raise
        return client

    def _unavailable(self, verb: str, error: Exception) -> StoreUnavailableError:
        said = str(error).strip().replace("\n", " ")
        if "already initialized with path" in said:
            said = "this process has the embedded engine open on another folder, and can have one only"
        return StoreUnavailableError(
            f"cannot {verb} the archive at {self._address.place}: {said[:500]}; "
            "see that it runs and that this user may use the table, then try again"
        )
