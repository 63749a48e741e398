"""What is asked of the engine behind L2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from types import MappingProxyType
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.index.record import Record, Where
from hybrid_memory.scope import Scope


@dataclass(frozen=True, slots=True)
class Entry:
    """A record on its way into the index, with the terms that the text index takes."""

    record: Record
    terms: str


@dataclass(frozen=True, slots=True)
class Matches:
    """What a search found, best first, of shape (n,)."""

    ids: Ids
    scores: Floats


@dataclass(frozen=True, slots=True)
class Places:
    """Where records stand, as columns of shape (n,), by id.

    ``lengths`` in characters, times in seconds since 1970, ``last_used`` 0 if never.
    """

    ids: Ids
    segments: Ids
    ordinals: Ids
    lengths: Ids
    at: npt.NDArray[np.float64]
    importance: Floats
    uses: Ids
    last_used: npt.NDArray[np.float64]

    def rows(self, rows: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Places:
        """Some of them, by row numbers or a mask."""
        return Places(**{part.name: getattr(self, part.name)[rows] for part in fields(self)})

    @classmethod
    def joined(cls, several: Sequence[Places]) -> Places:
        """All of them, one after the other."""
        return cls(
            **{part.name: np.concatenate([getattr(places, part.name) for places in several]) for part in fields(cls)}
        )


@dataclass(frozen=True, slots=True)
class Use:
    """How often a record was used since this was noted last, and when for the last time."""

    count: int
    at: datetime


UNUSED: Mapping[int, Use] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class IndexSize:
    """Counts over the whole index; ``pending`` records wait for their vector."""

    records: int
    vectors: int
    pending: int


class SemanticIndex(Protocol):
    """L2: records with text and vectors, a projection of the log that can be dropped and rebuilt."""

    def applied(self, owner: Scope) -> int:
        """The log position up to which this owner's records were derived; 0 at first."""
        ...

    def tails(self, owner: Scope, sessions: Sequence[str | None]) -> dict[str | None, Record]:
        """The last turn of each of these sessions that has one."""
        ...

    def upsert(
        self, owner: Scope, entries: Sequence[Entry], *, after: int, upto: int, uses: Mapping[int, Use] = UNUSED
    ) -> bool:
        """Store records, without vectors, and move the applied position from ``after`` to ``upto``, atomically.

        Uses, by record id, are added to those of the owner's records, after the new ones are stored; the last use only
        moves on. Ids that are not there are left out. False, and nothing is stored, if the applied position is not
        ``after``: another process was faster.
        """
        ...

    def pending(self, owner: Scope, limit: int) -> list[tuple[Record, Record | None]]:
        """Records that wait for their vector, oldest first, each with the one before it in its segment."""
        ...

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """Vectors that are stored already, by content hash."""
        ...

    def embedder(self) -> tuple[str, int] | None:
        """Name and width of the embedder that the vectors come from; None before the first vector."""
        ...

    def put_vectors(
        self, embedder: tuple[str, int], keys: Mapping[int, bytes], vectors: Mapping[bytes, Floats]
    ) -> None:
        """Give records their vectors: record id to content hash, and hash to vector where it is new.

        Raises:
            EmbedderMismatchError: the index holds vectors of another embedder.
        """
        ...

    def centroid(self, owner: Scope) -> tuple[Floats, int]:
        """The mean of the owner's vectors, and their number; a vector of width 0 if there are none."""
        ...

    def settle(self, owner: Scope) -> None:
        """Prepare for fast searches after much was written; may take seconds, and only changes speed."""
        ...

    def nearest(self, vector: Floats, where: Where, k: int) -> Matches:
        """The k records with the highest inner product with the vector, which need not be of unit length."""
        ...

    def matching(self, terms: Sequence[str], where: Where, k: int) -> Matches:
        """The k records with the highest BM25 over any of the terms; scores are positive.

        An engine may leave out the most frequent terms where the owner has thousands of records with them.
        """
        ...

    def latest(self, where: Where, k: int) -> Ids:
        """The k records that were said last, newest first; of the same instant the higher id first."""
        ...

    def spellings(self, term: str, owner: Scope, k: int) -> list[str]:
        """At most k terms of the owner's records that differ from this one by a slip or two, nearest first.

        As `hybrid_memory.text.spelling.nearly` has it: none if the owner has the term itself. None either where the
        engine has no list of terms.
        """
        ...

    def similar(self, vector: Floats, owner: Scope, ids: Ids) -> Floats:
        """Inner product with each of these records, NaN where it has no vector yet; shape (n,)."""
        ...

    def likeness(self, owner: Scope, ids: Ids) -> Floats:
        """Inner products among these records, of shape (n, n); 0 where one has no vector yet."""
        ...

    def places(self, ids: Ids, where: Where, radius: int) -> Places:
        """These records and their neighbours up to ``radius`` turns away in their segment, as far as allowed."""
        ...

    def get(self, ids: Sequence[int]) -> list[Record]:
        """The records with these ids, in the order given; unknown ids are left out."""
        ...

    def delete(self, ids: Sequence[int]) -> int:
        """Remove records with their terms and vectors; returns how many there were."""
        ...

    def scrub(self) -> None:
        """Overwrite what was deleted wherever the engine may still hold it, as far as it can; may take seconds.

        Raises:
            StoreUnavailableError: another process keeps the engine from doing so.
        """
        ...

    def reset(self) -> None:
        """Drop everything derived: records, terms, vectors, applied positions, the embedder's name."""
        ...

    def size(self) -> IndexSize:
        """Counts over all owners."""
        ...

    def close(self) -> None:
        """Release everything; later calls raise `MemoryClosedError`."""
        ...
