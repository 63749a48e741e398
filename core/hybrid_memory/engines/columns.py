"""One search for every store that keeps rows: an owner's records as columns in memory, up to date at each use."""

from __future__ import annotations

import json
import threading
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.engines.stored import record_in, to_micros
from hybrid_memory.index.bm25 import BM25_B, BM25_K1, idf
from hybrid_memory.index.port import (
    Explored,
    Fetched,
    Matches,
    Query,
    RecordColumns,
    Search,
    SemanticIndex,
    Status,
    best,
    corrected,
)
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.log.views import joined
from hybrid_memory.scope import Scope
from hybrid_memory.text.tokenize import allowed_edits

Row: TypeAlias = tuple[Any, ...]
"""A record as an engine hands it over, with the values of `ROW`."""

ROW = (
    *("id", "segment", "ordinal", "length", "at", "importance", "uses", "last_used", "turn"),
    *("kind", "category", "origin", "session", "metadata", "terms", "vector"),
)
"""Instants are in microseconds, 0 if there is none; ``metadata`` is JSON; ``vector`` is packed, of 32-bit floats.

``terms`` are separated by spaces, or None if the text is the one that was handed over before; ``vector`` is None if
there is none, or none that is new.
"""

_NUMBERS, _LABELS = 9, 13
"""Where the numbers of a row end, and then its labels, which the columns hold as numbers."""
_ID, _AT, _TURN, _KIND, _SESSION = 0, 4, 8, 9, 12

CACHE_BYTES = 512 << 20

FAN = 8
"""How many parts of an inverted index of about one size are merged into one."""

LOADED_AGAIN = 4
"""An owner is loaded again when one in this many rows stands for a record that is gone or was replaced."""

MOST_GONE = 1_000
"""The most removed records of an owner that are noted one by one; beyond, whoever has a copy loads all again."""

MOST_READ, RECORD_BYTES = 8_192, 1_000
"""The most records of an owner kept as they were read, and about what one takes."""

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


class Terms:
    """An inverted index of some rows: for each term the rows that have it, and how often. It never changes."""

    def __init__(self, numbers: Mapping[str, int], starts: Ids, rows: Ids, counts: Ids) -> None:
        self.numbers, self.starts, self.rows, self.counts = numbers, starts, rows, counts

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of(cls, texts: Sequence[str], first: int) -> Terms:
        """The index of texts, given as terms separated by spaces, in rows from ``first`` on."""
        words = [text.split() for text in texts]
        flat = list(chain.from_iterable(words))
        numbers = {term: number for number, term in enumerate(dict.fromkeys(flat))}
        codes = np.fromiter(map(numbers.__getitem__, flat), dtype=np.int64, count=len(flat))
        rows = np.repeat(np.arange(len(texts)), [len(text) for text in words])
        pairs, counts = np.unique(codes * max(len(texts), 1) + rows, return_counts=True)
        codes, rows = np.divmod(pairs, max(len(texts), 1))
        return cls(numbers, np.searchsorted(codes, np.arange(len(numbers) + 1)), rows + first, counts.astype(np.int64))

    @classmethod
    def merged(cls, parts: Sequence[Terms]) -> Terms:
        numbers: dict[str, int] = {}
        codes = [
            np.repeat(
                np.array([numbers.setdefault(term, len(numbers)) for term in part.numbers], dtype=np.int64),
                np.diff(part.starts),
            )
            for part in parts
        ]
        every = np.concatenate(codes)
        order = np.argsort(every, kind="stable")
        return cls(
            numbers,
            np.searchsorted(every[order], np.arange(len(numbers) + 1)),
            np.concatenate([part.rows for part in parts])[order],
            np.concatenate([part.counts for part in parts])[order],
        )

    def occurrences(self, term: str) -> tuple[Ids, Ids] | None:
        """The rows that have the term, and how often; None if there are none."""
        number = self.numbers.get(term)
        if number is None:
            return None
        place = slice(self.starts[number], self.starts[number + 1])
        return self.rows[place], self.counts[place]

    @cached_property
    def by_initial(self) -> dict[str, list[str]]:
        """The terms by their first letter."""
        terms: dict[str, list[str]] = {}
        for term in self.numbers:
            terms.setdefault(term[0], []).append(term)
        return terms


_NO_IDS: Ids = np.empty(0, dtype=np.int64)
_ORDERS = ("ids", "order", "sorted_ids", "places", "size")
"""Properties of `Columns` that depend on which records there are, and on their places."""


@dataclass(frozen=True)
class Columns:
    """The records of an owner at one instant. It never changes: `after` makes the next one.

    Attributes:
        number, epoch: see `Changes`.
        table: a row for each record that there is or was, with the numbers of `ROW` and its labels as numbers.
        alive: the rows of records that there are.
        words: how many terms each row has, plus one.
        matrix: a vector for each row, and empty ones for more; present: which have one.
        terms: inverted indexes, each of other rows.
        labels: the number of each label; metadata: that of records that have any, by id.
        read: records that were read whole, by id; those that were sent as rows remain rows until they are needed.
    """

    number: int = -1
    epoch: int = -1
    table: Table = field(default_factory=lambda: np.empty((0, _LABELS)))
    alive: Mask = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    words: Ids = field(default_factory=lambda: _NO_IDS)
    matrix: Floats = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))
    present: Mask = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    terms: tuple[Terms, ...] = ()
    labels: dict[str | None, int] = field(default_factory=dict)
    metadata: dict[int, dict[str, Any]] = field(default_factory=dict)
    read: dict[int, Record | Row] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use, about."""
        return self.table.nbytes + self.matrix.nbytes + 24 * sum(map(len, self.terms)) + RECORD_BYTES * len(self.read)

    @cached_property
    def ids(self) -> Ids:
        return self.table[:, _ID].astype(np.int64)

    @cached_property
    def order(self) -> Ids:
        """The rows of records that there are, by id."""
        rows = np.flatnonzero(self.alive)
        return rows[np.argsort(self.ids[rows], kind="stable")]

    @cached_property
    def sorted_ids(self) -> Ids:
        """The ids of the records that there are."""
        return self.ids[self.order]

    @cached_property
    def places(self) -> tuple[Ids, Ids]:
        """Where records stand in their segments, in order, and the row of each."""
        rows = np.flatnonzero(self.alive)
        keys = _place(self.table[rows, 1], self.table[rows, 2])
        order = np.argsort(keys, kind="stable")
        return keys[order], rows[order]

    @cached_property
    def size(self) -> tuple[int, int]:
        """How many records there are, and the sum of their lengths in words."""
        return int(np.count_nonzero(self.alive)), int(self.words[self.alive].sum())

    @cached_property
    def total(self) -> npt.NDArray[np.float64]:
        """The sum of all vectors."""
        total: npt.NDArray[np.float64] = self.matrix[self._with_vector].sum(axis=0, dtype=np.float64)
        return total

    @cached_property
    def _with_vector(self) -> Ids:
        return np.flatnonzero(self.present & self.alive)

    def summed(self, status: Status) -> Status:
        """The status with the count and the sum of these vectors."""
        vectors = len(self._with_vector)
        return replace(status, vectors=vectors, total=self.total if vectors else None, columns=self)

    def after(self, changes: Changes) -> Columns:
        """These columns with the changes."""
        if changes.epoch != self.epoch:
            return replace(Columns(), epoch=changes.epoch).after(changes)
        rows, number = changes.rows, max(changes.number, self.number)
        if not rows and not changes.gone:
            return self if number == self.number else self._ordered(replace(self, number=number))
        alive, metadata = self.alive.copy(), {**self.metadata}
        alive[self._rows(np.array([*changes.gone], dtype=np.int64))[0]] = False
        new = [row for row in rows if row[_TERMS] is not None]
        again = [row for row in rows if row[_TERMS] is None]
        there, _ = self._rows(np.array([row[_ID] for row in new], dtype=np.int64))
        alive[there] = False
        for number_gone in changes.gone:
            metadata.pop(number_gone, None)
        for row in rows:
            if row[_METADATA] == "{}":
                metadata.pop(row[_ID], None)
            else:
                metadata[row[_ID]] = json.loads(row[_METADATA])
        table = np.concatenate([self.table, self._table(new)])
        places, known = self._rows(np.array([row[_ID] for row in again], dtype=np.int64))
        again = [row for row, one in zip(again, known.tolist(), strict=True) if one]
        if again:
            table[places] = self._table(again)
        first = len(self.table)
        given = [(first + n, row[_VECTOR]) for n, row in enumerate(new) if row[_VECTOR] is not None]
        given += [
            (place, row[_VECTOR]) for place, row in zip(places.tolist(), again, strict=True) if row[_VECTOR] is not None
        ]
        # Another process may have given an id another vector, which takes the place of the first.
        old_rows = [place for place, _ in given if place < first and self.present[place]]
        old_vectors = self.matrix[old_rows]
        matrix, present = self._vectors(given, len(table))
        texts = [row[_TERMS] for row in new]
        terms = (*self.terms, Terms.of(texts, first)) if texts else self.terms
        while len(terms) >= FAN and len(terms[-FAN]) <= FAN * max(len(terms[-1]), 1):  # many of about one size
            terms = (*terms[:-FAN], Terms.merged(terms[-FAN:]))
        changed = {*changes.gone, *(row[_ID] for row in rows)}
        made = Columns(
            number=number,
            epoch=self.epoch,
            table=table,
            alive=np.concatenate([alive, np.ones(len(new), dtype=np.bool_)]),
            words=np.concatenate(
                [self.words, np.array([text.count(" ") + 1 + bool(text) for text in texts], dtype=np.int64)]
            ),
            matrix=matrix,
            present=present,
            terms=terms,
            labels=self.labels,
            metadata=metadata,
            read={
                **{number: record for number, record in self.read.copy().items() if number not in changed},
                **changes.whole,
            },
        )
        if not new and not changes.gone:
            self._ordered(made)
        if "total" in self.__dict__ and np.array_equal(matrix[old_rows], old_vectors):
            before, now = np.zeros(len(table), dtype=np.bool_), present & made.alive
            before[:first] = self.present & self.alive
            added, lost = (
                matrix[np.flatnonzero(mask)].sum(axis=0, dtype=np.float64) for mask in (now & ~before, before & ~now)
            )
            made.__dict__["total"] = self.total + added - lost
        return made

    def _ordered(self, made: Columns) -> Columns:
        """These columns, with the order of the same records, which takes time to find."""
        made.__dict__.update({name: self.__dict__[name] for name in _ORDERS if name in self.__dict__})
        return made

    def _table(self, rows: Sequence[Row]) -> Table:
        number = self.labels.setdefault  # numbers are never taken back, so that others may read them meanwhile
        numbers = [
            (*row[:_NUMBERS], *(number(label, len(self.labels)) for label in row[_NUMBERS:_LABELS])) for row in rows
        ]
        # Doubles hold microseconds since 1970 and positions exactly up to 2**53.
        return np.array(numbers, dtype=np.float64).reshape(-1, _LABELS)

    def _vectors(self, given: Sequence[tuple[int, bytes]], size: int) -> tuple[Floats, Mask]:
        """A matrix of at least ``size`` rows with these vectors, and which have one.

        It is written in place: whoever reads older columns does not look at rows that had no vector then.
        """
        matrix = self.matrix
        present = np.concatenate([self.present, np.zeros(size - len(self.present), dtype=np.bool_)])
        width = len(given[0][1]) // 4 if given else matrix.shape[1]
        if len(matrix) < size or matrix.shape[1] != width:
            matrix = np.zeros((size + size // FAN, width), dtype=np.float32)
            if self.matrix.shape[1] == width:
                matrix[: len(self.matrix)] = self.matrix
            else:
                present[:] = False
        if given:
            rows = [row for row, _ in given]
            matrix[rows] = np.frombuffer(b"".join(vector for _, vector in given), dtype=np.float32).reshape(-1, width)
            present[rows] = True
        return matrix, present

    def _rows(self, ids: Ids) -> tuple[Ids, Mask]:
        """The rows of those of these records that there are, and which these are."""
        if not len(self.order) or not len(ids):
            return _NO_IDS, np.zeros(len(ids), dtype=np.bool_)
        places = np.minimum(np.searchsorted(self.sorted_ids, ids), len(self.order) - 1)
        known = self.sorted_ids[places] == ids
        return self.order[places[known]], known

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

    def nearest(self, vector: Floats, where: Where, k: int) -> Matches:
        """Of the records with a vector those with the highest inner product; see `IndexEngine.search`."""
        rows = self._with_vector
        if where != Where(where.scope.owner):
            rows = rows[self.visible(where, rows)]
        if not len(rows) or k < 1:
            return Matches.best({}, 0)
        # Where most are allowed, all are compared, as selecting them would copy them. Not with ``@``, which waits for
        # several threads: on a busy machine that took ten times as long.
        if 2 * len(rows) > len(self.table):
            scores = np.einsum("ij,j->i", self.matrix[: len(self.table)], vector)[rows]
        else:
            scores = np.einsum("ij,j->i", self.matrix[rows], vector)
        if k < len(rows):  # far fewer
            kept = np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])
            rows, scores = rows[kept], scores[kept]
        return best(self.ids[rows], scores, k)

    def having(self, terms: Iterable[str]) -> dict[str, tuple[Ids, Ids]]:
        """For each of these terms that there is, the rows of records that have it, and how often they do."""
        return {term: rows for term in dict.fromkeys(terms) if (rows := self._having(term)) is not None}

    def matching(self, parts: Sequence[tuple[Ids, Ids]], where: Where, k: int) -> Matches:
        """See `SemanticIndex.matching`; with all of the terms, given as what `having` has of each."""
        total, length = self.size
        if not parts or k < 1:
            return Matches.best({}, 0)
        rows = np.concatenate([part[0] for part in parts])
        counts = np.concatenate([part[1] for part in parts])
        weights = np.repeat([idf(total, len(part[0])) for part in parts], [len(part[0]) for part in parts])
        norms = BM25_K1 * (1 - BM25_B + BM25_B * self.words[rows] * (total / length))
        sums = np.bincount(rows, weights=weights * counts * (BM25_K1 + 1) / (counts + norms))
        among: Ids = np.flatnonzero(sums).astype(np.int64)
        if where != Where(where.scope.owner):
            among = among[self.visible(where, among)]
        return best(self.ids[among], sums[among].astype(np.float64), k)

    def _having(self, term: str) -> tuple[Ids, Ids] | None:
        """The rows of records with the term, and how often they have it; None if there are none."""
        parts = [found for part in self.terms if (found := part.occurrences(term)) is not None]
        if not parts:
            return None
        rows, counts = parts[0]
        if parts[1:]:
            rows, counts = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        alive = self.alive[rows]
        if not alive.all():
            rows, counts = rows[alive], counts[alive]
        return (rows, counts) if len(rows) else None

    def latest(self, where: Where, k: int) -> Matches:
        """See `SemanticIndex.latest`."""
        rows = np.flatnonzero(self.visible(where))
        at = self.table[rows, _AT]
        if 0 < k < len(rows):
            kept = at >= np.partition(at, len(at) - k)[len(at) - k]
            rows, at = rows[kept], at[kept]
        order = np.lexsort((-self.ids[rows], -at))[: max(k, 0)]
        return Matches(self.ids[rows[order]], np.zeros(len(order), dtype=np.float32))

    def search(self, query: Query, where: Where, k: int) -> Matches:
        """See `IndexEngine.search`."""
        if query is None:
            return self.latest(where, k)
        if isinstance(query, np.ndarray):
            return self.nearest(query, where, k)
        return self.matching([*self.having(query).values()], where, k)

    def around(self, ids: Ids, where: Where, radius: int) -> RecordColumns:
        """See `IndexEngine.columns`."""
        keys, rows_by_place = self.places
        seeds, _ = self._rows(ids)
        steps = np.arange(-radius, radius + 1)
        near = (_place(self.table[seeds, 1], self.table[seeds, 2])[:, None] + steps).ravel()
        first = np.searchsorted(keys, near)
        count = np.searchsorted(keys, near, side="right") - first  # several may share one
        rows = np.unique(rows_by_place[np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())])
        return RecordColumns.of(self.table[rows[self.visible(where, rows)], :_TURN])

    def last_turns(self, sessions: Sequence[str | None]) -> list[int]:
        """The id of the last turn of each of these sessions that has one."""
        turns = self.alive & (self.table[:, _KIND] == self.labels.get(RecordKind.TURN, -1))
        mine = [turns & (self.table[:, _SESSION] == self.labels.get(session or "", -1)) for session in sessions]
        return [int(self.ids[rows].max()) for rows in mine if rows.any()]

    def turns_before(self, records: Sequence[Record]) -> list[int]:
        """The ids of the turns before these records in their segments."""
        keys, rows_by_place = self.places
        later = [(record.segment, record.ordinal) for record in records if record.ordinal]
        before = np.unique(_place(*np.array(later, dtype=np.float64).reshape(-1, 2).T) - 1)
        first, end = np.searchsorted(keys, before), np.searchsorted(keys, before, side="right")
        rows = np.array([row for a, b in zip(first, end, strict=True) for row in rows_by_place[a:b]], dtype=np.int64)
        turns: list[int] = self.ids[rows[self.table[rows, _KIND] == self.labels.get(RecordKind.TURN, -1)]].tolist()
        return turns

    def vector_rows(self, ids: Ids) -> tuple[Floats, Mask]:
        """See `SemanticIndex.vector_rows`."""
        vectors, present = np.zeros((len(ids), self.matrix.shape[1]), dtype=np.float32), np.zeros(len(ids), np.bool_)
        rows, known = self._rows(ids)
        having = self.present[rows]
        present[np.flatnonzero(known)[having]] = True
        vectors[present] = self.matrix[rows[having]]
        return vectors, present

    def similarity(self, ids: Ids, vector: Floats | None) -> Floats:
        """The inner product of each of these records with the vector; NaN where one of the two is missing."""
        similarity = np.full(len(ids), np.nan, dtype=np.float32)
        rows, known = self._rows(ids)
        present = self.present[rows]
        if vector is not None and present.any():
            similarity[np.flatnonzero(known)[present]] = self.matrix[rows[present]] @ vector
        return similarity

    def counts(self, words: Sequence[str], near: str = "") -> dict[str, int]:
        """See `IndexEngine.terms`."""
        terms = [*words]
        if near:
            edits = allowed_edits(near)
            alike = chain.from_iterable(part.by_initial.get(near[0], ()) for part in self.terms)
            terms += [term for term in alike if abs(len(term) - len(near)) <= edits]
        return {term: len(rows) for term, (rows, _) in self.having(terms).items()}


_METADATA, _TERMS, _VECTOR = 13, 14, 15


def _place(segments: npt.NDArray[np.float64], ordinals: npt.NDArray[np.float64]) -> Ids:
    places: Ids = (segments.astype(np.int64) << 24) + ordinals.astype(np.int64)
    return places


@dataclass(slots=True, eq=False)
class _Kept:
    lock: threading.Lock = field(default_factory=threading.Lock)
    columns: Columns = field(default_factory=Columns)
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
        ...

    def owner_columns(self, owner: Scope, changes: Callable[[Columns], Changes] | None = None) -> Columns:
        """The owner's records, as they are now; ``changes`` is called instead of the method."""
        with self._kept_lock:
            kept = self._kept.setdefault(owner.owner, _Kept())
            self._kept.move_to_end(owner.owner)
        with kept.lock:
            columns = kept.columns
            gone = len(columns.alive) - columns.size[0]
            if gone > len(columns.alive) // LOADED_AGAIN + FAN:
                columns = Columns()
            columns = kept.columns = columns.after(
                self.changes(owner.owner, columns) if changes is None else changes(columns)
            )
        if columns.nbytes != kept.nbytes:
            with self._kept_lock:
                if self._kept.get(owner.owner) is kept:
                    self._nbytes += columns.nbytes - kept.nbytes
                    kept.nbytes = columns.nbytes
                while self._nbytes > self._cache_bytes and len(self._kept) > 1:
                    _, oldest = self._kept.popitem(last=False)
                    self._nbytes -= oldest.nbytes
        return columns

    def _snapshot(self, owner: Scope, status: Status | None) -> Columns:
        """The owner's records as they were read for this status, or as they are now."""
        return self.owner_columns(owner) if status is None or status.columns is None else status.columns

    def vectors_of(self, owner: Scope, ids: Sequence[int | bytes]) -> dict[int | bytes, Floats]:
        """The vectors of these records of the owner."""
        numbers = np.array([number for number in ids if isinstance(number, int)], dtype=np.int64)
        rows, present = self.vector_rows(owner, numbers)
        return dict(zip(numbers[present].tolist(), rows[present], strict=True))

    def search(self, query: Query, where: Where, k: int) -> Matches:
        return self.owner_columns(where.scope).search(query, where, k)

    def columns(self, ids: Ids, where: Where, radius: int) -> RecordColumns:
        return self.owner_columns(where.scope).around(ids, where, radius)

    def vector_rows(self, owner: Scope, ids: Ids) -> tuple[Floats, Mask]:
        return self.owner_columns(owner).vector_rows(ids)

    def terms(self, owner: Scope, words: Sequence[str] = (), *, near: str = "") -> dict[str, int]:
        return self.owner_columns(owner).counts(words, near)

    def corrections(self, words: Sequence[str], owner: Scope, status: Status | None = None) -> dict[str, str]:
        return corrected(words, self._snapshot(owner, status).counts)

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
        owner = where.scope.owner
        mine = self._snapshot(owner, status)
        by_words = [search.query for search in searches if isinstance(search.query, Sequence)]
        having = mine.having(chain(words, *by_words))
        counts = {term: len(rows) for term, (rows, _) in having.items()}
        matches = []
        for search in searches:
            if isinstance(search.query, Sequence):
                chosen = self._chosen({term: counts[term] for term in search.query if term in counts})
                matches.append(mine.matching([having[term] for term in chosen], search.where, search.k))
            else:
                matches.append(mine.search(search.query, search.where, search.k))
        places = mine.around(np.unique(np.concatenate([_NO_IDS, *(each.ids for each in matches)])), where, radius)
        similarity = mine.similarity(places.ids, vector)
        return Explored(matches, places, similarity, {term: counts[term] for term in words if term in counts})

    def records(self, owner: Scope, ids: Sequence[int]) -> list[Record]:
        """Those of these records that the owner has, in the given order."""
        return [record for record in self.get(ids) if record.scope.owner == owner.owner]

    def kept_columns(self, owner: Scope) -> Columns:
        """The owner's records as they were last read; none if they were not."""
        with self._kept_lock:
            kept = self._kept.get(owner.owner)
        return Columns() if kept is None else kept.columns

    def read_records(self, owner: Scope, ids: Sequence[int]) -> list[Record]:
        """The same as `records`; what has just been read, as by a search, is not read again."""
        read = self.kept_columns(owner).read
        there = {
            number: record if isinstance(record, Record) else record_in(record)
            for number in ids
            if (record := read.get(number)) is not None
        }
        if missing := [number for number in ids if number not in there]:
            there |= {record.id: record for record in self.records(owner, missing)}
            if len(read) + len(missing) > MOST_READ:
                for number in list(read)[: MOST_READ // 2]:
                    read.pop(number, None)
        read.update(there)
        records = [there[number] for number in ids if number in there]
        return [record.copied() if record.metadata else record for record in records]

    def fetch(self, ids: Ids, owner: Scope) -> Fetched:
        mine = self.kept_columns(owner)
        mine = self.owner_columns(owner) if mine.number < 0 else mine
        return Fetched(self.read_records(owner, ids.tolist()), *mine.vector_rows(ids))

    def close(self) -> None:
        with self._kept_lock:
            self._kept.clear()
            self._nbytes = 0
