"""Vectors with pgvector: their storage, and HNSW indexes for owners with many."""

from __future__ import annotations

import logging
from time import monotonic

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats
from hybrid_memory.engines.postgres.connection import PostgresConnection

_log = logging.getLogger(__name__)

HALF_WIDTH = 4_000
"""The maximum width of vectors in a half-precision index."""

MOST_INDEXES = 100
"""The most owners with an index: the planner of every query considers each one, and every write too."""

RECHECK_SECONDS = 30
"""For this long, an owner without an index is assumed to have none, although another process may build it."""


class Approximate:
    """The HNSW indexes of a schema, one for each owner with too many vectors to search exactly.

    They hold half-precision vectors; their results are rescored exactly. A single index for all owners would visit the
    vectors of others first and find too few.

    Args:
        connection: the connection to the database.
        exact_limit: up to this many vectors of one owner are searched exactly; None always searches exactly.
    """

    def __init__(self, connection: PostgresConnection, exact_limit: int | None) -> None:
        self._db = connection
        self._limit = exact_limit
        self._known: dict[int, tuple[bool, float]] = {}

    def build(self, owner: int) -> None:
        """Build the owner's index if there are enough vectors and no index yet; may take minutes."""
        if self._limit is None or self.has(owner):
            return
        ((count, dim, indexes, may_create),) = self._db.query(_COUNTS, [owner])
        if count <= self._limit or dim > HALF_WIDTH:
            return
        if not may_create:
            _log.warning("owner %s is searched exactly: only the owner of the table may create its vector index", owner)
            return
        if indexes >= MOST_INDEXES:
            _log.info("%s owners have a vector index already: another one is searched exactly", indexes)
            return
        self._db.patiently(
            f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {_name(owner)} ON hm.vectors "
            f"USING hnsw ((vector::vec.halfvec({int(dim)})) vec.halfvec_ip_ops) WHERE owner = {int(owner)}"
        )
        self._known.pop(owner, None)

    def forget(self, *, everything: bool) -> None:
        """Forget which indexes exist and look again; drop them if everything is removed."""
        self._known.clear()
        if everything:
            for (name,) in self._db.query(_NAMES):
                self._db.patiently(f"DROP INDEX IF EXISTS hm.{name}")

    def has(self, owner: int) -> bool:
        """Whether the owner has an index."""
        if self._limit is None:
            return False
        there, since = self._known.get(owner, (False, -RECHECK_SECONDS))
        if not there and monotonic() - since >= RECHECK_SECONDS:
            there = bool(self._db.query(f"{_NAMES} AND c.relname = %s", [_name(owner)]))
            self._known[owner] = there, monotonic()
        return there


_NAMES = (
    "SELECT c.relname FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid WHERE i.indisvalid "
    "AND i.indrelid = 'hm.vectors'::regclass AND c.relname LIKE 'nearest\\_of\\_%%'"
)


_COUNTS = (
    "SELECT coalesce((SELECT vectors FROM hm.indexed WHERE owner = %s), 0), "
    f"coalesce((SELECT dim FROM hm.embedder), 0), (SELECT count(*) FROM ({_NAMES}) n), "
    "(SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'hm.vectors'::regclass)"
)


def _name(owner: int) -> str:
    return f"nearest_of_{int(owner)}"


def sum_of(stored: bytes) -> npt.NDArray[np.float64]:
    """The stored sum of an owner's vectors: 8 bytes per number."""
    return np.frombuffer(stored, dtype=np.float64)


def to_array(stored: bytes) -> Floats:
    """The vector that the server has sent in its binary form, after two numbers of 16 bits."""
    return np.frombuffer(stored, dtype=">f4", offset=4).astype(np.float32)


def to_text(vector: Floats) -> str:
    """A vector as the server reads it."""
    return f"[{','.join(map(repr, vector.tolist()))}]"
