"""The port of an L2 engine: the methods that it implements, and what is built on them for all engines."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, Required, TypeAlias, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.index.record import Keys, Record, RecordKind, Vectors, Where
from hybrid_memory.scope import Scope
from hybrid_memory.text.tokenize import allowed_edits, close_terms

Query: TypeAlias = Floats | Sequence[str] | None  # what to search for: a vector, terms, or None for the newest records


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
    """The arguments of a search; see `Snapshot.search`."""

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
        return RecordColumns(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    @classmethod
    def joined(cls, several: Sequence[RecordColumns]) -> RecordColumns:
        """All of these columns, concatenated."""
        return cls(*(np.concatenate([getattr(part, name) for part in several]) for name in cls.__dataclass_fields__))

    @classmethod
    def of(cls, rows: Sequence[Sequence[float]] | npt.NDArray[np.float64]) -> RecordColumns:
        """The columns of these rows, one per record, with values in this order and times in microseconds."""
        table = np.array(rows, dtype=np.float64).reshape(-1, len(cls.__dataclass_fields__))
        table = table[table[:, 0].argsort()]
        ids, segments, ordinals, lengths, _, _, uses, _ = table.astype(np.int64).T
        at, importance, last_used = table[:, 4] / 1e6, table[:, 5].astype(np.float32), table[:, 7] / 1e6
        return cls(ids, segments, ordinals, lengths, at, importance, uses, last_used)


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


class Move(TypedDict, total=False):
    """How an index follows its log.

    Attributes:
        after, upto: the applied position, which must be the first and becomes the second. It may also move back, after
            a log was restored to an older state.
        anchor: stored with the position, at most 64 characters; empty if left out.
        seen: the anchor that must be stored so far; any if None.
        gone: ids of the owner's records to remove; uses: what to add, by id of the owner's record, where the last use
            only moves forward. Ids that do not exist are ignored.
    """

    after: Required[int]
    upto: Required[int]
    anchor: str
    seen: str | None
    gone: Collection[int]
    uses: Mapping[int, Use]


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
        columns: what the engine has read for the sums, for the searches that follow; None if nothing.
    """

    applied: int = 0
    anchor: str = ""
    embedder: tuple[str, int] | None = None
    tails: Mapping[str | None, int] = field(default_factory=dict)
    pending: Sequence[int] = ()
    vectors: int = 0
    total: npt.NDArray[np.float64] | None = None
    size: IndexSize = IndexSize(0, 0, 0)
    columns: Any = None

    @property
    def mean(self) -> Floats:
        """The mean of the owner's vectors; of width 0 if there are none, or sums were not requested."""
        if self.total is None or not self.vectors:
            return np.empty(0, dtype=np.float32)
        return (self.total / self.vectors).astype(np.float32)


class Snapshot(Protocol):
    """What a search asks of an index, or of an owner's records as they were at one instant."""

    @abstractmethod
    def search(self, query: Query, where: Where, k: int) -> Matches:
        """The k best records that the condition allows; of equal scores the lower id comes first.

        With a vector, which may have any length, scores are inner products. With terms, they are BM25 over any of the
        terms, positive, with statistics over the owner's records only (see `hybrid_memory.index.bm25.ranked`). Without
        a query, the newest records come first, of the same instant the higher id, all with the score 0.
        """

    @abstractmethod
    def columns(self, ids: Ids, where: Where, radius: int) -> RecordColumns:
        """These records of the owner and their neighbours up to ``radius`` turns away in the segment, by id.

        Neighbours are included even if the condition excludes the record itself.
        """

    @abstractmethod
    def terms(self, owner: Scope, words: Sequence[str] = (), *, near: str = "") -> dict[str, int]:
        """For each of these terms, how many of the owner's records have it; terms that none has are left out.

        With ``near``, also terms that may be what a misspelt word meant, or more: those with the same first letter
        whose length differs by at most `hybrid_memory.text.tokenize.allowed_edits`. Their counts may be inexact. An
        engine that only knows counts over all owners may return those.
        """

    @abstractmethod
    def vector_rows(self, owner: Scope, ids: Ids) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """The vectors of these records (zeros without one), and which have one; shapes (n, dim) and (n,)."""


class SemanticIndex(Snapshot):
    """L2: records with text and vectors, a projection of the log that can be dropped and rebuilt.

    An engine implements the abstract methods, and `close` if needed; all raise `MemoryClosedError` after that.
    """

    @abstractmethod
    def status(
        self, owner: Scope | None = None, *, sessions: Sequence[str | None] = (), pending: int = 0, sums: bool = False
    ) -> Status:
        """The state of the index for this owner; see `Status`."""

    @abstractmethod
    def upsert(self, owner: Scope, entries: Sequence[Entry], **move: Unpack[Move]) -> bool:
        """Store records, without vectors, and move the applied position as `Move` says, atomically.

        A record replaces one with the same id, whoever owns that. Before storing, remove the records that are ``gone``;
        after storing, add the ``uses``. Returns False and stores nothing if another process was faster.
        """

    @abstractmethod
    def put_vectors(self, embedder: tuple[str, int], keys: Keys, vectors: Vectors) -> None:
        """Store the vectors of pending records: content hashes by record id, and vectors by hash, if new.

        Raises:
            EmbedderMismatchError: the index holds vectors of another embedder.
        """

    @abstractmethod
    def get(self, ids: Sequence[int]) -> list[Record]:
        """The records with these ids, in the given order; unknown ids are left out."""

    @abstractmethod
    def known(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """The stored vectors for these content hashes, of records of any owner."""

    @abstractmethod
    def delete(self, ids: Sequence[int] | None) -> int:
        """Remove records with their terms and vectors; returns how many there were.

        None removes everything derived: all records, applied positions and the embedder's name.
        """

    def statuses(self, owners: Sequence[Scope]) -> dict[Scope, Status]:
        """How far the index is for each of these owners: position, anchor, and one record without a vector, if any."""
        return {owner: self.status(owner, pending=1) for owner in owners}

    def embedder(self) -> tuple[str, int] | None:
        """Name and width of the embedder that made the vectors; None before the first vector."""
        return self.status().embedder

    def size(self) -> IndexSize:
        """Counts over all owners."""
        return self.status(sums=True).size

    def tails(
        self, owner: Scope, sessions: Sequence[str | None], status: Status | None = None
    ) -> dict[str | None, Record]:
        """The last turn of each of these sessions, if it has one; for ``status`` see `explore`."""
        last = self.status(owner, sessions=sessions).tails
        records = {record.id: record for record in self.get(list(last.values()))}
        return {session: records[number] for session, number in last.items() if number in records}

    def pending(self, owner: Scope, limit: int) -> list[tuple[Record, Record | None]]:
        """Records without a vector yet, oldest first, each with the previous turn of its segment."""
        records = self.get(self.status(owner, pending=limit).pending)
        before = self.previous(owner, records)
        return [(record, before.get(record.id)) for record in records]

    def previous(self, owner: Scope, records: Sequence[Record], status: Status | None = None) -> dict[int, Record]:
        """The previous turns of these records in their segments, by record id; records without one are left out.

        For ``status`` see `explore`.
        """
        later = [record for record in records if record.ordinal]
        turns = self.turns_before(owner, later, status) if later else []
        there = {(turn.segment, turn.ordinal + 1): turn for turn in turns}
        return {one.id: there[place] for one in later if (place := (one.segment, one.ordinal)) in there}

    def turns_before(self, owner: Scope, records: Sequence[Record], status: Status | None = None) -> list[Record]:
        """The turns before these records, which have one, or more."""
        near = self.columns(np.array([record.id for record in records], dtype=np.int64), Where(owner.owner), 1)
        return [turn for turn in self.get(near.ids.tolist()) if turn.kind is RecordKind.TURN]

    def store(
        self,
        owner: Scope,
        entries: Sequence[Entry],
        embedder: tuple[str, int],
        keys: Keys,
        vectors: Vectors,
        **move: Unpack[Move],
    ) -> Status | None:
        """Do what `upsert` does, then `put_vectors`, and return the new state with sums; None if another was faster.

        ``move`` are the other arguments of `upsert`. An engine may do it all at once.
        """
        if not self.upsert(owner, entries, **move):
            return None
        self.put_vectors(embedder, keys, vectors)
        return self.status(owner, sums=True)

    def latest(self, where: Where, k: int) -> Ids:
        """The k newest records, newest first; of the same instant the higher id comes first."""
        return self.search(None, where, k).ids

    def corrections(self, words: Sequence[str], owner: Scope, status: Status | None = None) -> dict[str, str]:
        """For each word that no record of the owner has, the nearest term that some record has.

        Nearest as `hybrid_memory.text.tokenize.close_terms` defines it; words without a near term are left out. For
        ``status`` see `explore`.
        """
        mine, doubtful = self.snapshot(owner, status), [word for word in words if allowed_edits(word)]
        known = mine.terms(owner, doubtful) if doubtful else {}
        meant = {word: close_terms(word, mine.terms(owner, near=word), 1) for word in doubtful if word not in known}
        return {word: nearest[0] for word, nearest in meant.items() if nearest}

    def explore(
        self,
        searches: Sequence[Search],
        where: Where,
        *,
        radius: int,
        vector: Floats | None = None,
        words: Sequence[str] = (),
        status: Status | None = None,
    ) -> Explored:
        """The matches of these searches, with neighbours up to ``radius`` turns away that the condition allows.

        Similarities are to the vector; ``words`` are terms to count. This is everything a recall searches for, so that
        a server can do it in one round trip; or in none if it has sent what is searched with the ``status``, with sums.
        """
        owner = where.scope.owner
        mine = self.snapshot(owner, status)
        matches = [mine.search(search.query, search.where, search.k) for search in searches]
        found = [np.empty(0, dtype=np.int64), *[each.ids for each in matches]]
        places = mine.columns(np.unique(np.concatenate(found)), where, radius)
        similarity = np.full(len(places.ids), np.nan, dtype=np.float32)
        if vector is not None:
            rows, present = mine.vector_rows(owner, places.ids)
            if present.any():
                similarity[present] = rows[present] @ vector
        return Explored(matches, places, similarity, mine.terms(owner, words) if words else {})

    def snapshot(self, owner: Scope, status: Status | None) -> Snapshot:
        """What to search for this owner: what was read for this status, or as it is now."""
        return self

    def fetch(self, ids: Ids, owner: Scope) -> Fetched:
        """These records of the owner, in the given order, with their vectors."""
        records = self.get(ids.tolist())
        return Fetched([one for one in records if one.scope.owner == owner.owner], *self.vector_rows(owner, ids))

    def lease(self, owner: Scope, holder: str, seconds: float) -> bool:
        """Take, or renew, the right to make the owner's vectors for so long, or with 0 seconds give it back.

        False if somebody else has it. By default everybody has it: the engine serves one process.
        """
        self.status(owner)
        return True

    def train(self, owner: Scope) -> None:
        """Optimize for search after many writes; may take seconds, and only affects speed."""
        self.status(owner)

    def scrub(self) -> None:
        """Overwrite deleted data wherever the engine may still hold it, as far as it can; may take seconds.

        Raises:
            StoreUnavailableError: another process prevents it.
        """
        self.status()

    def close(self) -> None:
        """Release everything; later calls raise `MemoryClosedError`."""
