"""Removes all traces of destroyed data from the file, page by page, in short steps alongside readers and writers.

`PRAGMA secure_delete` overwrites deleted data and freed pages, but not the copies that SQLite leaves behind when it
moves entries between pages: these remain in unused space between entries. And the write-ahead log keeps everything
until it is emptied.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

CLEANED_PAGES = 1_000
"""Pages cleaned at a time while writers wait."""

READ_BYTES = 1 << 20

MOST_PAGES = 1 << 24
"""Beyond this number of pages, a page's first byte no longer shows its type."""

LOCK_BYTE = 1 << 30
"""The offset of SQLite's lock bytes; it stores nothing in their page."""

BUSY_ATTEMPTS = 100

SMALLEST_BLOCK = 4
"""The least size of a free block, which begins with the offset of the next one and its own size."""

_HEADERS = {2: 12, 5: 12, 10: 8, 13: 8}
"""The header size of a page of entries, by its first byte."""

Connect = Callable[[], sqlite3.Connection]


class Scrubber:
    """Cleans one store file; the pages of an encrypted one cannot be cleaned from outside, so it is rewritten."""

    def __init__(self, path: Path, connect: Connect, *, encrypted: bool) -> None:
        self._path = path
        self._connect = connect
        self._encrypted = encrypted
        self._lock = threading.Lock()
        _FILES.use(self, path)

    def scrub(self) -> bool:
        """Clean the file if anything was destroyed since the last time; False if a reader prevents it."""
        with self._lock, closing(self._connect()) as connection:
            while True:
                begun, scrubbed = connection.execute("SELECT begun, scrubbed FROM erasures").fetchone()
                if begun == scrubbed:
                    return True
                if not truncate_journal(connection) or not self._clean(connection):
                    return False
                connection.execute("UPDATE erasures SET scrubbed = max(scrubbed, ?)", (begun,))

    def close(self) -> None:
        """Close the file; call it after closing all connections to it."""
        _FILES.leave(id(self))

    def _clean(self, connection: sqlite3.Connection) -> bool:
        outside = not self._encrypted and hasattr(os, "pread")
        file = PageFile.of(_FILES.opened(self)) if outside else None
        if file is None:
            if self._encrypted:  # the copy that VACUUM makes has the same key, and needs no memory in a file
                connection.execute("PRAGMA temp_store = FILE")
            connection.execute("VACUUM")
            return truncate_journal(connection)
        pages = list(file.soiled())
        # Of its own: a connection does not notice what changes beneath it while it writes itself.
        with closing(self._connect()) as cleaning:
            for first in range(0, len(pages), CLEANED_PAGES):
                if not self._clean_pages(cleaning, file, pages[first : first + CLEANED_PAGES]):
                    return False
        return not pages or truncate_journal(connection)

    def _clean_pages(self, connection: sqlite3.Connection, file: PageFile, pages: Sequence[int]) -> bool:
        """Clean these pages while nobody writes, and make every other connection reread them."""
        journal = self._path.with_name(f"{self._path.name}-wal")
        for _ in range(BUSY_ATTEMPTS):
            if not truncate_journal(connection):
                return False
            with connection:  # ends the transaction, whatever is raised wherever
                connection.execute("BEGIN IMMEDIATE")
                if journal.stat().st_size == 0:  # so all of the file is as it stands, and no checkpoint changes it
                    for page in pages:
                        file.clean(page)
                    file.flush()
                    connection.execute("UPDATE erasures SET begun = begun")  # a commit: caches of pages are dropped
                    return True
        return False


class PageFile:
    """The pages of a database file, as https://www.sqlite.org/fileformat.html describes them; sizes in bytes."""

    def __init__(self, descriptor: int, size: int, reserved: int, count: int) -> None:
        self._descriptor = descriptor
        self._size = size
        self._usable = size - reserved
        self._count = count

    @classmethod
    def of(cls, descriptor: int) -> PageFile | None:
        """The pages of the file; None if its layout is not recognized."""
        header = os.pread(descriptor, 100, 0)
        size = int.from_bytes(header[16:18])
        size = 65536 if size == 1 else size
        count = os.fstat(descriptor).st_size // size
        moves = int.from_bytes(header[52:56])  # with auto-vacuum there are pages of another kind
        return None if moves or count >= MOST_PAGES else cls(descriptor, size, header[20], count)

    def soiled(self) -> Iterator[int]:
        """Numbers of the pages, from 0, with data in unused space."""
        many = max(1, READ_BYTES // self._size)
        for first in range(0, self._count, many):
            block = os.pread(self._descriptor, many * self._size, first * self._size)
            for row in range(len(block) // self._size):
                page = block[row * self._size : (row + 1) * self._size]
                holes = self._holes(first + row, page)
                if any(page.count(0, begin, end) != end - begin for begin, end in holes):
                    yield first + row

    def clean(self, number: int) -> None:
        """Overwrite the unused space of these pages."""
        page = os.pread(self._descriptor, self._size, number * self._size)
        for begin, end in self._holes(number, page):
            if page.count(0, begin, end) != end - begin:
                os.pwrite(self._descriptor, bytes(end - begin), number * self._size + begin)

    def flush(self) -> None:
        """Make it durable."""
        os.fsync(self._descriptor)

    def _holes(self, number: int, page: bytes) -> list[tuple[int, int]]:
        """The unused space of a page: before the first entry, and in free blocks after their first four bytes."""
        at = 100 if number == 0 else 0
        width = _HEADERS.get(page[at]) if number * self._size != LOCK_BYTE else None
        if width is None:
            return []
        begin = at + width + 2 * int.from_bytes(page[at + 3 : at + 5])
        start = int.from_bytes(page[at + 5 : at + 7]) or 65536
        if not begin <= start <= self._usable:
            return []
        holes = [(begin, start)]
        block = int.from_bytes(page[at + 1 : at + 3])
        while start <= block <= self._usable - SMALLEST_BLOCK:
            following, size = int.from_bytes(page[block : block + 2]), int.from_bytes(page[block + 2 : block + 4])
            if size < SMALLEST_BLOCK or block + size > self._usable:
                return []
            holes.append((block + SMALLEST_BLOCK, block + size))
            start, block = block + size, following
        return holes


class _OpenFiles:
    """One file descriptor for each store file that is open in this process.

    On POSIX, closing a file drops all locks that the process has on it, including SQLite's. So a descriptor is closed
    only when no store of this process uses the file any more.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: dict[int, tuple[int, int]] = {}
        self._descriptors: dict[tuple[int, int], int] = {}

    def use(self, user: Scrubber, path: Path) -> None:
        status = path.stat()
        with self._lock:
            self._users[id(user)] = status.st_dev, status.st_ino
        weakref.finalize(user, self.leave, id(user)).atexit = False

    def opened(self, user: Scrubber) -> int:
        with self._lock:
            key = self._users[id(user)]
            if key not in self._descriptors:
                self._descriptors[key] = os.open(user._path, os.O_RDWR | getattr(os, "O_BINARY", 0))  # noqa: SLF001
            return self._descriptors[key]

    def leave(self, user: int) -> None:
        with self._lock:
            key = self._users.pop(user, None)
            if key is not None and key not in self._users.values() and key in self._descriptors:
                os.close(self._descriptors.pop(key))


_FILES = _OpenFiles()


def truncate_journal(connection: sqlite3.Connection) -> bool:
    """Move the write-ahead log into the file and empty it; False if a reader of an older state prevents it."""
    (milliseconds,) = connection.execute("PRAGMA busy_timeout").fetchone()
    deadline = time.monotonic() + milliseconds / 1000
    while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)  # SQLite waits for readers, but not for another process that is doing the same
    return True
