"""One SQLite file: opening, migrating, one writer, and a read connection for every thread."""

from __future__ import annotations

import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from hybrid_memory.errors import MemoryClosedError, StoreUnavailableError, StoreVersionError
from hybrid_memory.stores.sqlite.schema import APPLICATION_ID, MIGRATIONS
from hybrid_memory.types import Scope

BUSY_SECONDS = 60
"""How long a writer waits for another process's transaction before it gives up."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(at: datetime) -> int:
    """Whole microseconds since 1970."""
    return (at - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The instant, in UTC."""
    return _EPOCH + timedelta(microseconds=micros)


class _Reader:
    """A thread's connection; it goes with the thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.lock = threading.Lock()  # SQLite crashes if a connection is closed under a running query

    def close(self) -> None:
        """Close it, after the query that runs on it."""
        with self.lock:
            self.connection.close()

    def __del__(self) -> None:
        self.connection.close()


class Database:
    """A store file, shared by the log and the index.

    Every thread reads on a connection of its own; writes go through one connection and one lock, so that threads
    queue here and only processes compete for SQLite's lock.

    Args:
        path: of the file; created if missing.
        power_safe: fsync at every commit, so that an acknowledged write survives a power cut; without it it survives
            a crash of the process only.

    Raises:
        StoreUnavailableError: the path cannot be opened or written, or is not a store.
        StoreVersionError: a newer version of this library wrote it.
    """

    def __init__(self, path: Path, *, power_safe: bool = True) -> None:
        self.path = path
        self._synchronous = "FULL" if power_safe else "NORMAL"
        self._lock = threading.RLock()
        self._readers: weakref.WeakSet[_Reader] = weakref.WeakSet()
        self._local = threading.local()
        self._closed = False
        self._owners: dict[Scope, int] = {}
        self._functions: dict[str, Callable[[str, str], bool]] = {}
        try:
            if not path.parent.is_dir():
                raise StoreUnavailableError(f"cannot open {path}: the folder {path.parent} does not exist")
            self._writer = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise StoreUnavailableError(f"cannot open {path}: {error}") from error
        try:
            self._check_ours()
            self._configure(self._writer)
            self._migrate()
        except sqlite3.DatabaseError as error:
            self.close()
            raise StoreUnavailableError(f"cannot open {path}: {error}") from error
        except BaseException:
            self.close()
            raise

    def _check_ours(self) -> None:
        """Refuse a foreign or newer file before anything is written to it."""
        # Tables first: another process may be making the store, and gives it both mark and tables in one transaction.
        (tables,) = self._writer.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (application,) = self._writer.execute("PRAGMA application_id").fetchone()
        (version,) = self._writer.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID and tables:
            raise StoreUnavailableError(f"{self.path} is a database of another program: choose another path")
        if version > len(MIGRATIONS):
            raise StoreVersionError(
                f"{self.path} has schema version {version}, this version knows up to {len(MIGRATIONS)}: "
                "upgrade hybrid-agent-memory"
            )

    def _configure(self, connection: sqlite3.Connection) -> None:
        _to_wal(connection)
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        connection.execute("PRAGMA cache_size = -65536")  # 64 MiB: the terms of 100,000 turns stay in memory
        connection.execute("PRAGMA temp_store = MEMORY")

    def _migrate(self) -> None:
        with self.write() as connection:
            self._check_ours()  # another process may have migrated it meanwhile
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            for number, script in enumerate(MIGRATIONS[version:], version + 1):
                for statement in script.split(";"):  # executescript would commit half-way
                    if statement.strip():
                        connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")
            if version == 0:
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A transaction: committed on exit, rolled back on error."""
        with self._lock:
            self._check_open()
            connection = self._writer
            try:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
            except sqlite3.DatabaseError as error:
                raise StoreUnavailableError(f"cannot write {self.path}: {error}") from error

    def add_function(self, name: str, function: Callable[[str, str], bool]) -> None:
        """Let SELECTs call a pure function of two texts; before the first `query`."""
        self._functions[name] = function

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a SELECT, on this thread's connection."""
        reader = self._reader()
        with reader.lock:
            self._check_open()
            try:
                return reader.connection.execute(sql, parameters).fetchall()
            except sqlite3.DatabaseError as error:
                raise StoreUnavailableError(f"cannot read {self.path}: {error}") from error

    def _reader(self) -> _Reader:
        reader: _Reader | None = getattr(self._local, "reader", None)
        if reader is None:
            with self._lock:
                self._check_open()
                connection = sqlite3.connect(
                    self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
                )
                self._configure(connection)
                connection.execute("PRAGMA query_only = ON")
                for name, function in self._functions.items():
                    connection.create_function(name, 2, function, deterministic=True)
                reader = self._local.reader = _Reader(connection)
                self._readers.add(reader)
        return reader

    def owner_id(self, scope: Scope) -> int | None:
        """The number of the scope's owner; None if nothing was written for it."""
        owner = scope.owner
        known = self._owners.get(owner)
        if known is None:
            rows = self.query("SELECT id FROM owners WHERE tenant = ? AND user = ? AND agent = ?", _owner_key(owner))
            if rows:
                known = self._owners[owner] = int(rows[0][0])
        return known

    def owner_id_for_writing(self, connection: sqlite3.Connection, scope: Scope) -> int:
        """The number of the scope's owner, given out inside this transaction if it is new."""
        known = self.owner_id(scope)
        if known is not None:
            return known
        key = _owner_key(scope)
        connection.execute("INSERT OR IGNORE INTO owners(tenant, user, agent) VALUES (?, ?, ?)", key)
        row = connection.execute("SELECT id FROM owners WHERE tenant = ? AND user = ? AND agent = ?", key).fetchone()
        return int(row[0])  # not remembered here: the transaction may still roll back

    def size_bytes(self) -> int:
        """Of the file and its write-ahead log."""
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def close(self) -> None:
        """Close every connection, each after the query that runs on it; harmless when repeated."""
        with self._lock:
            self._closed = True
            for reader in list(self._readers):
                reader.close()
            self._writer.close()

    def _check_open(self) -> None:
        if self._closed:
            raise MemoryClosedError


def _to_wal(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log; SQLite does not wait by itself when another process is just doing the same."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _owner_key(scope: Scope) -> tuple[str, str, str]:
    return (scope.tenant or "", scope.user or "", scope.agent or "")


@lru_cache(maxsize=4096)
def owner_scope(tenant: str, user: str, agent: str, session: str = "") -> Scope:
    """The scope behind the stored strings."""
    return Scope(tenant=tenant or None, user=user or None, agent=agent or None, session=session or None)
