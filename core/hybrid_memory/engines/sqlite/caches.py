"""In-memory caches of the owners' vectors and columns, within a memory limit."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from hybrid_memory.arrays import Ids
from hybrid_memory.engines.sqlite.database import Database
from hybrid_memory.engines.sqlite.quantized import QuantizedVectors
from hybrid_memory.engines.sqlite.record_cache import RecordCache, stored_columns
from hybrid_memory.engines.sqlite.vector_cache import VectorCache
from hybrid_memory.engines.sqlite.vector_files import State, VectorFiles
from hybrid_memory.index.port import RecordColumns
from hybrid_memory.index.record import Where

CACHE_BYTES = 512 << 20

LARGE = 20_000
"""The columns of an owner with more records are read on demand: 1 ms, where caching them takes 3 us per record."""

GROWN = 16
"""Vectors are quantized again when one in this many is new."""

RETRAINED = 4
"""Lists are learned again when the number of vectors has grown by this factor."""


@dataclass(slots=True, eq=False)
class _Kept:
    """The caches of one owner."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    records: RecordCache | None = None
    vectors: VectorCache | None = None
    large: bool | None = None
    nbytes: int = 0

    def weigh(self) -> int:
        """By how many bytes it has grown since last asked."""
        before = self.nbytes
        self.nbytes = sum(one.nbytes for one in (self.records, self.vectors) if one is not None)
        return self.nbytes - before


class OwnerCaches:
    """The cached vectors and columns of the most recently used owners.

    Args:
        exact_limit: see `SqliteIndex`.
        most_bytes: the memory limit for all owners together; a single owner may exceed it while no other is cached.
    """

    def __init__(self, database: Database, *, exact_limit: int, most_bytes: int = CACHE_BYTES) -> None:
        self._db = database
        self._exact_limit = exact_limit
        self._most_bytes = most_bytes
        self._files = VectorFiles(database)
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._nbytes = 0
        self._lock = threading.Lock()
        self._training = threading.Lock()
        database.clean_before_scrubbing(self._files.clean)

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use."""
        return self._nbytes

    def records(self, owner: int) -> RecordCache:
        """The columns of all of the owner's records."""
        state = self._files.state(owner)
        with self._lock:
            kept = self._used(owner)
            if kept.records is None:
                kept.records = RecordCache(self._db, owner)
            cache = kept.records
        try:
            cache.catch_up(state.revision, state.seen)
        except BaseException:
            kept.records = None  # which may be half of something
            raise
        self._weigh(owner, kept)
        return cache

    def columns(
        self, owner: int, ids: Ids, radius: int, where: Where, having: Callable[[], Ids | None]
    ) -> RecordColumns:
        """See `SemanticIndex.columns`; ``having`` finds the records with the metadata."""
        with self._lock:
            kept = self._used(owner)
        if kept.large is None:
            asked = "SELECT 1 FROM records WHERE owner = ? ORDER BY id LIMIT 1 OFFSET ?"
            kept.large = bool(self._db.query(asked, (owner, LARGE)))
        if kept.large:
            return stored_columns(self._db, owner, ids, radius, where)
        return self.records(owner).around(ids, radius, where, having())

    def vectors(self, owner: int) -> VectorCache | None:
        """The owner's vectors; None before the store has any."""
        state = self._files.state(owner)
        if not state.dim:
            return None
        with self._lock:
            kept = self._used(owner)
        with kept.lock:
            cache = kept.vectors
            if cache is None or (cache.dim, cache.token, cache.revision) != (state.dim, state.token, state.revision):
                cache = kept.vectors = self._cache(owner, state, self._files.opened(owner, state))
            if self._many(owner, cache, state):
                cache = kept.vectors = self._cache(owner, state, self._files.gathered(owner, state))
            try:
                if cache.upto < state.upto or cache.seen < state.seen:
                    self._files.catch_up(owner, cache, state)
            except BaseException:
                kept.vectors = None  # which may be half of something
                raise
        self._weigh(owner, kept)
        return cache

    def train(self, owner: int) -> None:
        """Quantize the owner's vectors if there are many new ones, and save them next to the store file."""
        ((count,),) = self._db.query("SELECT count(*) FROM vectors WHERE owner = ?", (owner,))
        if count <= self._exact_limit:
            return
        with self._training:
            state = self._files.state(owner)
            with self._lock:
                kept = self._used(owner)
            known = self._known(owner, kept, state)
            if known is not None and not self._outgrown(known, count):
                return
            retrained = known is None or count > RETRAINED * known.trained_at
            made = self._files.made(owner, state, known, count, retrained=retrained)
            if made is not None:
                with kept.lock:
                    kept.vectors = self._cache(owner, state, made)

    def remove_files(self) -> None:
        """Remove the saved files, inside the transaction that deletes everything; see `VectorFiles.remove`."""
        self._files.remove()

    def close(self) -> None:
        with self._lock:
            self._kept.clear()
            self._nbytes = 0

    def _used(self, owner: int) -> _Kept:
        kept = self._kept.setdefault(owner, _Kept())
        self._kept.move_to_end(owner)
        return kept

    def _weigh(self, owner: int, kept: _Kept) -> None:
        with self._lock:
            if self._kept.get(owner) is not kept:
                return
            self._nbytes += kept.weigh()
            while self._nbytes > self._most_bytes and len(self._kept) > 1:
                _, oldest = self._kept.popitem(last=False)
                self._nbytes -= oldest.nbytes

    def _cache(self, owner: int, state: State, quantized: QuantizedVectors | None) -> VectorCache:
        stored = partial(self._files.stored, owner, state.dim)
        cache = VectorCache(state.dim, stored, quantized=quantized, exact_limit=self._exact_limit)
        cache.revision = state.revision
        cache.token = state.token if quantized is None or quantized.nbytes else quantized.token.tobytes()
        return cache

    def _known(self, owner: int, kept: _Kept, state: State) -> QuantizedVectors | None:
        """The quantized vectors for this state of the store, from memory or the file."""
        with kept.lock:
            cache = kept.vectors
        same = cache is not None and (cache.token, cache.revision) == (state.token, state.revision)
        known = cache.quantized if cache is not None and same else None
        return known if known is not None and known.trained_at else self._files.opened(owner, state)

    def _outgrown(self, known: QuantizedVectors, count: int) -> bool:
        """Whether many of this many vectors are new, or most of the others were deleted."""
        left = len(known) - int(np.count_nonzero(known.gone))
        return count - left > max(self._exact_limit, len(known)) // GROWN or 2 * left < len(known)

    def _many(self, owner: int, cache: VectorCache, state: State) -> bool:
        """Whether there are too many new vectors to keep them unquantized in memory."""
        most = 2 * self._exact_limit
        if state.upto - cache.upto <= most:
            return False
        asked = "SELECT 1 FROM vectors WHERE owner = ? AND seq > ? ORDER BY seq LIMIT 1 OFFSET ?"
        return bool(self._db.query(asked, (owner, cache.upto, most)))
