"""Opens the file: unencrypted with Python's own SQLite, or encrypted with SQLCipher."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from hybrid_memory.errors import (
    InvalidConfigError,
    MissingDependencyError,
    StoreError,
    StoreUnavailableError,
    WrongKeyError,
)
from hybrid_memory.log.port import Key

RAW_BYTES = 32
KDF_ROUNDS = 256_000  # rounds of PBKDF2-HMAC-SHA512, as in SQLCipher 4, so that its own shell can open the file
BUSY_SECONDS = 60  # seconds that a connection waits for another one's lock

_PLAIN_HEADER = b"SQLite format 3\x00"
_PAGE_BYTES = 4096


class Driver:
    """Opens connections to one file, and translates its errors.

    The key is derived from a passphrase once, not by SQLCipher at every connection, as that takes 0.2 s.

    Attributes:
        frozen: whether the file is only read.
    """

    def __init__(self, path: Path, key: Key | None) -> None:
        self.path = path
        self._module: Any = sqlite3
        if key is not None:
            try:
                self._module = import_module("sqlcipher3.dbapi2")
            except ImportError as error:
                raise MissingDependencyError("sqlcipher3", "encryption") from error
        self.encrypted, self._secret = key is not None, b"" if key is None else secret_of(key)
        self.error: type[sqlite3.DatabaseError] = self._module.DatabaseError
        self._salt = self._key = b""
        self.frozen, self._uri = False, ""

    def freeze(self) -> None:
        """Only read from now on, and create no files next to it, for folders that cannot be written."""
        wal = self.path.with_name(f"{self.path.name}-wal")
        alone = not (wal.exists() and wal.stat().st_size)  # else what stands there is read too, if SQLite can
        self.frozen, self._uri = True, f"{self.path.resolve().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"

    def renew(self) -> bool:
        """Derive the key for the file's salt, or a new salt if it is empty; False if the salt is unchanged."""
        if not self.encrypted:
            return False
        before = self._salt
        with closing(self._connection()) as connection:  # reading the file directly would drop SQLCipher's locks
            connection.execute(f"PRAGMA key = \"x'{bytes(RAW_BYTES).hex()}'\"")
            self._salt = bytes.fromhex(connection.execute("PRAGMA cipher_salt").fetchone()[0])
        if self._salt == before:
            return False
        key = self._secret
        if isinstance(key, str):
            key = hashlib.pbkdf2_hmac("sha512", key.encode("utf-8", "surrogatepass"), self._salt, KDF_ROUNDS, RAW_BYTES)
        self._key = key
        return True

    def connect(self) -> sqlite3.Connection:
        """A connection in autocommit mode that any thread may use."""
        if not self.encrypted:
            return self._connection()
        if not self._key:
            self.renew()
        connection = self._connection()
        connection.execute(f"PRAGMA key = \"x'{self._key.hex()}{self._salt.hex()}'\"")
        connection.execute("PRAGMA cipher_compatibility = 4")
        return connection

    def _connection(self) -> sqlite3.Connection:
        if not self.frozen and not self.path.exists():  # closing a file that SQLite has open would drop its locks
            # Only its user may read a new file; SQLite gives its journal the same permissions.
            with suppress(OSError):  # another process made it, or SQLite says why it cannot be made
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        connection: sqlite3.Connection = self._module.connect(
            self._uri or self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=self.frozen
        )
        if self.encrypted:
            connection.execute("PRAGMA cipher_log_level = NONE")  # we report errors; it would write them to stderr too
        return connection

    def use_wal(self, connection: sqlite3.Connection) -> None:
        """Switch to the write-ahead log; retries, as SQLite does not wait if another process is doing the same."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except self.error as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    def failure(self, doing: str, error: Exception) -> StoreError:
        if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_NOTADB:
            return StoreUnavailableError(f"cannot {doing} {self.path}: {error}")
        if self.encrypted:
            if self._salt == _PLAIN_HEADER:
                return WrongKeyError(f"cannot {doing} {self.path} with a key: it is not encrypted")
            return WrongKeyError(f"cannot {doing} {self.path} with this key: the store has another one, or is damaged")
        # SQLCipher writes whole pages; a text or an image rarely ends at the edge of one.
        if self.path.stat().st_size % _PAGE_BYTES == 0:
            return WrongKeyError(f"cannot {doing} {self.path} without a key: it is encrypted, or damaged, or no store")
        return StoreUnavailableError(f"cannot {doing} {self.path}: {error}")


def secret_of(key: Key) -> str | bytes:
    """The passphrase or the 32 bytes; raises `InvalidConfigError` for anything else."""
    secret: object = key() if callable(key) else key
    if isinstance(secret, str) and secret:
        return secret
    if isinstance(secret, bytes) and len(secret) == RAW_BYTES:
        return secret
    got = f"{type(secret).__name__} of length {len(secret)}" if isinstance(secret, str | bytes) else repr(type(secret))
    raise InvalidConfigError(f"the key must be a passphrase (str) or {RAW_BYTES} bytes, got {got}")
