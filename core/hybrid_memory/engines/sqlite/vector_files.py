"""An owner's quantized vectors in a file next to the store; a token ties the file to the store's state."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.engines.sqlite.database import Database
from hybrid_memory.engines.sqlite.quantized import (
    TOKEN_BYTES,
    TRAINED_ON,
    Block,
    Grouping,
    Mask,
    Part,
    QuantizedVectors,
    file_block,
    lists_for,
    memory_block,
    opened,
    quantized,
)
from hybrid_memory.engines.sqlite.rows import REVISION
from hybrid_memory.engines.sqlite.vector_cache import VectorCache
from hybrid_memory.errors import MemoryClosedError, StoreError, StoreUnavailableError

READ_AT_ONCE = 10_000
"""Vectors read from the store in one step."""

SUFFIX = ".vectors"

STALE = (
    "SELECT 0, c.record, NULL FROM changes c WHERE c.owner = ? AND c.seq > ? "
    "AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.record = c.record AND v.seq <= ?)"
)
"""Records whose included vectors differ from the store's since a given change."""

_NEW = (
    "SELECT * FROM (SELECT v.seq, v.record, e.vector FROM vectors v JOIN embeddings e ON e.id = v.embedding "
    "WHERE v.owner = ? AND v.seq > ? AND v.seq <= ? ORDER BY v.seq LIMIT ?)"
)

LAST = 2**62

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class State:
    """The state of an owner's records in the store.

    Attributes:
        revision: changes when all cached copies must be rebuilt.
        dim: the width of the vectors; 0 if there are none yet.
        upto, seen: the number of the last vector, and of the last change.
        token: the token of the file with the owner's quantized vectors; empty if there is none.
    """

    revision: int
    dim: int
    upto: int
    seen: int
    token: bytes


class VectorFiles:
    """The files of owners with many vectors; none for an encrypted store, as they are not encrypted."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._folder = Path(f"{database.path}.faiss")
        if not database.frozen:
            try:
                self.clean()
            except StoreError as error:
                _log.warning("%s; this is retried when the store is next opened", error)

    def state(self, owner: int) -> State:
        ((revision, dim, upto, seen, token),) = self._db.query(
            f"SELECT {REVISION}, e.dim, (SELECT max(seq) FROM vectors WHERE owner = ?), "
            "(SELECT max(seq) FROM changes WHERE owner = ?), (SELECT token FROM vector_files WHERE owner = ?) "
            "FROM revision o LEFT JOIN embedder e ON e.one = o.one",
            (owner,) * 4,
        )
        return State(revision, dim or 0, upto or 0, seen or 0, token or b"")

    def opened(self, owner: int, state: State) -> QuantizedVectors | None:
        """The saved vectors; None without any, or if the file is damaged or of another state of the store."""
        if not state.token or self._db.encrypted:
            return None
        path = self._file(owner)
        try:
            found = opened(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            _log.warning("the vectors in %s are damaged (%s): they are rebuilt from the store", path, error)
            return None
        same = (found.token.tobytes(), found.dim, found.revision) == (state.token, state.dim, state.revision)
        return found if same else None

    def made(
        self, owner: int, state: State, known: QuantizedVectors | None, count: int, *, retrained: bool
    ) -> QuantizedVectors | None:
        """All vectors of the owner, saved if possible; None if all of them were deleted in the meantime.

        Those already known are not read again; ``retrained``: the lists are learned again.
        """
        sources = self._parts(owner, state, known, keep_lists=not retrained)
        if retrained or known is None:
            step = max(1, count // min(count, TRAINED_ON * lists_for(count)))
            sampled = [vectors[::step] for _, vectors, _ in sources()]
            sample = np.concatenate(sampled or [np.empty((0, 0), dtype=np.float32)])
            if not len(sample):
                return None
            grouping = Grouping.learned(sample, count, lists_for(count))
        else:
            grouping = Grouping.of(known)
        residue = 0.0 if known is None else known.residue()

        def make(new_block: Callable[[int], Block]) -> QuantizedVectors | None:
            made = quantized(grouping, sources, new_block)
            if made is not None:
                made.total[:] += residue
                made.mark(state.revision, state.upto, state.seen, bytes(TOKEN_BYTES))
            return made

        if not self._db.encrypted:
            try:
                return self._saved(owner, make)
            except (OSError, StoreError) as error:
                _log.warning("cannot save the vector index: %s; it is kept in memory", error)
            except MemoryClosedError:
                return None
        return make(memory_block)

    def gathered(self, owner: int, state: State) -> QuantizedVectors | None:
        """All vectors of the owner in a single in-memory list, which takes a tenth of the time."""
        parts = self._parts(owner, state, None, keep_lists=True)
        first = next(parts(), None)
        made = None if first is None else quantized(Grouping.learned(first[1], len(first[1]), 1), parts, memory_block)
        if made is not None:
            made.mark(state.revision, state.upto, state.seen, bytes(TOKEN_BYTES))
        return made

    def catch_up(self, owner: int, cache: VectorCache, state: State) -> None:
        """Update a cache to the store's state."""
        # One statement, and so one state of the store. What it takes of a later one than was asked for does no harm:
        # a change that comes again finds the vector that came after it.
        rows = self._db.query(
            f"{STALE} UNION ALL {_NEW}",
            (owner, cache.seen, cache.upto, owner, cache.upto, LAST, -1),
        )
        gone = [record for seq, record, vector in rows if vector is None]
        new = sorted(row for row in rows if row[2] is not None)
        with cache.lock:
            cache.remove(np.array(gone, dtype=np.int64))
            if new:
                cache.add(np.array([row[1] for row in new], dtype=np.int64), _rows(new, cache.dim))
                cache.upto = new[-1][0]
            cache.upto, cache.seen = max(cache.upto, state.upto), state.seen

    def stored(self, owner: int, dim: int, ids: Ids) -> tuple[Ids, Floats]:
        """Those of these records that belong to the owner and have a vector, with the vectors."""
        rows = self._db.query(
            "SELECT v.seq, v.record, e.vector FROM json_each(?) j CROSS JOIN vectors v ON v.record = j.value "
            "JOIN embeddings e ON e.id = v.embedding WHERE +v.owner = ?",
            (json.dumps(ids.tolist()), owner),
        )
        return np.array([row[1] for row in rows], dtype=np.int64), _rows(rows, dim)

    def clean(self) -> None:
        """Overwrite deleted vectors in the files, and remove files that do not belong to this store."""
        if self._db.encrypted or not self._folder.is_dir():
            return
        changed = self._db.query(
            "SELECT 1 FROM vector_files f WHERE seen < (SELECT max(seq) FROM changes c WHERE c.owner = f.owner) LIMIT 1"
        )

        def cleaned(connection: sqlite3.Connection) -> None:
            files = connection.execute("SELECT owner, token, seen FROM vector_files").fetchall()
            left = {self._file(owner) for owner, token, seen in files if self._cleaned(connection, owner, token, seen)}
            for file in self._folder.glob("owner-*"):
                if file not in left:
                    file.unlink(missing_ok=True)

        owners = {f"owner-{owner}{SUFFIX}" for (owner,) in self._db.query("SELECT owner FROM vector_files")}
        try:
            if changed or any(file.name not in owners for file in self._folder.iterdir()):
                self._db.write(cleaned)
        except OSError as error:
            raise StoreUnavailableError(f"cannot remove the vectors of deleted records: {error}") from error

    def remove(self) -> None:
        """Remove all files."""
        try:
            for file in self._folder.glob("owner-*"):
                file.unlink(missing_ok=True)
        except OSError as error:
            raise StoreUnavailableError(f"cannot remove the vectors of deleted records: {error}") from error

    def _cleaned(self, connection: sqlite3.Connection, owner: int, token: bytes, seen: int) -> bool:
        """Whether the file remains, without anything that the store no longer has."""
        (last,) = connection.execute("SELECT ifnull(max(seq), 0) FROM changes WHERE owner = ?", (owner,)).fetchone()
        (revision,) = connection.execute(f"SELECT {REVISION}", (owner,)).fetchone()
        try:
            file = opened(self._file(owner), writable=last > seen)
        except (FileNotFoundError, ValueError):
            file = None
        if file is not None and (file.token.tobytes(), file.revision) == (token, revision):
            if last <= seen:
                return True
            _forget_stale(connection, owner, file)
            if not file.gone.all():
                _note(connection, owner, file, last)
                return True
        connection.execute("DELETE FROM vector_files WHERE owner = ?", (owner,))
        return False

    def _saved(
        self, owner: int, make: Callable[[Callable[[int], Block]], QuantizedVectors | None]
    ) -> QuantizedVectors | None:
        temporary = self._file(owner).with_suffix(f".{os.getpid()}.tmp")
        try:
            if (made := make(partial(file_block, temporary))) is None:
                return None
            made.flush()

            def adopted(connection: sqlite3.Connection) -> QuantizedVectors | None:
                # Without what was deleted since the file was started; nobody deletes in the meantime.
                if connection.execute(f"SELECT {REVISION}", (owner,)).fetchone() != (made.revision,):
                    return None
                _forget_stale(connection, owner, made)
                seen = "SELECT ifnull(max(seq), 0) FROM changes WHERE owner = ?"
                _note(connection, owner, made, connection.execute(seen, (owner,)).fetchone()[0])
                temporary.replace(self._file(owner))
                return opened(self._file(owner))

            return self._db.write(adopted)
        finally:
            temporary.unlink(missing_ok=True)

    def _parts(
        self, owner: int, state: State, known: QuantizedVectors | None, *, keep_lists: bool
    ) -> Callable[[], Iterator[Part]]:
        gone: Mask = np.zeros(0, dtype=np.bool_)
        if known is not None:
            gone = np.array(known.gone)
            stale = [record for _, record, _ in self._db.query(STALE, (owner, known.seen, known.upto))]
            gone[known.rows(np.array(stale, dtype=np.int64))] = True

        def parts() -> Iterator[Part]:
            after = 0
            if known is not None:
                after = known.upto
                for ids, vectors, lists in known.parts(gone):
                    yield ids, vectors, lists if keep_lists else None
            while rows := self._db.query(_NEW, (owner, after, state.upto, READ_AT_ONCE)):
                after = rows[-1][0]
                yield np.array([row[1] for row in rows], dtype=np.int64), _rows(rows, state.dim), None

        return parts

    def _file(self, owner: int) -> Path:
        return self._folder / f"owner-{owner}{SUFFIX}"


def _forget_stale(connection: sqlite3.Connection, owner: int, file: QuantizedVectors) -> None:
    """Overwrite vectors that the store no longer has."""
    stale = [record for _, record, _ in connection.execute(STALE, (owner, file.seen, file.upto)).fetchall()]
    file.erase(file.rows(np.array(stale, dtype=np.int64)))


def _note(connection: sqlite3.Connection, owner: int, file: QuantizedVectors, seen: int) -> None:
    """Give the file a new token, which a store restored to an older state does not know."""
    token = os.urandom(TOKEN_BYTES)
    file.mark(file.revision, file.upto, seen, token)
    file.flush()
    connection.execute("INSERT OR REPLACE INTO vector_files(owner, token, seen) VALUES (?, ?, ?)", (owner, token, seen))


def _rows(rows: Sequence[tuple[int, int, bytes]], dim: int) -> Floats:
    return np.frombuffer(b"".join(row[2] for row in rows), dtype=np.float32).reshape(len(rows), dim)
