"""The nine methods that an L2 engine implements; `hybrid_memory.index.semantic` builds everything else on them."""

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
from hybrid_memory.scope import Scope

Query: TypeAlias = Floats | Sequence[str] | None
"""What to search for: a vector, terms, or None for the newest records."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A record to be written to the index, with its terms for the text index."""

    record: Record
    terms: str


@dataclass(frozen=True, slots=True)
class Matches:
    """The matches of a search, best first; columns of shape (n,)."""

    ids: Ids
    scores: Floats

    @classmethod
    def best(cls, scores: Mapping[int, float], k: int) -> Matches:
        """The k matches with the highest scores; of equal scores the lower id comes first."""
        best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[: max(k, 0)]
        return cls(
            ids=np.array([number for number, _ in best], dtype=np.int64),
            scores=np.array([score for _, score in best], dtype=np.float32),
        )


@dataclass(frozen=True, slots=True)
class Search:
    """The arguments of a search; see `IndexEngine.search`."""

    query: Query
    where: Where
    k: int


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """The values of records that a ranking needs, as columns of shape (n,), sorted by id.

    ``lengths`` are in characters, times in seconds since 1970; ``last_used`` is 0 if never used.
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
        """A selection, by row numbers or a mask."""
        return RecordColumns(**{part.name: getattr(self, part.name)[rows] for part in fields(self)})

    @classmethod
    def joined(cls, several: Sequence[RecordColumns]) -> RecordColumns:
        """All of these columns, concatenated."""
        return cls(
            **{part.name: np.concatenate([getattr(columns, part.name) for columns in several]) for part in fields(cls)}
        )

    @classmethod
    def of(cls, rows: Sequence[Sequence[float]] | npt.NDArray[np.float64]) -> RecordColumns:
        """The columns of these rows, one per record, with values in this order and times in microseconds."""
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
    """The result of several searches.

    Attributes:
        matches: the matches of each search.
        places: the columns of all matches and their neighbours; similarity: of each, NaN without a vector.
        counts: for each requested term, how many of the owner's records have it.
    """

    matches: Sequence[Matches]
    places: RecordColumns
    similarity: Floats
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Fetched:
    """The records that exist, and for each id a row: its vector (zeros without one) and whether it has one."""

    records: Sequence[Record]
    vectors: Floats
    present: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Use:
    """How often a record was used since the last count, and when it was last used."""

    count: int
    at: datetime


UNUSED: Mapping[int, Use] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class IndexSize:
    """Counts over the whole index; ``pending`` records do not have their vector yet."""

    records: int
    vectors: int
    pending: int


@dataclass(frozen=True, slots=True)
class Status:
    """The state of an index.

    Attributes:
        applied: the log position up to which the owner's records were derived; initially 0.
        anchor: the anchor stored with that position; empty if none was.
        embedder: name and width of the embedder that made the vectors; None before the first vector.
        tails: for each requested session that has a turn, the id of its last turn.
        pending: ids of the owner's records without a vector yet, ascending, at most as many as requested.
        vectors, total: the number of the owner's vectors, and their sum; if sums were requested.
        size: counts over all owners; if sums were requested without an owner.
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
        """The mean of the owner's vectors; of width 0 if there are none, or sums were not requested."""
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
        """The state of the index for this owner; see `Status`."""
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
        uses: Mapping[int, Use] = UNUSED,
    ) -> bool:
        """Store records, without vectors, and move the applied position from ``after`` to ``upto``, atomically.

        The position may also move back, after a log was restored to an older state. The anchor, at most 64 characters,
        is stored with it. A record replaces one with the same id, whoever owns that.

        Before storing, remove the owner's records in ``gone``. After storing, add ``uses`` (by record id); the last
        use only moves forward. Ignore ids that do not exist.

        Returns False and stores nothing if the applied position is not ``after``, or if ``seen`` is given and is not
        the stored anchor: another process was faster.
        """
        ...

    @abstractmethod
    def put_vectors(
        self, embedder: tuple[str, int], keys: Mapping[int, bytes], vectors: Mapping[bytes, Floats]
    ) -> None:
        """Store the vectors of pending records: content hashes by record id, and vectors by hash, if new.

        Raises:
            EmbedderMismatchError: the index holds vectors of another embedder.
        """
        ...

    @abstractmethod
    def search(self, query: Query, where: Where, k: int) -> Matches:
        """The k best records that the condition allows; of equal scores the lower id comes first.

        With a vector, which may have any length, scores are inner products. With terms, they are BM25 over any of the
        terms, positive, with statistics over the owner's records only (see `hybrid_memory.index.bm25.ranked`). Without
        a query, the newest records come first, of the same instant the higher id, all with the score 0.
        """
        ...

    @abstractmethod
    def columns(self, ids: Ids, where: Where, radius: int) -> RecordColumns:
        """These records of the owner and their neighbours up to ``radius`` turns away in the segment, by id.

        Neighbours are included even if the condition excludes the record itself.
        """
        ...

    @abstractmethod
    def get(self, ids: Sequence[int]) -> list[Record]:
        """The records with these ids, in the given order; unknown ids are left out."""
        ...

    @abstractmethod
    def vectors(self, keys: Sequence[int | bytes], owner: Scope | None = None) -> dict[int | bytes, Floats]:
        """Stored vectors: by record id for records of this owner, or by content hash for those of any owner."""
        ...

    @abstractmethod
    def terms(self, owner: Scope, wanted: Sequence[str] = (), *, near: str = "") -> dict[str, int]:
        """For each of these terms, how many of the owner's records have it; terms that none has are left out.

        With ``near``, also terms that may be what a misspelt word meant, or more: those with the same first letter
        whose length differs by at most `hybrid_memory.text.tokenize.allowed_edits`. Their counts may be inexact. An
        engine that only knows counts over all owners may return those.
        """
        ...

    @abstractmethod
    def delete(self, ids: Sequence[int] | None) -> int:
        """Remove records with their terms and vectors; returns how many there were.

        None removes everything derived: all records, applied positions and the embedder's name.
        """
        ...
