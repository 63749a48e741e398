"""L2 as the library uses it: what every engine shares, made of the nine methods that each of them has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.index.port import IndexEngine, IndexSize, Matches
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.scope import Scope
from hybrid_memory.text.tokenize import allowed_edits, close_terms

RANKED_TERMS = 12
"""Where frequent terms are left out, at most so many remain: each is counted over the whole store, 50 us of work."""


class SemanticIndex(IndexEngine):
    """The base of every index. An engine implements the methods of `IndexEngine`, and `close` if it holds anything.

    Attributes:
        ranked_records: matches that a text search ranks, 1,000 take 1 ms: where there are more, the most frequent
            terms are left out. None ranks all.
    """

    ranked_records: ClassVar[int | None] = 1_000

    def applied(self, owner: Scope) -> int:
        """The log position up to which this owner's records were derived; 0 at first."""
        return self.status(owner).applied

    def embedder(self) -> tuple[str, int] | None:
        """Name and width of the embedder that the vectors come from; None before the first vector."""
        return self.status().embedder

    def size(self) -> IndexSize:
        """Counts over all owners."""
        return self.status(sums=True).size

    def centroid(self, owner: Scope) -> tuple[Floats, int]:
        """The mean of the owner's vectors, and their number; a vector of width 0 if there are none."""
        status = self.status(owner, sums=True)
        if status.total is None or not status.vectors:
            return np.empty(0, dtype=np.float32), 0
        return (status.total / status.vectors).astype(np.float32), status.vectors

    def tails(self, owner: Scope, sessions: Sequence[str | None]) -> dict[str | None, Record]:
        """The last turn of each of these sessions that has one."""
        last = self.status(owner, sessions=sessions).tails
        records = self._by_id(list(last.values()))
        return {session: records[number] for session, number in last.items() if number in records}

    def pending(self, owner: Scope, limit: int) -> list[tuple[Record, Record | None]]:
        """Records that wait for their vector, oldest first, each with the turn before it in its segment."""
        records = self.get(self.status(owner, pending=limit).pending)
        before = self.previous(owner, records)
        return [(record, before.get(record.id)) for record in records]

    def previous(self, owner: Scope, records: Sequence[Record]) -> dict[int, Record]:
        """The turns before these records in their segments, by the ids of the records that have one."""
        later = [record.id for record in records if record.ordinal]
        if not later:
            return {}
        near = self.columns(np.array(later, dtype=np.int64), Where(owner.owner), 1)
        positions = zip(near.segments.tolist(), near.ordinals.tolist(), strict=True)
        wanted = {(record.segment, record.ordinal - 1) for record in records}
        ids = [number for number, position in zip(near.ids.tolist(), positions, strict=True) if position in wanted]
        turns = {(turn.segment, turn.ordinal): turn for turn in self.get(ids) if turn.kind is RecordKind.TURN}
        before = {record.id: turns.get((record.segment, record.ordinal - 1)) for record in records}
        return {number: turn for number, turn in before.items() if turn is not None}

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """Vectors that are stored already, by content hash."""
        return {key: vector for key, vector in self.vectors(keys).items() if isinstance(key, bytes)}

    def nearest(self, vector: Floats, where: Where, k: int) -> Matches:
        """The k records with the highest inner product with the vector, which need not be of unit length."""
        return self.search(vector, where, k)

    def matching(self, terms: Sequence[str], where: Where, k: int) -> Matches:
        """The k records with the highest BM25 over any of the terms; scores are positive.

        The most frequent terms are left out where the owner has thousands of records with them.
        """
        return self.search(self._rarest(terms, where.scope.owner), where, k)

    def latest(self, where: Where, k: int) -> Ids:
        """The k records with the latest instants, newest first; of the same instant the higher id first."""
        return self.search(None, where, k).ids

    def spellings(self, term: str, owner: Scope, k: int) -> list[str]:
        """At most k terms of the owner's records that differ from this one by a misspelling or two, nearest first.

        As `hybrid_memory.text.tokenize.close_terms` has it: none if the owner has the term itself.
        """
        if not allowed_edits(term) or self.terms(owner, [term]):
            return []
        return close_terms(term, self.terms(owner, near=term), k)

    def similar(self, vector: Floats, owner: Scope, ids: Ids) -> Floats:
        """Inner product with each of these records, NaN where it has no vector yet; shape (n,)."""
        rows, present = self.vector_rows(owner, ids)
        scores = np.full(len(ids), np.nan, dtype=np.float32)
        if present.any():
            scores[present] = rows[present] @ vector
        return scores

    def likeness(self, owner: Scope, ids: Ids) -> Floats:
        """Inner products among these records, of shape (n, n); 0 where one has no vector yet."""
        rows, _ = self.vector_rows(owner, ids)
        products: Floats = rows @ rows.T
        return products

    def vector_rows(self, owner: Scope, ids: Ids) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """The vectors of these records, zeros where one has none, and which have one; shapes (n, dim) and (n,)."""
        stored = self.vectors(ids.tolist(), owner) if len(ids) else {}
        width = len(next(iter(stored.values()), ()))
        rows, present = np.zeros((len(ids), width), dtype=np.float32), np.zeros(len(ids), dtype=np.bool_)
        for row, number in enumerate(ids.tolist()):
            if (vector := stored.get(number)) is not None:
                rows[row], present[row] = vector, True
        return rows, present

    def reset(self) -> None:
        """Drop everything derived: records, terms, vectors, applied positions, the embedder's name."""
        self.delete(None)

    def train(self, owner: Scope) -> None:
        """Prepare for fast searches after much was written; may take seconds, and only changes speed."""
        self.status(owner)

    def scrub(self) -> None:
        """Overwrite what was deleted wherever the engine may still hold it, as far as it can; may take seconds.

        Raises:
            StoreUnavailableError: another process keeps the engine from doing so.
        """
        self.status()

    def close(self) -> None:
        """Release everything; later calls raise `MemoryClosedError`."""

    def _by_id(self, ids: Sequence[int]) -> dict[int, Record]:
        return {record.id: record for record in self.get(ids)}

    def _rarest(self, terms: Sequence[str], owner: Scope) -> list[str]:
        """The terms from the rarest on, while the records that have them are few enough to rank."""
        if self.ranked_records is None:
            return list(dict.fromkeys(terms))
        counts = self.terms(owner, list(dict.fromkeys(terms))) if terms else {}
        chosen: list[str] = []
        total = 0
        for term, count in sorted(counts.items(), key=lambda item: (item[1], item[0])):
            total += count
            if chosen and total > self.ranked_records:
                return chosen[:RANKED_TERMS]
            chosen.append(term)
        return chosen
