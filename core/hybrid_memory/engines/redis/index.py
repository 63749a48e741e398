"""L2 on the Query Engine of Redis: records as hashes, one search index over all owners."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.engines.instants import to_micros
from hybrid_memory.engines.redis.connection import RedisConnection, Script, Value, scrub, warn_of_eviction
from hybrid_memory.engines.redis.index_scripts import (
    AROUND,
    DELETE,
    FETCH,
    GIVE_VECTORS,
    RESET,
    SPELT,
    TOTAL,
    UPSERT,
    VECTORS,
    WORD_STEP,
    WORDS,
)
from hybrid_memory.engines.redis.layout import (
    FIELDS,
    Keys,
    decode,
    digest_or_none,
    encode,
    labels_of,
    listed,
    owner_json,
    owner_tag,
    to_entry,
    to_record,
)
from hybrid_memory.engines.redis.search import Algorithm, QueryEngine, columns_of, condition, field_of
from hybrid_memory.errors import EmbedderMismatchError
from hybrid_memory.index.bm25 import ranked
from hybrid_memory.index.port import AS_STORED, UNUSED, Entry, IndexSize, Matches, Query, RecordColumns, Status, Use
from hybrid_memory.index.record import Record, Where
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.log.origin import Origin
from hybrid_memory.scope import Scope
from hybrid_memory.text.tokenize import allowed_edits

_LATEST_ROOM = 4
_TOTALS = 2


class RedisIndex(SemanticIndex):
    """The semantic index of a server that has the Query Engine.

    Vectors are kept with their records, and one that is known is found by its content hash among them: what no record
    needs any more is gone.

    Args:
        connection: to the server; closed with the index.
        algorithm: how vectors are searched: ``flat`` is exact, ``hnsw`` approximate and faster from about 100,000 on.

    Raises:
        InvalidConfigError: the algorithm is unknown, or the URL names another database than 0.
        StoreUnavailableError: the server has no Query Engine.
    """

    def __init__(self, connection: RedisConnection, *, algorithm: Algorithm = "flat") -> None:
        self._connection = connection
        self._keys = Keys(connection.prefix)
        self._engine = QueryEngine(connection, algorithm)
        warn_of_eviction(connection, "records")

    def status(
        self, owner: Scope | None = None, *, sessions: Sequence[str | None] = (), pending: int = 0, sums: bool = False
    ) -> Status:
        root = "" if owner is None else self._keys.index(owner_tag(owner))
        commands: list[tuple[Value, ...]] = [
            ("GET", self._keys.embedder),
            ("HMGET", f"{root}:state", "applied", "anchor", "vectors", *(["sum"] if sums else [])),
            ("ZRANGE", f"{root}:pending", 0, pending - 1) if pending else ("EXISTS", root),
            *(("ZREVRANGE", f"{root}:turns:{digest_or_none(session)}", 0, 0) for session in sessions),
        ]
        embedder, (applied, anchor, vectors, *total), ids, *last = self._connection.calls(commands)
        return Status(
            applied=int(applied or 0),
            anchor=(anchor or b"").decode(),
            embedder=None if embedder is None else _pair(embedder),
            tails={session: int(one[0]) for session, one in zip(sessions, last, strict=True) if one},
            pending=[int(number) for number in ids] if pending else (),
            vectors=int(vectors or 0),
            total=np.frombuffer(total[0], dtype=np.float64) if total and total[0] is not None else None,
            size=self._size() if sums and owner is None else IndexSize(0, 0, 0),
        )

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
        tag = owner_tag(owner)
        # Ids are positions: where a log was set back, they come again, perhaps as somebody else's.
        for other, numbers in self._by_owner(entry.record.id for entry in entries).items():
            if other != tag:
                self.delete(numbers)
        # Whose a record is must be known before it is there, so that it can always be found by its id.
        commands: list[list[Value]] = [["HSETNX", self._keys.owners, tag, owner_json(owner)]]
        for key, numbers in self._by_key(entry.record.id for entry in entries).items():
            commands.append(["HSET", key, *(part for number in numbers for part in (number, tag))])
        self._connection.calls(commands)
        used = [value for number, use in uses.items() for value in (number, use.count, to_micros(use.at))]
        stored = [to_entry(tag, entry) for entry in entries]
        call = uuid4().hex  # so that the script knows its own work where the answer was lost and it is sent again
        expected = "" if seen is None else f"={seen}"
        labelled = [value for record in self._anew(owner, origins) for value in (record.id, *labels_of(record))]
        sizes = (len(stored), len(labelled))
        values = [call, after, upto, anchor, expected, listed([*gone]), *sizes, *stored, *labelled, *used]
        moved, *totals = self._run(UPSERT, tag, values)
        if moved:
            self._update_totals(tag, totals)
        return bool(moved)

    def put_vectors(
        self, embedder: tuple[str, int], keys: Mapping[int, bytes], vectors: Mapping[bytes, Floats]
    ) -> None:
        self._connection.call("SET", self._keys.embedder, json.dumps(embedder), "NX")
        stored = self.embedder()
        if stored is not None and stored != embedder:
            raise EmbedderMismatchError(stored, embedder)
        field = self._engine.make_room(embedder[1])
        known = self.known([key for key in keys.values() if key not in vectors])
        blobs = {
            key: np.ascontiguousarray(row, dtype=np.float32).tobytes() for key, row in (known | {**vectors}).items()
        }
        for tag, numbers in self._by_owner(number for number, key in keys.items() if key in blobs).items():
            given = [part for number in numbers for part in (number, keys[number].hex(), blobs[keys[number]])]
            self._run(GIVE_VECTORS, tag, [field, *given])

    def search(self, query: Query, where: Where, k: int) -> Matches:
        self._connection.check_open()
        if query is None:
            ids = np.array(self._latest(where, k), dtype=np.int64)
            return Matches(ids, np.zeros(len(ids), dtype=np.float32))
        if isinstance(query, np.ndarray):
            return self._engine.nearest(query, condition(where), k)
        return self._matching(query, where, k) if len(query) and k > 0 else Matches.best({}, 0)

    def columns(self, ids: Ids, where: Where, radius: int) -> RecordColumns:
        return columns_of(self._run(AROUND, owner_tag(where.scope), [radius, listed(ids.tolist())]), where)

    def vectors(self, keys: Sequence[int | bytes], owner: Scope | None = None) -> dict[int | bytes, Floats]:
        embedder, wanted = self.embedder(), list(dict.fromkeys(keys))
        if embedder is None or not wanted:
            return {}
        if owner is not None:
            blob, marks = self._run(VECTORS, owner_tag(owner), [field_of(embedder[1]), listed(wanted)])
            present = [key for key, mark in zip(wanted, marks, strict=True) if mark == ord("1")]
            return dict(zip(present, _vector(blob).reshape(-1, embedder[1]), strict=True))
        hashes = [key for key in wanted if isinstance(key, bytes)]
        found = self._engine.firsts([f"@key:{{{key.hex()}}}" for key in hashes], field_of(embedder[1]))
        return {key: _vector(row) for key, row in zip(hashes, found, strict=True) if row is not None}

    def terms(self, owner: Scope, wanted: Sequence[str] = (), *, near: str = "") -> dict[str, int]:
        self._connection.check_open()
        counts = self._counts(owner, wanted)
        if near:
            bounds = len(near) - allowed_edits(near), len(near) + allowed_edits(near)
            words = self._run(SPELT, owner_tag(owner), bounds).decode().split()
            counts = dict.fromkeys(map(decode, words), 1) | counts
        return counts

    def get(self, ids: Sequence[int]) -> list[Record]:
        records: dict[int, Record] = {}
        for tag, numbers in self._by_owner(ids).items():
            answer = self._run(FETCH, tag, [len(FIELDS), *FIELDS, *numbers])
            records |= {
                n: to_record(fields) for n, fields in zip(numbers, answer, strict=True) if fields[0] is not None
            }
        return [records[number] for number in ids if number in records]

    def delete(self, ids: Sequence[int] | None) -> int:
        if ids is None:
            return self._reset()
        gone = 0
        for tag, numbers in self._by_owner(ids).items():
            count, *totals = self._run(DELETE, tag, numbers)
            self._update_totals(tag, totals)
            gone += count
        self._connection.calls([["HDEL", key, *numbers] for key, numbers in self._by_key(ids).items()])
        return gone

    def scrub(self) -> None:
        scrub(self._connection)

    def close(self) -> None:
        self._connection.close()

    def _matching(self, terms: Sequence[str], where: Where, k: int) -> Matches:
        """The server finds the records, and of one term alone in very many records ranks them first; we score them."""
        tag, words = owner_tag(where.scope), [encode(term) for term in terms]
        (records, length), owners = self._connection.calls(
            [("HMGET", self._keys.totals, "records", "words"), ("HLEN", self._keys.totals)]
        )
        mine = self._counts(where.scope, terms)
        counts = {encode(term): count for term, count in mine.items()}
        if owners > 1 + _TOTALS and counts:
            counts = dict(zip(counts, self._engine.counts([f"@words:({word})" for word in counts]), strict=True))
        ids = self._engine.search(
            f"{condition(where)} @words:({'|'.join(words)})",
            *("VERBATIM", "SCORER", "BM25STD", "LIMIT", 0, max(k, self.ranked_records or 0)),
        )
        texts = self._run(WORDS, tag, [listed(ids)]).decode().split("\n") if ids else []
        found = ((number, Counter(text.split())) for number, text in zip(ids, texts, strict=True))
        return ranked(found, counts, int(records or 0), int(length or 0), k)

    def _counts(self, owner: Scope, terms: Sequence[str]) -> dict[str, int]:
        words = [encode(term) for term in terms]
        key = f"{self._keys.index(owner_tag(owner))}:words"
        scores = self._connection.call("ZMSCORE", key, *words) if words else []
        return {term: int(float(score)) % WORD_STEP for term, score in zip(terms, scores, strict=True) if score}

    def _latest(self, where: Where, k: int) -> list[int]:
        times, room = f"{self._keys.index(owner_tag(where.scope))}:times", _LATEST_ROOM * k
        until = "+inf" if where.until is None else f"({to_micros(where.until)}"
        while k > 0:
            # Sorting all of an owner's records is slow: those since the time of the last few are mostly enough.
            bound = self._connection.call("ZREVRANGEBYSCORE", times, until, "-inf", "WITHSCORES", "LIMIT", room, 1)
            since = f" @at:[{int(float(bound[1]))} +inf]" if bound else ""
            found = self._engine.search(condition(where) + since, "SORTBY", "said", "DESC", "LIMIT", 0, k)
            if len(found) == k or not bound:
                return found
            room *= 16
        return []

    def _reset(self) -> int:
        gone = 0
        for owner in self._connection.call("HKEYS", self._keys.owners):
            ids, *totals = self._run(RESET, owner.decode(), [])
            self._update_totals(owner.decode(), totals)
            self._connection.calls([("UNLINK", key) for key in self._by_key(map(int, ids))])
            gone += len(ids)
        # Last, so that whoever finds a half-done reset does not mix vectors of two embedders.
        self._connection.call("DEL", self._keys.embedder)
        return gone

    def _size(self) -> IndexSize:
        tags = [owner.decode() for owner in self._connection.call("HKEYS", self._keys.owners)]
        counts = self._connection.calls([("HMGET", self._state(tag), "records", "vectors") for tag in tags])
        records, vectors = (sum(int(one[column] or 0) for one in counts) for column in (0, 1))
        return IndexSize(records=records, vectors=vectors, pending=records - vectors)

    def _by_key(self, ids: Iterable[int]) -> dict[str, list[int]]:
        keys: dict[str, list[int]] = defaultdict(list)
        for number in dict.fromkeys(ids):
            keys[self._keys.owners_of_records(number)].append(number)
        return keys

    def _by_owner(self, ids: Iterable[int]) -> dict[str, list[int]]:
        """The records by the tags of their owners, without those that nobody has."""
        self._connection.check_open()
        keys = self._by_key(ids)
        answer = self._connection.calls([("HMGET", key, *numbers) for key, numbers in keys.items()])
        owners: dict[str, list[int]] = defaultdict(list)
        for numbers, tags in zip(keys.values(), answer, strict=True):
            for number, tag in zip(numbers, tags, strict=True):
                if tag is not None:
                    owners[tag.decode()].append(number)
        return owners

    def _anew(self, owner: Scope, origins: Mapping[int, Origin]) -> list[Record]:
        """The owner's records with these origins in place of their own."""
        records = self.get(list(origins))
        return [replace(one, origin=origins[one.id]) for one in records if one.scope.owner == owner.owner]

    def _state(self, tag: str) -> str:
        return f"{self._keys.index(tag)}:state"

    def _run(self, script: Script, tag: str, values: Sequence[Value]) -> Any:
        return self._connection.script(script, [self._keys.index(tag), self._keys.record(tag)], values)

    def _update_totals(self, tag: str, totals: Sequence[int]) -> None:
        self._connection.script(TOTAL, [self._keys.totals], [tag, *totals])


def _vector(blob: bytes) -> Floats:
    row: Floats = np.frombuffer(blob, dtype=np.float32)
    return row


def _pair(answer: bytes) -> tuple[str, int]:
    name, dim = json.loads(answer)
    return name, dim
