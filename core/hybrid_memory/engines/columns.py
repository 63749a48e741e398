"""One search for every store that keeps rows: an owner's records as columns in memory, up to date at each use."""

from __future__ import annotations

import json
import threading
from abc import abstractmethod
from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Array, Floats, Ids
from hybrid_memory.engines.stored import record_in, to_micros, vector_of
from hybrid_memory.index.bm25 import BM25_B, BM25_K1, idf
from hybrid_memory.index.port import Fetched, Matches, Query, RecordColumns, SemanticIndex, Status
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.log.views import joined
from hybrid_memory.scope import Scope
from hybrid_memory.text.tokenize import allowed_edits

Row: TypeAlias = tuple[Any, ...]  # a record as an engine hands it over, with the values of `ROW`

ROW = (
    *("id", "segment", "ordinal", "length", "at", "importance", "uses", "last_used", "turn"),
    *("kind", "category", "origin", "session", "metadata", "terms", "vector"),
)
"""Instants are in microseconds, 0 if there is none; ``metadata`` is JSON; ``vector`` is packed, of 32-bit floats.

``terms`` are separated by spaces, or None if the text is the one that was handed over before; ``vector`` is None if
there is none, or none that is new.
"""

_NUMBERS, _LABELS = 9, 13  # where the numbers of a row end, and then its labels, which the columns hold as numbers
_ID, _AT, _TURN, _KIND, _SESSION, _METADATA, _TERMS, _VECTOR = 0, 4, 8, 9, 12, 13, 14, 15

CACHE_BYTES = 512 << 20

LOADED_AGAIN = 4  # an owner is loaded again when one in this many rows stands for a record that is gone or was replaced

SPARE = 8
"""A matrix that is full gets one more row for each of so many; that many rows may stand for nothing in any case."""

MOST_GONE = 1_000
"""The most removed records of an owner that are noted one by one; beyond, whoever has a copy loads all again."""

MOST_READ, RECORD_BYTES = 8_192, 1_000  # the most records of an owner kept as they were read, and about what one takes

Mask: TypeAlias = npt.NDArray[np.bool_]
Table: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Changes:
    """What became of an owner's records since a number of changes.

    Attributes:
        number: the number to ask from the next time.
        epoch: another value than before means that ``rows`` are all records, and older ones are void.
        rows: new and changed records; see `ROW`.
        gone: ids of removed records, older than the rows.
        whole: new and changed records that were sent whole, by id; see `record_in`.
    """

    number: int = 0
    epoch: int = 0
    rows: Sequence[Row] = ()
    gone: Sequence[int] = ()
    whole: dict[int, Row] = field(default_factory=dict)


class Postings:
    """For each term the rows that have it, and how often, one after the other. Rows are only added.

    Attributes:
        of: rows and counts by term; by_initial: the terms by their first letter.
        rows: how many rows there are, with what is being added; pairs: how many rows and counts.
    """

    def __init__(self) -> None:
        self.of: dict[str, array[int]] = {}
        self.by_initial: dict[str, list[str]] = {}
        self.rows = self.pairs = 0

    def add(self, texts: Sequence[str]) -> None:
        """Add a row for each of these texts, given as terms separated by spaces."""
        first, self.rows = self.rows, self.rows + len(texts)
        for row, text in enumerate(texts, first):
            for term, count in Counter(text.split()).items():
                there = self.of.get(term)
                if there is None:
                    there = self.of[term] = array("q")
                    self.by_initial.setdefault(term[0], []).append(term)
                there.extend((row, count))
                self.pairs += 1


@dataclass(eq=False)
class Columns:
    """The records of an owner at one instant, a `Snapshot`. They never change: `after` makes the next ones.

    Attributes:
        number, epoch: see `Changes`; the number goes on where nothing changed.
        table: a row for each record that there is or was, with the numbers of `ROW` and its labels as numbers.
        alive: the rows of records that there are.
        words: how many terms each row has, plus one.
        matrix: a vector for each row, and empty ones for more.
        present: the rows of records that have a vector; total: the sum of these.
        postings: the rows by term, shared with other columns of the owner, which may have more rows.
        labels: the number of each label; metadata: that of records that have any, by id.
        read: records that were read whole, by id; those that were sent as rows remain rows until they are needed.
    """

    number: int = -1
    epoch: int = -1
    table: Table = field(default_factory=lambda: np.empty((0, _LABELS)))
    alive: Mask = field(default_factory=lambda: np.empty(0, np.bool_))
    words: Ids = field(default_factory=lambda: np.empty(0, np.int64))
    matrix: Floats = field(default_factory=lambda: np.empty((0, 0), np.float32))
    present: Mask = field(default_factory=lambda: np.empty(0, np.bool_))
    total: Table = field(default_factory=lambda: np.empty(0))
    postings: Postings = field(default_factory=Postings)
    labels: dict[str | None, int] = field(default_factory=dict)
    metadata: dict[int, dict[str, Any]] = field(default_factory=dict)
    read: dict[int, Record | Row] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use, about."""
        return self.table.nbytes + self.matrix.nbytes + 24 * self.postings.pairs + RECORD_BYTES * len(self.read)

    @cached_property
    def by_id(self) -> tuple[Ids, Ids]:
        """The ids of the records that there are, in order, and the row of each."""
        rows = np.flatnonzero(self.alive)
        ids = self.table[rows, _ID].astype(np.int64)
        order = np.argsort(ids, kind="stable")
        return ids[order], rows[order]

    @cached_property
    def by_place(self) -> tuple[Ids, Ids]:
        """Where records stand in their segments, in order, and the row of each."""
        rows = np.flatnonzero(self.alive)
        places = _place(self.table[rows, 1], self.table[rows, 2])
        order = np.argsort(places, kind="stable")
        return places[order], rows[order]

    @cached_property
    def size(self) -> tuple[int, int]:
        """How many records there are, and the sum of their lengths in words."""
        return int(np.count_nonzero(self.alive)), int(self.words[self.alive].sum())

    def summed(self, status: Status) -> Status:
        """The status with the count and the sum of these vectors."""
        vectors = int(np.count_nonzero(self.present))
        return replace(status, vectors=vectors, total=self.total if vectors else None, columns=self)

    def after(self, changes: Changes) -> Columns:
        """These columns with the changes."""
        if changes.epoch != self.epoch:
            return Columns(epoch=changes.epoch).after(changes)
        number, rows = max(changes.number, self.number), changes.rows
        if not rows and not changes.gone:
            self.number = number
            return self
        new = [row for row in rows if row[_TERMS] is not None]
        again = {row[_ID]: row for row in rows if row[_TERMS] is None}
        replaced, _ = self.rows(np.array([*changes.gone, *(row[_ID] for row in new)], dtype=np.int64))
        kept, there = self.rows(np.array([*again], dtype=np.int64))
        changed = list(compress(again.values(), there))
        table = np.concatenate([self.table, self._numbers(new)])
        if changed:
            table[kept] = self._numbers(changed)
        texts, first = [row[_TERMS] for row in new], len(self.table)
        self.postings.add(texts)
        words = np.array([text.count(" ") + 1 + bool(text) for text in texts], dtype=np.int64)
        metadata, read = self.metadata.copy(), self.read.copy()
        for record in (*changes.gone, *(row[_ID] for row in rows)):
            metadata.pop(record, None)
            read.pop(record, None)
        made = Columns(
            number=number,
            epoch=self.epoch,
            table=table,
            alive=np.concatenate([self.alive, np.ones(len(new), dtype=np.bool_)]),
            words=np.concatenate([self.words, words]),
            matrix=self.matrix,
            present=np.concatenate([self.present, np.zeros(len(new), dtype=np.bool_)]),
            total=self.total,
            postings=self.postings,
            labels=self.labels,
            metadata=metadata | {row[_ID]: json.loads(row[_METADATA]) for row in rows if row[_METADATA] != "{}"},
            read={**read, **changes.whole},
        )
        made.alive[replaced] = False
        made._without_vectors(replaced)
        places = [*range(first, len(table)), *kept.tolist()]
        vectors = zip(places, [row[_VECTOR] for row in (*new, *changed)], strict=True)
        made._with_vectors({place: vector for place, vector in vectors if vector is not None})
        if not new and not changes.gone:  # the order of the same records, which takes time to find
            orders = self.__dict__.keys() & {"by_id", "by_place", "size"}
            made.__dict__.update({name: self.__dict__[name] for name in orders})
        return made

    def _numbers(self, rows: Collection[Row]) -> Table:
        number = self.labels.setdefault  # numbers are never taken back, so that others may read them meanwhile
        numbers = [
            (*row[:_NUMBERS], *(number(label, len(self.labels)) for label in row[_NUMBERS:_LABELS])) for row in rows
        ]
        # Doubles hold microseconds since 1970 and positions exactly up to 2**53.
        return np.array(numbers, dtype=np.float64).reshape(-1, _LABELS)

    def _without_vectors(self, rows: Sequence[int] | Ids) -> None:
        held = np.unique(np.array(rows, dtype=np.int64))  # an id may be gone and come again
        held = held[self.present[held]]
        if len(held):
            self.total = self.total - self.matrix[held].sum(axis=0, dtype=np.float64)
            self.present[held] = False

    def _with_vectors(self, vectors: Mapping[int, bytes]) -> None:
        """Write vectors in place: whoever reads older columns does not look at rows that had no vector then."""
        if not vectors:
            return
        rows = [*vectors]
        self._without_vectors(rows)  # another process may have given a record another one
        given = vector_of(b"".join(vectors.values())).reshape(len(rows), -1)
        size, width = len(self.table), given.shape[1]
        if width != self.matrix.shape[1]:
            self.matrix, self.total = np.empty((0, width), dtype=np.float32), np.zeros(width)
            self.present[:] = False
        if len(self.matrix) < size:
            larger = np.zeros((size + size // SPARE, width), dtype=np.float32)
            larger[: len(self.matrix)] = self.matrix
            self.matrix = larger
        self.matrix[rows] = given
        self.present[rows] = True
        self.total = self.total + given.sum(axis=0, dtype=np.float64)

    def rows(self, ids: Ids) -> tuple[Ids, Mask]:
        """The rows of those of these records that there are, and which these are."""
        there, rows = self.by_id
        if not len(there) or not len(ids):
            return np.empty(0, dtype=np.int64), np.zeros(len(ids), dtype=np.bool_)
        places = np.minimum(np.searchsorted(there, ids), len(there) - 1)
        known = there[places] == ids
        return rows[places[known]], known

    def visible(self, where: Where, rows: Ids | None = None) -> Mask:
        """Which of these rows, or of all, the condition allows."""
        table = self.table if rows is None else self.table[rows]
        visible = self.alive.copy() if rows is None else self.alive[rows]
        at, turns, kinds, categories, origins, sessions = table[:, _AT], *table[:, _TURN:].T
        if hidden := joined(where.hidden):
            first, last = np.array(hidden, dtype=np.float64).T
            before = np.searchsorted(first, turns, side="right") - 1
            visible &= (before < 0) | (turns > last[before])
        for name, instant in where.fresh.items():
            label = self.labels.get(name, -1)
            visible &= (at >= to_micros(instant)) | ((kinds != label) & (categories != label))
        if where.scope.session is not None:
            visible &= sessions == self.labels.get(where.scope.session, -1)
        for column, names in ((kinds, where.kinds), (categories, where.categories), (origins, where.origins)):
            if names:
                visible &= np.isin(column, [self.labels.get(name, -1) for name in names])
        if where.since is not None:
            visible &= at >= to_micros(where.since)
        if where.until is not None:
            visible &= at < to_micros(where.until)
        for key, value in where.metadata.items():
            wanted = json.dumps(value)  # keeps types apart
            having = [n for n, stored in self.metadata.items() if key in stored and json.dumps(stored[key]) == wanted]
            visible &= np.isin(table[:, _ID], having)
        return visible

    def search(self, query: Query, where: Where, k: int) -> Matches:
        narrowed = where != Where(where.scope.owner)
        if query is None:
            rows = np.flatnonzero(self.visible(where))
            newest = self._best(rows, self.table[rows, _AT], k, -1)
            return Matches(newest.ids, np.zeros(len(newest.ids), dtype=np.float32))
        if isinstance(query, np.ndarray):
            rows = np.flatnonzero(self.present)
            rows = rows[self.visible(where, rows)] if narrowed else rows
            if not len(rows):
                return Matches.best({}, 0)
            # Where most are allowed, all are compared, as selecting them would copy them. Not with ``@``, which waits
            # for several threads: on a busy machine that took ten times as long.
            if 2 * len(rows) > len(self.table):
                scores = np.einsum("ij,j->i", self.matrix[: len(self.table)], query)[rows]
            else:
                scores = np.einsum("ij,j->i", self.matrix[rows], query)
            return self._best(rows, scores, k)
        # The highest BM25 over any of the terms.
        parts = [*self.having(query).values()]
        if not parts:
            return Matches.best({}, 0)
        total, length = self.size
        rows, counts = map(np.concatenate, zip(*parts, strict=True))
        sizes = [len(having) for having, _ in parts]
        weights = np.repeat([idf(total, size) for size in sizes], sizes)
        norms = BM25_K1 * (1 - BM25_B + BM25_B * self.words[rows] * (total / length))
        sums = np.bincount(rows, weights=weights * counts * (BM25_K1 + 1) / (counts + norms))
        among: Ids = np.flatnonzero(sums).astype(np.int64)
        among = among[self.visible(where, among)] if narrowed else among
        return self._best(among, sums[among].astype(np.float64), k)

    def having(self, terms: Iterable[str]) -> dict[str, tuple[Ids, Ids]]:
        """For each of these terms that some record has, the rows of those, and how often they have it."""
        found = {}
        for term in dict.fromkeys(terms):
            if (pairs := self.postings.of.get(term)) is not None:
                rows, counts = np.frombuffer(pairs[:], dtype=np.int64).reshape(-1, 2).T
                here = slice(np.searchsorted(rows, len(self.alive)))  # without those of later columns
                alive = self.alive[rows[here]]
                if alive.any():
                    found[term] = rows[here][alive], counts[here][alive]
        return found

    def _best(self, rows: Ids, scores: Array | Floats, k: int, sign: int = 1) -> Matches:
        """The k records with the highest scores; of equal scores the lower id comes first, or with -1 the higher."""
        if 0 < k < len(rows):
            kept = np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])
            rows, scores = rows[kept], scores[kept]
        ids = self.table[rows, _ID].astype(np.int64)
        order = np.lexsort((sign * ids, -scores))[: max(k, 0)]
        return Matches(ids[order], scores[order].astype(np.float32))

    def columns(self, ids: Ids, where: Where, radius: int) -> RecordColumns:
        seeds, _ = self.rows(ids)
        steps = np.arange(-radius, radius + 1)
        rows = self._at((_place(self.table[seeds, 1], self.table[seeds, 2])[:, None] + steps).ravel())
        return RecordColumns.of(self.table[rows[self.visible(where, rows)], :_TURN])

    def _at(self, places: Ids) -> Ids:
        """The rows of the records that stand there; several may share one place."""
        there, rows = self.by_place
        first = np.searchsorted(there, places)
        count = np.searchsorted(there, places, side="right") - first
        return np.unique(rows[np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())])

    def last_turns(self, sessions: Sequence[str | None]) -> list[int]:
        """The id of the last turn of each of these sessions that has one."""
        turns = self.table[self.alive & (self.table[:, _KIND] == self.labels.get(RecordKind.TURN, -1))]
        mine = [turns[turns[:, _SESSION] == self.labels.get(session or "", -1), _ID] for session in sessions]
        return [int(ids.max()) for ids in mine if len(ids)]

    def turns_before(self, records: Sequence[Record]) -> list[int]:
        """The ids of the turns before these records in their segments."""
        before = [(record.segment, record.ordinal - 1) for record in records]
        rows = self._at(_place(*np.array(before, dtype=np.float64).reshape(-1, 2).T))
        rows = rows[self.table[rows, _KIND] == self.labels.get(RecordKind.TURN, -1)]
        return list(map(int, self.table[rows, _ID]))

    def vector_rows(self, _: Scope, ids: Ids) -> tuple[Floats, Mask]:
        vectors, present = np.zeros((len(ids), self.matrix.shape[1]), dtype=np.float32), np.zeros(len(ids), np.bool_)
        rows, known = self.rows(ids)
        having = self.present[rows]
        present[np.flatnonzero(known)[having]] = True
        vectors[present] = self.matrix[rows[having]]
        return vectors, present

    def terms(self, _: Scope, words: Sequence[str] = (), *, near: str = "") -> dict[str, int]:
        terms = [*words]
        if near:
            edits = allowed_edits(near)
            alike = self.postings.by_initial.get(near[0], [])
            terms += [term for term in alike if abs(len(term) - len(near)) <= edits]
        return {term: len(rows) for term, (rows, _) in self.having(terms).items()}


def _place(segments: npt.NDArray[np.float64], ordinals: npt.NDArray[np.float64]) -> Ids:
    places: Ids = (segments.astype(np.int64) << 24) + ordinals.astype(np.int64)
    return places


@dataclass(slots=True, eq=False)
class _Kept:
    columns: Columns
    lock: threading.Lock = field(default_factory=threading.Lock)
    nbytes: int = 0


class RowIndex(SemanticIndex):
    """The base class of an index whose engine keeps rows. It searches in memory, whatever the engine.

    Args:
        cache_bytes: memory for the columns of the most recently used owners; a single one may exceed it.
    """

    def __init__(self, cache_bytes: int) -> None:
        self._cache_bytes = cache_bytes
        self._kept: OrderedDict[Scope, _Kept] = OrderedDict()
        self._nbytes = 0
        self._kept_lock = threading.Lock()

    @abstractmethod
    def changes(self, owner: Scope, known: Columns) -> Changes:
        """What became of the owner's records since these columns; their number and epoch are -1 at first."""

    def owner_columns(self, owner: Scope, changes: Callable[[Columns], Changes] | None = None) -> Columns:
        """The owner's records, as they are now; ``changes`` is called instead of the method."""
        with self._kept_lock:
            kept = self._kept.get(owner.owner) or self._kept.setdefault(owner.owner, _Kept(Columns()))
            self._kept.move_to_end(owner.owner)
        with kept.lock:
            columns = kept.columns
            rows = len(columns.alive)
            # If a thread was interrupted while it added rows, these are not to be added twice.
            if rows - columns.size[0] > rows // LOADED_AGAIN + SPARE or columns.postings.rows != rows:
                columns = Columns()
            columns = kept.columns = columns.after(
                self.changes(owner.owner, columns) if changes is None else changes(columns)
            )
        if (nbytes := columns.nbytes) != kept.nbytes:
            with self._kept_lock:
                if self._kept.get(owner.owner) is kept:
                    self._nbytes += nbytes - kept.nbytes
                    kept.nbytes = nbytes
                while self._nbytes > self._cache_bytes and len(self._kept) > 1:
                    _, oldest = self._kept.popitem(last=False)
                    self._nbytes -= oldest.nbytes
        return columns

    def last_columns(self, owner: Scope) -> Columns | None:
        """The owner's records as they were last read; None if they were not."""
        with self._kept_lock:
            kept = self._kept.get(owner.owner)
        return None if kept is None or kept.columns.number < 0 else kept.columns

    def search(self, query: Query, where: Where, k: int) -> Matches:
        return self.owner_columns(where.scope).search(query, where, k)

    def columns(self, ids: Ids, where: Where, radius: int) -> RecordColumns:
        return self.owner_columns(where.scope).columns(ids, where, radius)

    def vector_rows(self, owner: Scope, ids: Ids) -> tuple[Floats, Mask]:
        return self.owner_columns(owner).vector_rows(owner, ids)

    def terms(self, owner: Scope, words: Sequence[str] = (), *, near: str = "") -> dict[str, int]:
        return self.owner_columns(owner).terms(owner, words, near=near)

    def tails(
        self, owner: Scope, sessions: Sequence[str | None], status: Status | None = None
    ) -> dict[str | None, Record]:
        if status is None or status.columns is None:
            return super().tails(owner, sessions)
        turns = self.read_records(owner, status.columns.last_turns(sessions))
        return {turn.scope.session: turn for turn in turns}

    def turns_before(self, owner: Scope, records: Sequence[Record], status: Status | None = None) -> list[Record]:
        if status is None or status.columns is None:  # a writer may never need the columns
            return self.records(owner, self.stored_before(owner, records))
        return self.read_records(owner, status.columns.turns_before(records))

    @abstractmethod
    def stored_before(self, owner: Scope, records: Sequence[Record]) -> list[int]:
        """The ids of the turns before these records of the owner in their segments."""

    def snapshot(self, owner: Scope, status: Status | None) -> Columns:
        return self.owner_columns(owner) if status is None or status.columns is None else status.columns

    def fetch(self, ids: Ids, owner: Scope) -> Fetched:
        mine = self.last_columns(owner) or self.owner_columns(owner)
        return Fetched(self.read_records(owner, ids.tolist()), *mine.vector_rows(owner, ids))

    def read_records(self, owner: Scope, ids: Sequence[int]) -> list[Record]:
        """The same as `records`; what has just been read, as by a search, is not read again."""
        mine = self.last_columns(owner)
        read = {} if mine is None else mine.read
        held = {number: record for number in ids if (record := read.get(number)) is not None}
        there = {number: one if isinstance(one, Record) else record_in(one) for number, one in held.items()}
        if missing := [number for number in ids if number not in there]:
            there |= {record.id: record for record in self.records(owner, missing)}
            if len(read) + len(missing) > MOST_READ:
                for number in list(read)[: MOST_READ // 2]:
                    read.pop(number, None)
        read.update(there)
        records = [there[number] for number in ids if number in there]
        return [record.copied() if record.metadata else record for record in records]

    def records(self, owner: Scope, ids: Sequence[int]) -> list[Record]:
        """Those of these records that the owner has, in the given order."""
        return [record for record in self.get(ids) if record.scope.owner == owner.owner]

    def close(self) -> None:
        with self._kept_lock:
            self._kept.clear()
            self._nbytes = 0
