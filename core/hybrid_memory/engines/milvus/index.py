"""L2 in Milvus: records, vectors and words in collections of a server, or of Milvus Lite in this process."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Literal

import numpy as np

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.engines.instants import to_micros
from hybrid_memory.engines.milvus.address import Address
from hybrid_memory.engines.milvus.catalog import FLAT, PENDING, RECORDS, SETTLED, TERMS, VECTORS, WINDOW, Catalog
from hybrid_memory.engines.milvus.places import PlaceNames, place_before
from hybrid_memory.engines.milvus.rows import NARROWING, PLACE, Narrowing, Row, digest, owner_key, to_record, to_row
from hybrid_memory.engines.milvus.state import StateTable, applied_of
from hybrid_memory.engines.milvus.terms import TermCounts
from hybrid_memory.engines.milvus.vectors import Probing, VectorTable, matches
from hybrid_memory.errors import InvalidConfigError, StoreUnavailableError
from hybrid_memory.index.bm25 import bm25
from hybrid_memory.index.port import UNUSED, Entry, IndexSize, Matches, RecordColumns, Use
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.index.unconverted import Unconverted
from hybrid_memory.scope import Scope

WHOLE = [*NARROWING, *PLACE, "doc"]
WORDS = 4_096
SPELT = 64
"""Terms of any owner that are looked at for one that this owner has."""


class MilvusIndex(Unconverted):
    """The semantic index in a Milvus.

    Milvus has no transactions, so what belongs together is written in an order in which the next call repairs what a
    crash left half done: records first, the applied position last. Two things may stay behind: uses that are counted
    twice, and counts of terms that are off by one batch, until `train`. Two processes that write at once may lose
    counts of terms too; then scores differ a little, and nothing is lost.

    Args:
        url: ``milvus://[user:password@]host[:19530][/database][?prefix=name]``, ``milvus+tls://`` likewise, or
            ``milvus:///folder.db`` for Milvus Lite in this process (relative; with four slashes absolute).
        index_type: of the vectors: IVF_FLAT, HNSW, or FLAT, which is exact.
        nlist: inverted lists of an IVF_FLAT; nprobe: how many of them a search over all of an owner
            looks into, one in eight by default.
        m, ef_construction: of an HNSW.

    Raises:
        InvalidConfigError: the URL or a parameter is wrong.
        StoreUnavailableError: there is no such server.
    """

    def __init__(
        self,
        url: str,
        *,
        index_type: Literal["IVF_FLAT", "HNSW", "FLAT"] = "IVF_FLAT",
        nlist: int = 1024,
        nprobe: int | None = None,
        m: int = 16,
        ef_construction: int = 200,
    ) -> None:
        built: dict[str, dict[str, int]] = {
            "IVF_FLAT": {"nlist": nlist},
            "HNSW": {"M": m, "efConstruction": ef_construction},
            "FLAT": {},
        }
        if index_type not in built:
            raise InvalidConfigError(f"index_type must be one of {', '.join(built)}, got {index_type!r}")
        nprobe = max(1, nlist // 8) if nprobe is None else nprobe
        if not 1 <= nprobe <= nlist:
            raise InvalidConfigError(f"nprobe must be from 1 to nlist ({nlist}), got {nprobe}")
        self._catalog = Catalog(Address.read(url), (index_type, built[index_type]))
        self._state = StateTable(self._catalog)
        self._terms = TermCounts(self._catalog)
        self._places = PlaceNames(self._catalog, self._state)
        self._vectors = VectorTable(
            self._catalog, self._state, Probing(plain=nprobe, narrowed=nlist, exact=index_type != "HNSW")
        )
        self._writing = threading.RLock()
        self.size()

    def applied(self, owner: Scope) -> int:
        """The log position up to which records were derived."""
        name = applied_of(owner_key(owner))
        return int(self._state.get([name]).get(name, 0))

    def tails(self, owner: Scope, sessions: Sequence[str | None]) -> dict[str | None, Record]:
        """The last turn of each session."""
        self._catalog.check_open()
        last = self._places.tails(owner_key(owner), sessions)
        records = {record.id: record for record in self.get(list(last.values()))}
        return {session: records[number] for session, number in last.items() if number in records}

    def upsert(
        self, owner: Scope, entries: Sequence[Entry], *, after: int, upto: int, uses: Mapping[int, Use] = UNUSED
    ) -> bool:
        """Store records and move the applied position; see `SemanticIndex.upsert`."""
        key = owner_key(owner)
        with self._writing:
            if self.applied(owner) != after:
                return False
            rows = list({entry.record.id: to_row(entry) for entry in entries}.values())
            ids = [row["id"] for row in rows]
            self._catalog.write(PENDING, [{"id": row["id"], "owner": key, "dummy": FLAT} for row in rows])
            old = self._catalog.fetch(RECORDS, ids, ["id", "segment", "ordinal", "terms"])
            if old:
                self._vectors.drop([row["id"] for row in old])
            self._store(rows)
            self._terms.change((row["terms"] for row in rows), (row["terms"] for row in old))
            self._use(key, uses)
            # What says that all is done comes last.
            self._state.put({**self._places.after_writing(rows, old), applied_of(key): upto})
        return True

    def pending(self, owner: Scope, limit: int) -> list[tuple[Record, Record | None]]:
        """Records that wait for their vector, each with its predecessor."""
        waiting = self._catalog.select(PENDING, f'owner == "{owner_key(owner)}"', ["id"], limit=limit)
        records = sorted(self.get([row["id"] for row in waiting]), key=lambda record: record.id)
        found = self.get(self._places.at([place_before(record) for record in records]))
        turns = {(turn.segment, turn.ordinal): turn for turn in found if turn.kind is RecordKind.TURN}
        return [(record, turns.get(place_before(record))) for record in records]

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """Vectors that are stored already, by content hash."""
        self._catalog.check_open()
        return self._vectors.known(keys)

    def embedder(self) -> tuple[str, int] | None:
        """Name and width of the embedder behind the vectors."""
        return self._vectors.embedder()

    def put_vectors(
        self, embedder: tuple[str, int], keys: Mapping[int, bytes], vectors: Mapping[bytes, Floats]
    ) -> None:
        """Give records their vectors; see `SemanticIndex.put_vectors`."""
        with self._writing:
            self._vectors.prepare(embedder)
            waiting = [row["id"] for row in self._catalog.fetch(PENDING, list(keys), ["id"])]
            rows = self._catalog.fetch(RECORDS, waiting, NARROWING)
            missing = {keys[row["id"]] for row in rows} - vectors.keys()
            have = {**vectors, **self._vectors.known(list(missing))}
            rows = [row for row in rows if keys[row["id"]] in have]
            if rows:
                self._vectors.put(rows, keys, have)
                self._catalog.remove(PENDING, [row["id"] for row in rows])

    def centroid(self, owner: Scope) -> tuple[Floats, int]:
        """The mean of the owner's vectors, and their number."""
        return self._vectors.centroid(owner_key(owner))

    def train(self, owner: Scope) -> None:
        """Have the server index what is new, and count anew what a crash left wrong."""
        with self._writing:
            self._terms.repair()
            self._vectors.repair(owner_key(owner))
            with suppress(StoreUnavailableError):  # a server that is busy declines: it flushes by itself later
                for name in (RECORDS, TERMS, VECTORS):
                    self._catalog.flush(name, SETTLED)

    def nearest(self, vector: Floats, where: Where, k: int) -> Matches:
        """The k records with the highest inner product; see `SemanticIndex.nearest`."""
        return self._vectors.nearest(vector, Narrowing.of(where), k)

    def matching(self, terms: Sequence[str], where: Where, k: int) -> Matches:
        """The k records with the highest BM25; see `SemanticIndex.matching`.

        The server chooses the candidates by its own statistics, four times as many as asked for; what ranks them are
        ours, over the whole index. Of a text with more than 65,000 bytes of terms only the first are found.
        """
        self._catalog.check_open()
        weights, average = self._terms.weights(list(dict.fromkeys(terms))) if terms else ({}, 1.0)
        narrowing, limit = Narrowing.of(where), max(4 * k, k + 100)
        while weights and k > 0:
            limit = min(limit, WINDOW)
            rows = self._candidates(list(weights), narrowing.expression, limit)
            scores = {row["id"]: _score(row, weights, average) for row in rows if narrowing.visible(row["turn"])}
            if len(scores) >= k or len(rows) < limit or limit == WINDOW:
                return matches(scores, k)
            limit *= 4
        return matches({}, k)

    def latest(self, where: Where, k: int) -> Ids:
        """The k records that were said last; see `SemanticIndex.latest`."""
        return np.array(self._places.latest(where, k), dtype=np.int64)

    def spellings(self, term: str, owner: Scope, k: int) -> list[str]:
        """Terms of the owner's records that are one or two edits away; see `SemanticIndex.spellings`."""
        self._catalog.check_open()
        near = self._terms.near(term, SPELT)
        if not near:
            return []
        rows = self._candidates(near, Narrowing.of(Where(owner.owner)).expression, WINDOW)
        mine = {word for row in rows for word in row["terms"].split()}
        return [other for other in near if other in mine][:k]

    def similar(self, vector: Floats, owner: Scope, ids: Ids) -> Floats:
        """Inner product with each of these records; see `SemanticIndex.similar`."""
        self._catalog.check_open()
        mine = self._vectors.of(owner_key(owner), ids)
        return np.array([mine[n] @ vector if n in mine else np.nan for n in ids.tolist()], dtype=np.float32)

    def likeness(self, owner: Scope, ids: Ids) -> Floats:
        """Inner products among these records; see `SemanticIndex.likeness`."""
        self._catalog.check_open()
        mine = self._vectors.of(owner_key(owner), ids)
        width = len(next(iter(mine.values()), []))
        rows = np.array([mine.get(n, np.zeros(width, dtype=np.float32)) for n in ids.tolist()], dtype=np.float32)
        rows = rows.reshape(len(ids), width)
        products: Floats = rows @ rows.T
        return products

    def columns(self, ids: Ids, where: Where, radius: int) -> RecordColumns:
        """These records and their neighbours; see `IndexEngine.columns`."""
        self._catalog.check_open()
        return self._places.around(ids, Narrowing.of(where), radius)

    def get(self, ids: Sequence[int]) -> list[Record]:
        """The records with these ids, in the order given."""
        self._catalog.check_open()
        rows = self._catalog.fetch(RECORDS, list(dict.fromkeys(ids)), WHOLE)
        records = {row["id"]: to_record(row) for row in rows}
        return [records[number] for number in ids if number in records]

    def delete(self, ids: Sequence[int] | None) -> int:
        """Remove records with their terms and vectors."""
        if ids is None:
            self.reset()
            return 0
        with self._writing:
            fields = ["id", "owner", "session", "segment", "ordinal", "terms"]
            self._catalog.check_open()
            rows = self._catalog.fetch(RECORDS, list(dict.fromkeys(ids)), fields)
            gone = [row["id"] for row in rows]
            if gone:
                self._vectors.drop(gone)
                self._catalog.remove(PENDING, gone)
                self._state.put(self._places.after_deleting(rows))
                self._terms.change([], (row["terms"] for row in rows))
                self._catalog.remove(RECORDS, gone)
            return len(gone)

    def scrub(self) -> None:
        """Have the server merge its segments without what was deleted; when old ones go is the server's affair."""
        for name in (RECORDS, TERMS, VECTORS):
            self._catalog.compact(name)

    def reset(self) -> None:
        """Drop everything derived."""
        with self._writing:
            self._catalog.drop_all()

    def size(self) -> IndexSize:
        """Counts over all owners."""
        records, waiting = self._catalog.count(RECORDS), self._catalog.count(PENDING)
        return IndexSize(records=records, vectors=records - waiting, pending=waiting)

    def close(self) -> None:
        """Leave the server."""
        self._catalog.close()

    def _store(self, rows: Sequence[Row]) -> None:
        """Write rows of records; where the server has no full text, with their words for the filter."""
        if not self._catalog.full_text:
            rows = [{**row, "words": _words(row["terms"].split()), "dummy": FLAT} for row in rows]
        self._catalog.write(RECORDS, rows)

    def _use(self, owner: str, uses: Mapping[int, Use]) -> None:
        rows = self._catalog.fetch(RECORDS, list(uses), [*WHOLE, "terms"])
        self._store(
            [
                {
                    **row,
                    "uses": row["uses"] + uses[row["id"]].count,
                    "last_used": max(row["last_used"], to_micros(uses[row["id"]].at)),
                }
                for row in rows
                if row["owner"] == owner
            ]
        )

    def _candidates(self, terms: Sequence[str], expression: str, limit: int) -> list[Row]:
        """Records with one of the terms, with their terms."""
        if self._catalog.full_text:
            return self._catalog.matching(" ".join(terms), expression, limit)
        words = ", ".join(f'"{word}"' for word in _words(terms))
        return self._catalog.select(
            RECORDS, f"{expression} and array_contains_any(words, [{words}])", ["id", "terms", "turn"]
        )


def _words(terms: Sequence[str]) -> list[str]:
    """What stands for each term in the array of words; 4,096 at most."""
    return [digest("term", term) for term in dict.fromkeys(terms)][:WORDS]


def _score(row: Row, weights: Mapping[str, float], average: float) -> float:
    counts = Counter(row["terms"].split())
    found = [(weight, counts[term]) for term, weight in weights.items() if counts[term]]
    return bm25(found, (counts.total() + 1) / average)
