"""L2 in Milvus: records, vectors and terms in collections of a server, or of Milvus Lite in this process."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Unpack

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.engines.milvus.catalog import FLAT, LEAST_FLUSHED, PENDING, RECORDS, TERMS, VECTORS, WINDOW, Catalog
from hybrid_memory.engines.milvus.rows import NARROWING, NEVER, WHOLE, Narrowing, digest, owner_key, to_record, to_row
from hybrid_memory.engines.milvus.tables import EMBEDDER, TermCounts, VectorTable, name_of, unpacked
from hybrid_memory.engines.stored import columns_of, to_micros, vectors_at
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.index.bm25 import ranked
from hybrid_memory.index.port import Entry, IndexSize, Matches, Move, Query, RecordColumns, SemanticIndex, Status
from hybrid_memory.index.record import Keys, Record, RecordKind, Vectors, Where
from hybrid_memory.runtime.tasks import ENGINE_SECONDS
from hybrid_memory.scope import Scope

HOUR = 3_600_000_000
CENTURY = 100 * 365 * 24 * HOUR


class MilvusIndex(SemanticIndex):
    """The semantic index in Milvus.

    Milvus has no transactions. Writes are ordered so that the next call repairs what a crash left half done: records
    first, the applied position last. Two things may remain: uses counted twice, and term counts that are off by one
    batch until `train`. Two processes that write at the same time may also lose term counts; scores then differ
    slightly, and no data is lost. Nor can Milvus compare and change a position atomically: if two processes repair an
    index after its log was restored, the slower one may drop records written in between. It moves the position back
    last, so that the next search indexes them again.

    Args:
        url: ``milvus://[user:password@]host[:19530][/database][?prefix=name]``, ``milvus+tls://`` for TLS, or
            ``milvus:///folder.db`` for Milvus Lite in this process (relative; with four slashes absolute).
        index_type: the vector index: IVF_FLAT, HNSW, or FLAT, which is exact.
        nlist: the number of inverted lists of an IVF_FLAT index, of which an unfiltered search probes one in eight.
        engine_timeout: seconds that a read may take while a caller waits; see `OrchestrationConfig.engine_timeout`.

    Raises:
        InvalidConfigError: the URL is invalid.
        StoreUnavailableError: the server does not answer.
    """

    def __init__(
        self, url: str, *, index_type: str = "IVF_FLAT", nlist: int = 1024, engine_timeout: float = ENGINE_SECONDS
    ) -> None:
        built = {"IVF_FLAT": {"nlist": nlist}, "HNSW": {"M": 16, "efConstruction": 200}}.get(index_type, {})
        self._catalog = Catalog(url, (index_type, built), engine_timeout=engine_timeout)
        self._terms = TermCounts(self._catalog)
        self._vectors = VectorTable(self._catalog, lists=nlist, exact=index_type != "HNSW")
        self._writing = threading.RLock()
        self._vectors.embedder()  # connects

    def status(
        self, owner: Scope | None = None, *, sessions: Sequence[str | None] = (), pending: int = 0, sums: bool = False
    ) -> Status:
        key = "" if owner is None else owner_key(owner)
        tails = {session: name_of("tail", key, digest("session", session)) for session in sessions}
        named = [EMBEDDER, name_of("applied", key), name_of("anchor", key), *([name_of("sum", key)] if sums else [])]
        stored = self._catalog.documents([*named, *tails.values()])
        pending_ids = self._catalog.select(PENDING, f'owner == "{key}"', ["id"], limit=pending) if pending else []
        count, total = unpacked(stored.get(name_of("sum", key)))
        return Status(
            applied=int(stored.get(name_of("applied", key), 0)),
            anchor=stored.get(name_of("anchor", key), ""),
            embedder=(stored[EMBEDDER][0], stored[EMBEDDER][1]) if EMBEDDER in stored else None,
            tails={session: stored[name] for session, name in tails.items() if name in stored},
            pending=sorted(row["id"] for row in pending_ids),
            vectors=count,
            total=total,
            size=self._size() if sums and owner is None else IndexSize(0, 0, 0),
        )

    def upsert(self, owner: Scope, entries: Sequence[Entry], **move: Unpack[Move]) -> bool:
        key = owner_key(owner)
        with self._writing:
            status = self.status(owner)
            if status.applied != move["after"] or move.get("seen") not in (None, status.anchor):
                return False
            self._remove(move.get("gone", ()), key)
            rows = list({entry.record.id: to_row(entry) for entry in entries}.values())
            ids = [row["id"] for row in rows]
            self._catalog.write(PENDING, [{"id": row["id"], "owner": key, "dummy": FLAT} for row in rows])
            if old := self._catalog.fetch(RECORDS, ids, ["id", "owner", "terms"]):
                self._vectors.drop([row["id"] for row in old])
            self._catalog.write(RECORDS, rows)
            self._terms.change(rows, old)
            uses = move.get("uses", {})
            used = [row for row in self._catalog.fetch(RECORDS, list(uses), [*WHOLE, "terms"]) if row["owner"] == key]
            for row in used:
                use = uses[row["id"]]
                row |= {"uses": row["uses"] + use.count, "last_used": max(row["last_used"], to_micros(use.at))}
            self._catalog.write(RECORDS, used)
            # The newest time, and the last turns of sessions.
            values = [(name_of("newest", row["owner"]), row["at"]) for row in rows]
            turns = [row for row in rows if row["kind"] == RecordKind.TURN]
            values += [(name_of("tail", row["owner"], row["session"]), row["id"]) for row in turns]
            highest = self._catalog.documents(name for name, _ in values)
            for name, value in values:
                highest[name] = max(value, highest.get(name, value))
            # What says that all is done comes last.
            done = {name_of("anchor", key): move.get("anchor", ""), name_of("applied", key): move["upto"]}
            self._catalog.put_documents({**highest, **done})
        return True

    def put_vectors(self, embedder: tuple[str, int], keys: Keys, vectors: Vectors) -> None:
        with self._writing:
            self._vectors.prepare(embedder)
            pending_ids = [row["id"] for row in self._catalog.fetch(PENDING, list(keys), ["id"])]
            rows = self._catalog.fetch(RECORDS, pending_ids, NARROWING)
            missing = {keys[row["id"]] for row in rows} - vectors.keys()
            have = {**vectors, **self._vectors.known(list(missing))}
            if rows := [row for row in rows if keys[row["id"]] in have]:
                self._vectors.put(rows, keys, have)
                self._catalog.remove(PENDING, [row["id"] for row in rows])

    def train(self, owner: Scope) -> None:
        """Make the server index new data, and recount terms whose counts a crash left wrong."""
        with self._writing:
            self._terms.repair(owner_key(owner))
            self._vectors.repair(owner_key(owner))
            with suppress(StoreUnavailableError):  # a server that is busy declines: it flushes by itself later
                for name in (RECORDS, TERMS, VECTORS):
                    self._catalog.flush(name, LEAST_FLUSHED)

    def search(self, query: Query, where: Where, k: int) -> Matches:
        self._catalog.check_open()
        narrowing = Narrowing.of(where)
        if isinstance(query, np.ndarray):
            return self._vectors.nearest(query, narrowing, k)
        if query is not None:
            # The server picks candidates by its own statistics, four times as many as requested; they are then ranked
            # by the owner's. Of a text with more than 65,000 bytes of terms, only the first terms can be found.
            counts, records, length = self._terms.of(owner_key(where.scope), query)
            limit = max(4 * k, k + 100)
            while counts and k > 0:
                limit = min(limit, WINDOW)
                rows = self._catalog.matching(" ".join(counts), narrowing.expression, limit)
                texts = ((row["id"], Counter(row["terms"].split())) for row in narrowing.sifted(rows))
                found = ranked(texts, counts, records, length, k)
                if len(found.ids) >= k or len(rows) < limit or limit == WINDOW:
                    return found
                limit *= 4
            return Matches.best({}, 0)
        # The newest ones, from increasingly large windows of time.
        name = name_of("newest", owner_key(where.scope))
        upper = self._catalog.documents([name]).get(name)
        if upper is not None and where.until is not None:
            upper = min(upper, to_micros(where.until))
        newest: list[tuple[int, int]] = []
        width = HOUR
        while upper is not None and len(newest) < k:
            lower = upper - width if width <= CENTURY else NEVER
            window = f"{narrowing.expression} and at > {lower} and at <= {upper}"
            rows = self._catalog.select(RECORDS, window, ["id", "at", "turn"])
            newest += sorted(((row["at"], row["id"]) for row in narrowing.sifted(rows)), reverse=True)
            upper, width = lower if lower > NEVER else None, 32 * width
        ids = np.array([number for _, number in newest[:k]], dtype=np.int64)
        return Matches(ids, np.zeros(len(ids), dtype=np.float32))

    def columns(self, ids: Ids, where: Where, radius: int) -> RecordColumns:
        seeds = self._catalog.fetch(RECORDS, list(dict.fromkeys(ids.tolist())), ["id", "segment", "ordinal"])
        places = {(row["segment"], row["ordinal"] + step) for row in seeds for step in range(-radius, radius + 1)}
        segments, ordinals = ([*{place[part] for place in places}] for part in (0, 1))
        mine = f'owner == "{owner_key(where.scope)}" and segment in {segments} and ordinal in {ordinals}'
        rows = self._catalog.select(RECORDS, mine, WHOLE) if seeds else []
        near = [to_record(row) for row in rows if (row["segment"], row["ordinal"]) in places]
        return columns_of(filter(where.allows, near))  # narrowed here: there are few

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        self._catalog.check_open()
        return self._vectors.known(keys)

    def vector_rows(self, owner: Scope, ids: Ids) -> tuple[Floats, npt.NDArray[np.bool_]]:
        self._catalog.check_open()
        return vectors_at(ids, self._vectors.of(owner_key(owner), ids.tolist()))

    def terms(self, owner: Scope, words: Sequence[str] = (), *, near: str = "") -> dict[str, int]:
        self._catalog.check_open()
        key = owner_key(owner)
        counts = self._terms.of(key, words)[0] if words else {}
        return dict.fromkeys(self._terms.near(key, near), 1) | counts if near else counts

    def get(self, ids: Sequence[int]) -> list[Record]:
        rows = self._catalog.fetch(RECORDS, list(dict.fromkeys(ids)), WHOLE)
        records = {row["id"]: to_record(row) for row in rows}
        return [records[number] for number in ids if number in records]

    def delete(self, ids: Sequence[int] | None) -> int:
        with self._writing:
            if ids is None:
                count = self._size().records
                self._catalog.drop_all()
                return count
            return self._remove(ids)

    def scrub(self) -> None:
        """Make the server rewrite its segments without deleted rows; it decides when to remove the old ones."""
        for name in (RECORDS, TERMS, VECTORS):
            self._catalog.compact(name)

    def close(self) -> None:
        self._catalog.close()

    def _size(self) -> IndexSize:
        records, pending = self._catalog.count(RECORDS), self._catalog.count(PENDING)
        return IndexSize(records=records, vectors=records - pending, pending=pending)

    def _remove(self, ids: Collection[int], owner: str | None = None) -> int:
        """Remove records, optionally only this owner's; returns how many there were."""
        rows = self._catalog.fetch(RECORDS, list(dict.fromkeys(ids)), ["id", "owner", "session", "terms"])
        rows = [row for row in rows if owner in (None, row["owner"])]
        gone = [row["id"] for row in rows]
        if gone:
            self._vectors.drop(gone)
            self._catalog.remove(PENDING, gone)
            sessions = {name_of("tail", row["owner"], row["session"]): row for row in rows}
            for name, last in self._catalog.documents(sessions).items():
                if last in gone:
                    row = sessions[name]
                    session = f'owner == "{row["owner"]}" and session == "{row["session"]}" and kind == "turn"'
                    left = {turn["id"] for turn in self._catalog.select(RECORDS, session, ["id"])}.difference(gone)
                    self._catalog.put_documents({name: max(left, default=None)})
            self._terms.change([], rows)
            self._catalog.remove(RECORDS, gone)
        return len(gone)
