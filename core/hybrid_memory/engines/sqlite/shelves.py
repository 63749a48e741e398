"""What of an owner's records is kept in memory: vectors and places, copies that follow the file."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from pathlib import Path

import numpy as np

from hybrid_memory.engines.sqlite.database import Database
from hybrid_memory.engines.sqlite.faiss import VectorShelf
from hybrid_memory.engines.sqlite.places import PlaceTable
from hybrid_memory.errors import MemoryClosedError, StoreError, StoreUnavailableError

SHELVED_RECORDS = 1_000_000
"""Records kept in memory over all owners (1.6 GB at 384 dimensions); the owners used longest ago are put away."""

_log = logging.getLogger(__name__)


class Shelves:
    """The vectors and places of the owners used last.

    Args:
        database: the file.
        exact_limit: see `VectorShelf`.
    """

    def __init__(self, database: Database, *, exact_limit: int) -> None:
        self._db = database
        self._exact_limit = exact_limit
        self._folder = Path(f"{database.path}.faiss")
        self._vectors: dict[int, VectorShelf] = {}
        self._places: OrderedDict[int, PlaceTable] = OrderedDict()
        self._lock = threading.Lock()

    def places(self, owner: int) -> PlaceTable:
        """Where the owner's records stand, up to date."""
        revision, _, _ = self._state(owner)
        with self._lock:
            table = self._places.setdefault(owner, PlaceTable(self._db, owner))
            self._places.move_to_end(owner)
            unused = []
            while len(self._places) > 1 and sum(map(len, self._places.values())) > SHELVED_RECORDS:
                last, _ = self._places.popitem(last=False)
                unused.append((last, self._vectors.pop(last, None)))
        for last, shelf in unused:
            self._put_away(last, shelf)
        table.catch_up(revision)
        return table

    def vectors(self, owner: int) -> VectorShelf | None:
        """The owner's vectors, up to date; None before the first vector of the store."""
        revision, dim, upto = self._state(owner)
        if not dim:
            return None
        with self._lock:
            shelf = self._vectors.get(owner)
            if shelf is None or shelf.dim != dim:
                shelf = self._vectors[owner] = self._opened(owner, dim)
        with shelf.lock:
            if shelf.revision != revision:
                shelf.clear(revision)
            if shelf.upto < upto:
                self._fill(owner, shelf)
        return shelf

    def settle(self, owner: int) -> None:
        """Train an approximate index where the owner has many new vectors, and save it beside the file."""
        ((count,),) = self._db.query("SELECT count(*) FROM vectors WHERE owner = ?", (owner,))
        shelf = self.vectors(owner) if count > self._exact_limit else None
        if shelf is not None and shelf.overgrown:
            shelf.train()
            self._put_away(owner, shelf)

    def remove_files(self) -> None:
        """Remove what is saved, inside a transaction that deletes records: their vectors stand there too.

        Raises:
            StoreUnavailableError: a file cannot be removed.
        """
        try:
            for file in self._folder.glob("owner-*"):
                file.unlink(missing_ok=True)
        except OSError as error:
            raise StoreUnavailableError(f"cannot remove the vectors of deleted records: {error}") from error

    def close(self) -> None:
        """Save the approximate indexes that have grown, and forget everything."""
        with self._lock:
            shelves = list(self._vectors.items())
            self._vectors.clear()
            self._places.clear()
        for owner, shelf in shelves:
            self._put_away(owner, shelf)

    def _state(self, owner: int) -> tuple[int, int, int]:
        """Revision of the records, width of the vectors (0: none yet), and the owner's last vector."""
        ((revision, dim, upto),) = self._db.query(
            "SELECT r.number, e.dim, (SELECT max(seq) FROM vectors WHERE owner = ?) "
            "FROM revision r LEFT JOIN embedder e ON e.one = r.one",
            (owner,),
        )
        return revision, dim or 0, upto or 0

    def _opened(self, owner: int, dim: int) -> VectorShelf:
        """The shelf from its file if that was made from this store, else an empty one."""
        shelf = None
        if not self._db.encrypted:
            shelf = VectorShelf.load(self._file(owner), dim, exact_limit=self._exact_limit)
        if shelf is not None:
            # The store may have been restored from a backup: the last vector on the shelf must be the store's.
            rows = self._db.query(
                "SELECT e.vector FROM vectors v JOIN embeddings e ON e.id = v.embedding "
                "WHERE v.owner = ? AND v.seq = ?",
                (owner, shelf.upto),
            )
            if rows and np.array_equal(np.frombuffer(rows[0][0], dtype=np.float32), shelf.last()):
                return shelf
        return VectorShelf(dim, exact_limit=self._exact_limit)

    def _fill(self, owner: int, shelf: VectorShelf) -> None:
        rows = self._db.query(
            "SELECT v.seq, v.record, e.vector FROM vectors v JOIN embeddings e ON e.id = v.embedding "
            "WHERE v.owner = ? AND v.seq > ? ORDER BY v.seq",
            (owner, shelf.upto),
        )
        if rows:
            vectors = np.frombuffer(b"".join(row[2] for row in rows), dtype=np.float32).reshape(len(rows), shelf.dim)
            shelf.add(np.array([row[1] for row in rows], dtype=np.int64), vectors)
            shelf.upto = rows[-1][0]

    def _put_away(self, owner: int, shelf: VectorShelf | None) -> None:
        """Save a shelf that is worth it; never beside an encrypted file, which it would give away."""
        if shelf is None or not shelf.approximate or not shelf.grown or self._db.encrypted:
            return
        try:
            with self._db.write() as connection:  # nobody deletes meanwhile, so no deleted vector is saved again
                if connection.execute("SELECT number FROM revision").fetchone() == (shelf.revision,):
                    shelf.save(self._file(owner))
        except (OSError, StoreError) as error:
            _log.warning("cannot save the vector index: %s; it will be made again from %s", error, self._db.path)
        except MemoryClosedError:
            return

    def _file(self, owner: int) -> Path:
        return self._folder / f"owner-{owner}.npz"
