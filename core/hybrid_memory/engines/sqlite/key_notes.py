"""Key notes: they let either key open a store while its key is being changed."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from hybrid_memory.engines.sqlite.driver import Driver
from hybrid_memory.errors import StoreUnavailableError


class KeyNotes:
    """Two small encrypted files next to a store's: each opens with one of two keys, and contains the other.

    They exist from before the first of several files gets its new key until the last one has it. After a crash, the key
    that opens the store becomes the key of all its files. The process that changes the key keeps them locked.

    Attributes:
        ours: whether this object wrote them.
    """

    def __init__(self, path: Path) -> None:
        self._files = [path.with_name(f"{path.name}-key-{number}") for number in (1, 2)]
        self._held: list[sqlite3.Connection] = []
        self.ours = False

    def write(self, old: str | bytes, new: str | bytes) -> None:
        """Write both notes, durable on return, and keep them locked.

        Raises:
            StoreUnavailableError: they cannot be written, or already exist.
        """
        for file in self._files:
            if file.exists() and file.stat().st_size:
                raise StoreUnavailableError(f"the key of {file.parent} changed or is changing: open the store again")
        self.ours = True
        for file, key, other in zip(self._files, (old, new), (new, old), strict=True):
            driver = Driver(file, key)
            try:
                connection = driver.connect()
                self._held.append(connection)
                connection.execute("PRAGMA synchronous = EXTRA")
                connection.execute("CREATE TABLE note(other)")
                connection.execute("INSERT INTO note VALUES (?)", (other,))
                connection.execute("BEGIN EXCLUSIVE")
            except driver.error as error:
                raise StoreUnavailableError(f"cannot write {file}: {error}") from error

    def other(self, key: str | bytes) -> str | bytes | None:
        """The other key; None if there is no note for this one.

        Raises:
            StoreUnavailableError: another process is still changing the key.
        """
        for file in self._files:
            if not (file.exists() and file.stat().st_size):
                continue
            driver = Driver(file, key)
            try:
                connection = driver.connect()
                try:
                    (found,) = connection.execute("SELECT other FROM note").fetchone()
                finally:
                    connection.close()
            except driver.error as error:
                if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
                    raise StoreUnavailableError(f"the key of {file.parent} is being changed") from error
            except TypeError:  # no row: it was not finished, and no file was changed
                continue
            else:
                return found if isinstance(found, str | bytes) else None
        return None

    def release(self) -> None:
        """Unlock them, so that others can finish the change."""
        while self._held:
            with suppress(sqlite3.Error):
                self._held.pop().close()

    def remove(self) -> None:
        """Overwrite and delete them: knowing one key must not reveal the other."""
        for file in self._files:
            if file.exists():
                size = file.stat().st_size
                with file.open("r+b") as content:
                    content.write(bytes(size))
                    content.flush()
                    os.fsync(content.fileno())
                file.unlink(missing_ok=True)
            file.with_name(f"{file.name}-journal").unlink(missing_ok=True)
        self.release()
        self.ours = False

    def left(self) -> bool:
        """Whether they exist and nobody uses them."""
        return any(file.exists() for file in self._files) and not self._held and not self._locked()

    def _locked(self) -> bool:
        for file in self._files:
            if file.exists() and file.stat().st_size:
                connection = sqlite3.connect(file, timeout=0)
                try:
                    connection.execute("SELECT 1 FROM sqlite_master").fetchone()
                except sqlite3.DatabaseError as error:
                    if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                        return True
                finally:
                    connection.close()
        return False
