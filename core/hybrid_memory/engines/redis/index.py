"""L2 on the Redis Query Engine: records as hashes, one search index over all owners."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeGuard
from uuid import uuid4

import numpy as np

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.engines.redis.connection import RedisConnection, Script, Value, warn_of_eviction
from hybrid_memory.engines.redis.index_scripts import (
    AROUND,
    DELETE,
    GIVE_VECTORS,
    RESET,
    SPELT,
    UPSERT,
    WORD_STEP,
)
from hybrid_memory.engines.redis.layout import (
    FIELDS,
    LINE,
    Keys,
    decode,
    digest_or_none,
    encode,
    listed,
    owner_json,
    owner_tag,
    to_entry,
    to_record,
)
from hybrid_memory.engines.redis.search import (
    Algorithm,
    QueryEngine,
    columns_of,
    condition,
    field_of,
    number_in,
    occurrences_in,
)
from hybrid_memory.engines.stored import to_micros
from hybrid_memory.errors import EmbedderMismatchError
from hybrid_memory.index.bm25 import ranked_occurrences
from hybrid_memory.index.port import (
    UNUSED,
    Entry,
    Explored,
    Fetched,
    IndexSize,
    Matches,
    Query,
    RecordColumns,
    Search,
    SemanticIndex,
    Status,
    Use,
    stacked,
)
from hybrid_memory.index.record import Record, Where
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.scope import Scope
from hybrid_memory.text.tokenize import allowed_edits

_LATEST_ROOM = 4
_TEXT_ANSWERS = 4
_SEEN = 65_536
"""How many records' owners are cached, to find them by id immediately; others are looked up."""


class RedisIndex(SemanticIndex):
    """The semantic index on a server with the Query Engine.

    Vectors are stored with their records and shared by content hash: a vector that no record needs any more is gone.

    Args:
        connection: the connection to the server; closed with the index.
        algorithm: the vector search: ``flat`` is exact, ``hnsw`` is approximate and faster from about 100,000 vectors.

    Raises:
        InvalidConfigError: the algorithm is unknown, or the URL names a database other than 0.
        StoreUnavailableError: the server has no Query Engine.
    """

    def __init__(self, connection: RedisConnection, *, algorithm: Algorithm = "flat") -> None:
        self._connection = connection
        self._keys = Keys(connection.prefix)
        self._engine = QueryEngine(connection, algorithm)
        self._width = 0
        self._seen: LruCache[int, str] = LruCache(_SEEN)
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
        size = IndexSize(0, 0, 0)
        if sums and owner is None:
            tags = [tag.decode() for tag in self._connection.call("HKEYS", self._keys.owners)]
            counts = self._connection.calls([("HMGET", self._state(tag), "records", "vectors") for tag in tags])
            every, held = (sum(int(one[column] or 0) for one in counts) for column in (0, 1))
            size = IndexSize(records=every, vectors=held, pending=every - held)
        return Status(
            applied=int(applied or 0),
            anchor=(anchor or b"").decode(),
            embedder=None if embedder is None else _pair(embedder),
            tails={session: int(one[0]) for session, one in zip(sessions, last, strict=True) if one},
            pending=[int(number) for number in ids] if pending else (),
            vectors=int(vectors or 0),
            total=np.frombuffer(total[0], dtype=np.float64) if total and total[0] is not None else None,
            size=size,
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
        values: list[Value] = [call, after, upto, anchor, expected, listed([*gone]), len(stored), *stored, *used]
        return bool(self._run(UPSERT, tag, values))

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
        return self._searched([Search(query, where, k)])[0]

    def explore(
        self,
        searches: Sequence[Search],
        where: Where,
        *,
        radius: int,
        vector: Floats | None = None,
        words: Sequence[str] = (),
    ) -> Explored:
        """Four round trips: term counts, searches, neighbours, and columns with vectors."""
        texts = [search.query for search in searches if not (search.query is None or _is_vector(search.query))]
        counts = self.terms(where.scope, list(dict.fromkeys([*words, *(term for text in texts for term in text)])))
        rarest = [
            search
            if search.query is None or _is_vector(search.query)
            else replace(search, query=self._chosen({term: counts[term] for term in search.query if term in counts}))
            for search in searches
        ]
        matches = self._searched(rarest)
        seeds = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(each.ids for each in matches)]))
        places, vectors = self._places(seeds, where, radius)
        similarity = np.full(len(places.ids), np.nan, dtype=np.float32)
        if vector is not None and (present := np.array([row is not None for row in vectors], dtype=np.bool_)).any():
            similarity[present] = np.stack([_vector(row) for row in vectors if row is not None]) @ vector
        return Explored(matches, places, similarity, {term: counts[term] for term in words if term in counts})

    def fetch(self, ids: Ids, owner: Scope) -> Fetched:
        stored = self._hashes(owner_tag(owner), ids.tolist(), FIELDS)
        vectors = {n: _vector(row) for n, (*_, row) in zip(ids.tolist(), stored, strict=True) if row is not None}
        return Fetched([to_record(fields) for *fields, _ in stored if fields[0] is not None], *stacked(vectors, ids))

    def columns(self, ids: Ids, where: Where, radius: int) -> RecordColumns:
        return self._places(ids, where, radius)[0]

    def vectors(self, keys: Sequence[int | bytes], owner: Scope | None = None) -> dict[int | bytes, Floats]:
        wanted = list(dict.fromkeys(keys))
        if owner is not None:
            numbers = [key for key in wanted if isinstance(key, int)]
            rows = zip(numbers, self._hashes(owner_tag(owner), numbers, ()), strict=True)
            return {number: _vector(row) for number, (row,) in rows if row is not None}
        embedder, hashes = self.embedder(), [key for key in wanted if isinstance(key, bytes)]
        if embedder is None or not hashes:
            return {}
        found = self._engine.firsts([f"@key:{{{key.hex()}}}" for key in hashes], field_of(embedder[1]))
        return {key: _vector(row) for key, row in zip(hashes, found, strict=True) if row is not None}

    def terms(self, owner: Scope, words: Sequence[str] = (), *, near: str = "") -> dict[str, int]:
        self._connection.check_open()
        members = [encode(term) for term in words]
        scores = self._connection.call("ZMSCORE", self._words(owner_tag(owner)), *members) if members else []
        # A score encodes how many records have the term.
        counts = {term: int(float(score)) % WORD_STEP for term, score in zip(words, scores, strict=True) if score}
        if near:
            bounds = len(near) - allowed_edits(near), len(near) + allowed_edits(near)
            members = self._run(SPELT, owner_tag(owner), bounds).decode().split()
            counts = dict.fromkeys(map(decode, members), 1) | counts
        return counts

    def get(self, ids: Sequence[int]) -> list[Record]:
        owners = {number: self._seen.get(number) for number in dict.fromkeys(ids)}
        records = self._fetched({number: tag for number, tag in owners.items() if tag})
        if others := owners.keys() - records.keys():
            by_owner = self._by_owner(others)
            records |= self._fetched({number: tag for tag, numbers in by_owner.items() for number in numbers})
        return [records[number] for number in ids if number in records]

    def delete(self, ids: Sequence[int] | None) -> int:
        gone = 0
        if ids is None:
            for owner in self._connection.call("HKEYS", self._keys.owners):
                numbers = list(map(int, self._run(RESET, owner.decode(), [])))
                self._connection.calls([("UNLINK", key) for key in self._by_key(numbers)])
                gone += len(numbers)
            # Last, so that whoever finds a half-done reset does not mix vectors of two embedders.
            self._connection.call("DEL", self._keys.embedder)
            return gone
        for tag, numbers in self._by_owner(ids).items():
            gone += self._run(DELETE, tag, numbers)
        self._connection.calls([["HDEL", key, *numbers] for key, numbers in self._by_key(ids).items()])
        return gone

    def scrub(self) -> None:
        self._connection.rewrite()

    def close(self) -> None:
        self._connection.close()

    def _searched(self, searches: Sequence[Search]) -> list[Matches]:
        """The matches of each search; a text search uses all given terms."""
        commands = [self._commands(search) for search in searches]
        answers = iter(self._engine.answers([command for some in commands for command in some]))
        return [
            self._matches(search, [next(answers) for _ in some])
            for search, some in zip(searches, commands, strict=True)
        ]

    def _commands(self, search: Search) -> list[Sequence[Value]]:
        query, where, k = search.query, search.where, search.k
        if query is None or k < 1 or not len(query):
            return []
        if _is_vector(query):
            command = self._engine.near(query, condition(where), k)
            return [] if command is None else [command]
        words, tag = list(dict.fromkeys(map(encode, query))), owner_tag(where.scope)
        return [
            self._engine.having(words, condition(where), max(k, self.ranked_records or 0)),
            ("HMGET", self._state(tag), "records", "words"),
            ("ZMSCORE", self._words(tag), *words),
            ("MGET", *(f"{self._keys.index(tag)}:word:{word}" for word in words)),
        ]

    def _matches(self, search: Search, answer: Sequence[Any]) -> Matches:
        """Matches found by the server (ranked by it only for a single very frequent term) and scored by the library."""
        if search.query is None:
            ids = np.array(self._latest(search.where, search.k), dtype=np.int64)
            return Matches(ids, np.zeros(len(ids), dtype=np.float32))
        if len(answer) < _TEXT_ANSWERS:
            rows = zip(answer[0][1::2], answer[0][2::2], strict=True) if answer else ()
            return Matches.best({number_in(key): 1 - float(fields[1]) for key, fields in rows}, search.k)
        (_, *keys), (records, length), scores, postings = answer
        counts = [int(float(score or 0)) % WORD_STEP for score in scores]
        found = occurrences_in(postings, keys)
        return ranked_occurrences(found, counts, int(records or 0), int(length or 0), search.k)

    def _places(self, seeds: Ids, where: Where, radius: int) -> tuple[RecordColumns, list[bytes | None]]:
        """The columns of these records and their neighbours, and the vector of each."""
        tag = owner_tag(where.scope)
        ids = sorted(map(int, self._run(AROUND, tag, [radius, listed(seeds.tolist())]).split()))
        stored = {number: row for number, row in zip(ids, self._hashes(tag, ids, LINE), strict=True) if row[2]}
        lines = [b"%d %b %b %b %b" % (number, row[0], row[1] or b"0", row[2], row[3]) for number, row in stored.items()]
        places, allowed = columns_of(lines, where)
        for number in places.ids.tolist():
            self._seen.put(number, tag)
        return places, [row[-1] for row, fits in zip(stored.values(), allowed.tolist(), strict=True) if fits]

    def _fetched(self, owners: Mapping[int, str]) -> dict[int, Record]:
        """Those of these records that carry their owner's tag."""
        commands = [("HMGET", self._keys.record(tag, number), *FIELDS) for number, tag in owners.items()]
        answers = zip(owners, self._connection.calls(commands), strict=True)
        return {number: to_record(fields) for number, fields in answers if fields[0] is not None}

    def _hashes(self, tag: str, ids: Sequence[int], fields: Sequence[str]) -> list[list[Any]]:
        """These fields of each record, with its vector last; None for missing records."""
        while ids:
            width = self._width
            commands: list[tuple[Value, ...]] = [("GET", self._keys.embedder)]
            commands += [("HMGET", self._keys.record(tag, number), *fields, field_of(width)) for number in ids]
            embedder, *rows = self._connection.calls(commands)
            self._width = 0 if embedder is None else _pair(embedder)[1]
            if self._width == width:  # else the vectors are of an embedder that is not there any more
                return rows
        return []

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

    def _by_key(self, ids: Iterable[int]) -> dict[str, list[int]]:
        keys: dict[str, list[int]] = defaultdict(list)
        for number in dict.fromkeys(ids):
            keys[self._keys.owners_of_records(number)].append(number)
        return keys

    def _by_owner(self, ids: Iterable[int]) -> dict[str, list[int]]:
        """The records grouped by owner tag; records without an owner are left out."""
        self._connection.check_open()
        keys = self._by_key(ids)
        answer = self._connection.calls([("HMGET", key, *numbers) for key, numbers in keys.items()])
        owners: dict[str, list[int]] = defaultdict(list)
        for numbers, tags in zip(keys.values(), answer, strict=True):
            for number, tag in zip(numbers, tags, strict=True):
                if tag is not None:
                    owners[tag.decode()].append(number)
        return owners

    def _state(self, tag: str) -> str:
        return f"{self._keys.index(tag)}:state"

    def _words(self, tag: str) -> str:
        return f"{self._keys.index(tag)}:words"

    def _run(self, script: Script, tag: str, values: Sequence[Value]) -> Any:
        return self._connection.script(script, [self._keys.index(tag), self._keys.record(tag)], values)


def _is_vector(query: Query) -> TypeGuard[Floats]:
    return isinstance(query, np.ndarray)


def _vector(blob: bytes) -> Floats:
    row: Floats = np.frombuffer(blob, dtype=np.float32)
    return row


def _pair(answer: bytes) -> tuple[str, int]:
    name, dim = json.loads(answer)
    return name, dim
