"""What an engine behind L2 implements: nine methods; `hybrid_memory.index.semantic` makes everything else of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from types import MappingProxyType
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.index.record import Record, Where
from hybrid_memory.log.origin import Origin
from hybrid_memory.scope import Scope

Query: TypeAlias = Floats | Sequence[str] | None
"""What to search for: a vector, terms, or nothing but the newest records."""


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

    @classmethod
    def best(cls, scores: Mapping[int, float], k: int) -> Matches:
        """The k records with the highest scores; of equal ones the lower id first."""
        best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[: max(k, 0)]
        return cls(
            ids=np.array([number for number, _ in best], dtype=np.int64),
            scores=np.array([score for _, score in best], dtype=np.float32),
        )


@dataclass(frozen=True, slots=True)
class Search:
    """What a search is asked; see `IndexEngine.search`."""

    query: Query
    where: Where
    k: int


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """What a ranking needs of records, as columns of shape (n,), by id.

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

    def rows(self, rows: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> RecordColumns:
        """Some of them, by row numbers or a mask."""
        return RecordColumns(**{part.name: getattr(self, part.name)[rows] for part in fields(self)})

    @classmethod
    def joined(cls, several: Sequence[RecordColumns]) -> RecordColumns:
        """All of them, one after the other."""
        return cls(
            **{part.name: np.concatenate([getattr(columns, part.name) for columns in several]) for part in fields(cls)}
        )

    @classmethod
    def of(cls, rows: Sequence[Sequence[float]] | npt.NDArray[np.float64]) -> RecordColumns:
        """From a row for each record, with the columns in this order and times in microseconds."""
        table = np.array(rows, dtype=np.float64).reshape(-1, len(fields(cls)))
        table = table[table[:, 0].argsort()]
        whole = table.astype(np.int64)
        return cls(
            ids=whole[:, 0],
            segments=whole[:, 1],
            ordinals=whole[:, 2],
            lengths=whole[:, 3],
            at=table[:, 4] / 1e6,
            importance=table[:, 5].astype(np.float32),
            uses=whole[:, 6],
            last_used=table[:, 7] / 1e6,
        )


@dataclass(frozen=True, slots=True)
class Explored:
    """What searches found.

    Attributes:
        matches: of each search.
        places: of all that was found, and of what stands around it; similarity: of each, NaN where it has no vector.
        counts: how many of the owner's records have each term that was asked for.
    """

    matches: Sequence[Matches]
    places: RecordColumns
    similarity: Floats
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Fetched:
    """Records as far as they are there, and a row for each id: its vector, zeros without one, and if it has one."""

    records: Sequence[Record]
    vectors: Floats
    present: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Use:
    """How often a record was used since this was counted last, and when for the last time."""

    count: int
    at: datetime


UNUSED: Mapping[int, Use] = MappingProxyType({})
AS_STORED: Mapping[int, Origin] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class IndexSize:
    """Counts over the whole index; ``pending`` records wait for their vector."""

    records: int
    vectors: int
    pending: int


@dataclass(frozen=True, slots=True)
class Status:
    """How far an index is.

    Attributes:
        applied: the log position up to which the owner's records were derived; 0 at first.
        anchor: as it was given with that position; empty if none was.
        embedder: name and width of the embedder that the vectors come from; None before the first vector.
        tails: of each session that was asked for and has a turn, the id of the last one.
        pending: ids of the owner's records that wait for their vector, ascending, as many as were asked for.
        vectors, total: the number of the owner's vectors, and their sum; where sums were asked for.
        size: over all owners; where sums were asked for without an owner.
    """

    applied: int = 0
    anchor: str = ""
    embedder: tuple[str, int] | None = None
    tails: Mapping[str | None, int] = field(default_factory=dict)
    pending: Sequence[int] = ()
    vectors: int = 0
    total: npt.NDArray[np.float64] | None = None
    size: IndexSize = IndexSize(0, 0, 0)

    @property
    def mean(self) -> Floats:
        """Of the owner's vectors; of width 0 if there are none, or sums were not asked for."""
        if self.total is None or not self.vectors:
            return np.empty(0, dtype=np.float32)
        return (self.total / self.vectors).astype(np.float32)


class IndexEngine(Protocol):
    """L2: records with text and vectors, a projection of the log that can be dropped and rebuilt.

    Every method raises `MemoryClosedError` once the index is closed.
    """

    @abstractmethod
    def status(
        self, owner: Scope | None = None, *, sessions: Sequence[str | None] = (), pending: int = 0, sums: bool = False
    ) -> Status:
        """How far the index is, for this owner; see `Status`."""
        ...

    @abstractmethod
    def upsert(
        self,
        owner: Scope,
        entries: Sequence[Entry],
        *,
        after: int,
        upto: int,
        anchor: str = "",
        seen: str | None = None,
        gone: Collection[int] = (),
        origins: Mapping[int, Origin] = AS_STORED,
        uses: Mapping[int, Use] = UNUSED,
    ) -> bool:
        """Store records, without vectors, and move the applied position from ``after`` to ``upto``, atomically.

        It may move back too, after a log was set back. The anchor, at most 64 characters, is kept with the position. A
        record takes the place of one with its id, whoever owns that.

        Of what the owner has already, those records go that are ``gone``, before the new ones are stored, and
        ``origins``, by id, replace those that were stored, while vectors stay. Uses, by record id, are added, after the
        new ones are stored; the last use only moves on. Ids that are not there are left out.

        False, and nothing is stored, if the applied position is not ``after``, or its anchor is not the one that was
        ``seen``, where that is given: another process was faster.
        """
        ...

    @abstractmethod
    def put_vectors(
        self, embedder: tuple[str, int], keys: Mapping[int, bytes], vectors: Mapping[bytes, Floats]
    ) -> None:
        """Give pending records their vectors: record id to content hash, and hash to vector where it is new.

        Raises:
            EmbedderMismatchError: the index holds vectors of another embedder.
        """
        ...

    @abstractmethod
    def search(self, query: Query, where: Where, k: int) -> Matches:
        """The k best of the records that the condition allows; of equal scores the lower id first.

        By inner product with a vector, which need not be of unit length; by BM25 over any of the terms, with
        statistics over all of the owner's records, nobody else's, and positive scores
        (`hybrid_memory.index.bm25.ranked` computes it); or, with no query, the newest first, of the same instant the
        higher id, all with the score 0.
        """
        ...

    @abstractmethod
    def columns(self, ids: Ids, where: Where, radius: int) -> RecordColumns:
        """These records of the owner and their neighbours up to ``radius`` turns away in their segment, by id.

        Neighbours of a record count also where the condition does not allow the record itself.
        """
        ...

    @abstractmethod
    def get(self, ids: Sequence[int]) -> list[Record]:
        """The records with these ids, in the order given; unknown ids are left out."""
        ...

    @abstractmethod
    def vectors(self, keys: Sequence[int | bytes], owner: Scope | None = None) -> dict[int | bytes, Floats]:
        """Vectors that are stored: by record id, of this owner's records, or by content hash, of anybody's."""
        ...

    @abstractmethod
    def terms(self, owner: Scope, wanted: Sequence[str] = (), *, near: str = "") -> dict[str, int]:
        """How many of the owner's records have each of the wanted terms; those that none has are left out.

        Given ``near``, of the terms that may be misspelt so, or more: those with the same first letter whose length
        differs by at most `hybrid_memory.text.tokenize.allowed_edits`; the counts of these may be wrong. An engine that
        knows the counts over all owners only may give those.
        """
        ...

    @abstractmethod
    def delete(self, ids: Sequence[int] | None) -> int:
        """Remove records with their terms and vectors; returns how many there were.

        None removes everything derived: all records, applied positions, and the embedder's name.
        """
        ...
