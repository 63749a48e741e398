"""One SQLite file: opening, a single writer, and a read connection for every thread."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from hybrid_memory.engines.sql import EVERYBODY, OWNER, RECORDS, Row, SqlDatabase, Statement
from hybrid_memory.engines.sqlite.driver import BUSY_SECONDS, Driver
from hybrid_memory.engines.stored import owner_key
from hybrid_memory.errors import OutdatedError, StoreError, StoreUnavailableError, StoreVersionError, WrongKeyError
from hybrid_memory.log.port import Key
from hybrid_memory.scope import Scope

OPENING_SECONDS = 1  # seconds that opening waits for other processes before it leaves scrubbing to the next scrub
OPENINGS = 3  # how often to try opening a new file that others create at the same time
SMALLEST_BYTES = 512  # the least size of a database; SQLite would consider a smaller file empty and overwrite it

MAPPED_BYTES = 1 << 30
"""How much of the file readers map: if many owners take turns, a search reads 40 pages that are not cached yet."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


class _Reader:
    """A thread's connection, closed with the thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.lock = threading.Lock()  # SQLite crashes if a connection is closed under a running query

    def close(self) -> None:
        with self.lock:
            self.connection.close()

    def __del__(self) -> None:
        self.connection.close()


class Database(SqlDatabase):
    """A store file, shared by log and index.

    Every thread reads on its own connection. Writes go through one connection and one lock, so that threads queue here
    and only processes compete for SQLite's lock.

    Args:
        path: the file, created if missing.
        power_safe: fsync at every commit, so that acknowledged writes survive a power failure; without it they survive
            only a crash of the process.
        key: encrypts the whole file: a passphrase, a key of 32 bytes, or a function that returns one of them.
        read_only: nothing is written, so that a read-only file is sufficient.

    Raises:
        StoreUnavailableError: the path cannot be opened or written, or is not a store.
        StoreVersionError: another version of this library wrote it.
        WrongKeyError: the key is wrong, missing, or given for a file without one.
        InvalidConfigError: the key is empty, or has the wrong number of bytes.
        MissingDependencyError: a key was given, and SQLCipher is not installed.
    """

    among = "IN (SELECT value FROM json_each(?))"
    rows = "SELECT value AS {name} FROM json_each(?)"
    each = "CROSS JOIN {table} {name} ON {condition}"  # SQLite changes the order of other joins

    def __init__(self, path: Path, *, power_safe: bool = True, key: Key | None = None, read_only: bool = False) -> None:
        super().__init__(array=json.dumps)
        self.path = path
        self._synchronous = "FULL" if power_safe else "NORMAL"
        self._lock = threading.RLock()
        self._registry = threading.Lock()
        self._readers: weakref.WeakSet[_Reader] = weakref.WeakSet()
        self._local = threading.local()
        self._scrubbing = threading.Lock()
        self._driver = Driver(path, key)
        try:
            self._writer = self._opened()
        except StoreUnavailableError:
            if not (read_only and self.path.is_file()):
                raise
            self._driver.freeze()
            self._writer = self._opened()
        if not self._driver.frozen:
            # The scrubbing that a killed process left undone, unless other processes block it for long.
            try:
                self.scrub(OPENING_SECONDS)
            except StoreError as error:
                _log.warning("%s; this is retried when the store is next opened", error)

    def _opened(self) -> sqlite3.Connection:
        for _ in range(OPENINGS):
            try:
                return self._tried()
            except WrongKeyError:
                if not self._driver.renew():  # else another process has just made the file, with a salt of its own
                    raise
        return self._tried()

    def _tried(self) -> sqlite3.Connection:
        try:
            if not self.path.parent.is_dir():
                raise StoreUnavailableError(f"cannot open {self.path}: the folder {self.path.parent} does not exist")
            if self.path.is_file() and 0 < self.path.stat().st_size < SMALLEST_BYTES:
                raise StoreUnavailableError(f"cannot open {self.path}: it is not a store, choose another path")
            connection = self._driver.connect()
        except (OSError, self._driver.error) as error:
            raise StoreUnavailableError(f"cannot open {self.path}: {error}") from error
        try:
            self._check_ours(connection)
            self._configure(connection)
            if not self._driver.frozen:
                _transaction(connection, self._create)
        except BaseException as error:
            connection.close()
            if isinstance(error, self._driver.error):
                raise self._driver.failure("open", error) from error
            raise
        return connection

    def _check_ours(self, connection: sqlite3.Connection) -> None:
        """Reject a foreign file, or one of another version, before writing anything to it."""
        # Tables first: another process may be making the store, and gives it both mark and tables in one transaction.
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID and tables:
            raise StoreUnavailableError(f"{self.path} is a database of another program: choose another path")
        if version not in (0, VERSION) or (self._driver.frozen and not version):
            raise StoreVersionError(self.path, version, VERSION)

    def _configure(self, connection: sqlite3.Connection) -> None:
        if not self._driver.frozen:
            self._driver.use_wal(connection)
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        connection.execute("PRAGMA cache_size = -65536")  # 64 MiB
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA secure_delete = ON")

    def _create(self, connection: sqlite3.Connection, _: int) -> None:
        """Make the tables, unless they are there."""
        self._check_ours(connection)  # another process may have made them meanwhile
        if connection.execute("PRAGMA user_version").fetchone() == (VERSION,):
            return
        for statement in SCHEMA.split(";"):  # executescript would commit half-way
            if statement.strip():
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def write(self, work: Callable[[sqlite3.Connection, int], T]) -> T:
        with self._lock:
            self.check_open()
            try:
                return _transaction(self._writer, work)
            except self._driver.error as error:
                raise self._driver.failure("write", error) from error

    attempt = write

    def write_for(self, owner: Scope, work: Callable[[sqlite3.Connection, int, int], T], *, alone: bool = True) -> T:
        return self.write(lambda run, tried: work(run, self.owner_id_for_writing(run, owner), tried))

    def queries(self, statements: Sequence[Statement], *, owner: int = EVERYBODY) -> list[list[Row]]:
        return [self.query(statement, values) for statement, values in statements]

    @staticmethod
    def expect(run: sqlite3.Connection, statement: Statement) -> None:
        if not run.execute(*statement).fetchall():
            raise OutdatedError

    def query(self, statement: str, values: Sequence[Any] = (), *, owner: int = EVERYBODY) -> list[Row]:
        reader: _Reader | None = getattr(self._local, "reader", None)
        if reader is None:
            with self._registry:
                self.check_open()
                try:
                    connection = self._driver.connect()
                    self._configure(connection)
                    connection.execute("PRAGMA query_only = ON")
                    if not self._driver.encrypted:
                        connection.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")
                except self._driver.error as error:
                    raise self._driver.failure("open", error) from error
                reader = self._local.reader = _Reader(connection)
                self._readers.add(reader)
        with reader.lock:
            self.check_open()
            try:
                return reader.connection.execute(statement, values).fetchall()
            except self._driver.error as error:
                raise self._driver.failure("read", error) from error

    def owner_id_for_writing(self, run: sqlite3.Connection, scope: Scope) -> int:
        """The number of the scope's owner; assigns one inside this transaction if it is new."""
        known, key = self.owner_id(scope), owner_key(scope)
        if known is None:
            run.execute("INSERT OR IGNORE INTO owners(tenant, user, agent, space) VALUES (?, ?, ?, ?)", key)
            ((known,),) = run.execute(OWNER, key).fetchall()  # not remembered: the transaction may still roll back
        return int(known)

    def destroying(self, run: sqlite3.Connection) -> None:
        run.execute("UPDATE erasures SET begun = begun + 1")

    def scrub(self, patience: int = BUSY_SECONDS) -> None:
        """Remove all erased data from the file and its write-ahead log, by rewriting the file.

        `PRAGMA secure_delete` overwrites deleted data and freed pages, but not the copies that SQLite leaves behind
        when it moves entries between pages. And the write-ahead log keeps everything until it is emptied.
        """
        self.check_open()
        try:
            with self._scrubbing, closing(self._driver.connect()) as connection:
                self._configure(connection)
                connection.execute("PRAGMA temp_store = FILE")  # a copy of the file, which need not fit into memory
                connection.execute(f"PRAGMA busy_timeout = {1000 * patience}")
                begun, scrubbed = connection.execute("SELECT begun, scrubbed FROM erasures").fetchone()
                if begun == scrubbed:
                    return
                connection.execute("VACUUM")
                if truncate_journal(connection):
                    connection.execute("UPDATE erasures SET scrubbed = max(scrubbed, ?)", (begun,))
                    return
        except self._driver.error as error:
            raise self._driver.failure("clean up", error) from error
        except OSError as error:
            raise StoreUnavailableError(f"cannot clean up {self.path}: {error}") from error
        raise StoreUnavailableError(
            f"cannot clean up {self.path}, as another process is reading it: erased data may remain in "
            "its write-ahead log; try again"
        )

    def size_bytes(self) -> int:
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def close(self) -> None:
        with self._lock, self._registry:
            self._closed = True
            for reader in list(self._readers):
                reader.close()
            self._writer.close()


def _transaction(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection, int], T]) -> T:
    # An interrupt may come after any call, and the ``except`` of a generator or an ``__exit__`` written in Python may
    # then never run. That of a connection is C code: it commits or rolls back, whatever was raised wherever.
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        return work(connection, 0)


def truncate_journal(connection: sqlite3.Connection) -> bool:
    """Move the write-ahead log into the file and empty it; False if a reader of an older state prevents it."""
    (milliseconds,) = connection.execute("PRAGMA busy_timeout").fetchone()
    deadline = time.monotonic() + milliseconds / 1000
    while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)  # SQLite waits for readers, but not for another process that is doing the same
    return True


APPLICATION_ID = 0x48414D31
"""Identifies the file ("HAM1"), so that another program's database is not taken for a memory."""

VERSION = 15  # a store of another version is refused: whoever changes the schema raises it

SCHEMA = """
    -- Empty strings stand for absent scope parts, because UNIQUE treats NULLs as different.
    CREATE TABLE owners(
        id INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL, user TEXT NOT NULL, agent TEXT NOT NULL, space TEXT NOT NULL,
        UNIQUE(tenant, user, agent, space)
    );
    CREATE TABLE events(
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL,
        owner INTEGER NOT NULL REFERENCES owners(id),
        session TEXT NOT NULL,
        kind TEXT NOT NULL,
        at INTEGER NOT NULL,
        payload TEXT NOT NULL,
        sources TEXT NOT NULL,
        author TEXT NOT NULL DEFAULT '',
        UNIQUE(owner, session, id)
    );
    CREATE INDEX events_of_owner ON events(owner, position);
    CREATE INDEX events_of_session ON events(owner, session, position);
    CREATE INDEX events_of_kind ON events(owner, session, kind, position) WHERE kind <> 'message';
    CREATE INDEX events_of_owner_kind ON events(owner, kind, position) WHERE kind <> 'message';
    CREATE INDEX events_of_id ON events(owner, id);

    -- Which ids stood in the log before their events went to the archive, and a digest of what they said.
    CREATE TABLE dropped(
        owner INTEGER NOT NULL REFERENCES owners(id),
        session TEXT NOT NULL,
        id TEXT NOT NULL,
        position INTEGER NOT NULL,
        kind TEXT NOT NULL,
        digest BLOB NOT NULL,
        PRIMARY KEY(owner, session, id)
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX dropped_positions ON dropped(owner, position);

    -- What erasing has to finish after a crash.
    CREATE TABLE erasures(one INTEGER PRIMARY KEY CHECK (one = 1), begun INTEGER NOT NULL, scrubbed INTEGER NOT NULL);
    INSERT INTO erasures VALUES (1, 0, 0);

    -- The anchor says which event stood at the applied position, so that an index notices that its log was set back.
    CREATE TABLE indexed(
        owner INTEGER PRIMARY KEY REFERENCES owners(id),
        applied INTEGER NOT NULL DEFAULT 0, anchor TEXT NOT NULL DEFAULT '',
        number INTEGER NOT NULL DEFAULT 0, epoch INTEGER NOT NULL
    );
    CREATE TABLE vectors(record INTEGER PRIMARY KEY REFERENCES records(id), key BLOB NOT NULL, vector BLOB NOT NULL);
    CREATE INDEX vectors_by_key ON vectors(key);
    CREATE TABLE gone(owner INTEGER, number INTEGER, id INTEGER, PRIMARY KEY(owner, number, id)) WITHOUT ROWID;
"""
SCHEMA += RECORDS.format(number="INTEGER", text="TEXT").replace("main.", "")
