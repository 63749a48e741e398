"""L2 on the Query Engine of Redis: records as hashes, one search index over all owners."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

import numpy as np

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.engines.instants import to_micros
from hybrid_memory.engines.redis.conditions import Rows, condition
from hybrid_memory.engines.redis.connection import RedisConnection, Script, Value
from hybrid_memory.engines.redis.engine import Algorithm, QueryEngine, field_of
from hybrid_memory.engines.redis.index_reading import AROUND, FETCH, PENDING, TAILS, VECTORS
from hybrid_memory.engines.redis.index_scripts import DELETE, GIVE_VECTORS, RESET, TOTAL, UPSERT
from hybrid_memory.engines.redis.keys import Keys, digest_or_none, owner_json, owner_tag
from hybrid_memory.engines.redis.records import FIELDS, listed, to_entry, to_record
from hybrid_memory.engines.redis.scrubbing import scrub
from hybrid_memory.engines.redis.words import Words
from hybrid_memory.errors import EmbedderMismatchError
from hybrid_memory.index.port import UNUSED, Entry, IndexSize, Matches, RecordColumns, Use
from hybrid_memory.index.record import Record, Where
from hybrid_memory.index.unconverted import Unconverted
from hybrid_memory.scope import Scope

_LATEST_ROOM = 4


class RedisIndex(Unconverted):
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
        self._words = Words(connection, self._engine)

    def applied(self, owner: Scope) -> int:
        """The log position up to which records were derived."""
        return int(self._connection.call("HGET", self._state(owner_tag(owner)), "applied") or 0)

    def tails(self, owner: Scope, sessions: Sequence[str | None]) -> dict[str | None, Record]:
        """The last turn of each session."""
        names = list(map(digest_or_none, sessions))
        told = self._run(TAILS, owner_tag(owner), [len(names), *names, *FIELDS])
        return {session: to_record(fields) for session, fields in zip(sessions, told, strict=True) if fields}

    def upsert(
        self, owner: Scope, entries: Sequence[Entry], *, after: int, upto: int, uses: Mapping[int, Use] = UNUSED
    ) -> bool:
        """Store records and move the applied position; see `SemanticIndex.upsert`."""
        tag = owner_tag(owner)
        # Whose a record is must be known before it is there, so that it can always be found by its id.
        commands: list[list[Value]] = [["HSETNX", self._keys.owners, tag, owner_json(owner)]]
        for key, numbers in self._by_key(entry.record.id for entry in entries).items():
            commands.append(["HSET", key, *(part for number in numbers for part in (number, tag))])
        self._connection.calls(commands)
        used = [value for number, use in uses.items() for value in (number, use.count, to_micros(use.at))]
        stored = [to_entry(tag, entry) for entry in entries]
        call = uuid4().hex  # so that the script knows its own work where the answer was lost and it is sent again
        moved, *totals = self._run(UPSERT, tag, [call, after, upto, len(stored), *stored, *used])
        if moved:
            self._tell(tag, totals)
        return bool(moved)

    def pending(self, owner: Scope, limit: int) -> list[tuple[Record, Record | None]]:
        """Records that wait for their vector, each with its predecessor."""
        told = self._run(PENDING, owner_tag(owner), [limit, *FIELDS])
        records = [to_record(fields) if fields else None for fields in told]
        return [(one, before) for one, before in zip(records[::2], records[1::2], strict=True) if one is not None]

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """Vectors that are stored already, by content hash."""
        embedder, wanted = self.embedder(), list(dict.fromkeys(keys))
        if embedder is None:
            return {}
        found = self._engine.firsts([f"@key:{{{key.hex()}}}" for key in wanted], field_of(embedder[1]))
        return {key: _vector(row) for key, row in zip(wanted, found, strict=True) if row is not None}

    def embedder(self) -> tuple[str, int] | None:
        """Name and width of the embedder behind the vectors."""
        told = self._connection.call("GET", self._keys.embedder)
        return None if told is None else _pair(told)

    def put_vectors(
        self, embedder: tuple[str, int], keys: Mapping[int, bytes], vectors: Mapping[bytes, Floats]
    ) -> None:
        """Give records their vectors; see `SemanticIndex.put_vectors`."""
        self._connection.call("SET", self._keys.embedder, json.dumps(embedder), "NX")
        there = self.embedder()
        if there is not None and there != embedder:
            raise EmbedderMismatchError(there, embedder)
        field = self._engine.make_room(embedder[1])
        known = self.known([key for key in keys.values() if key not in vectors])
        blobs = {
            key: np.ascontiguousarray(row, dtype=np.float32).tobytes() for key, row in (known | {**vectors}).items()
        }
        for tag, numbers in self._by_owner(number for number, key in keys.items() if key in blobs).items():
            given = [part for number in numbers for part in (number, keys[number].hex(), blobs[keys[number]])]
            self._run(GIVE_VECTORS, tag, [field, *given])

    def centroid(self, owner: Scope) -> tuple[Floats, int]:
        """The mean of the owner's vectors, and their number."""
        total, count = self._connection.call("HMGET", self._state(owner_tag(owner)), "sum", "vectors")
        if total is None:
            return np.empty(0, dtype=np.float32), 0
        return (np.frombuffer(total, dtype=np.float64) / int(count)).astype(np.float32), int(count)

    def train(self, owner: Scope) -> None:
        """Nothing: the server indexes what it is given at once."""

    def nearest(self, vector: Floats, where: Where, k: int) -> Matches:
        """The k records with the highest inner product; see `SemanticIndex.nearest`."""
        return self._engine.nearest(vector, condition(where), k)

    def matching(self, terms: Sequence[str], where: Where, k: int) -> Matches:
        """The k records with the highest BM25; see `SemanticIndex.matching`."""
        self._connection.check_open()
        return self._words.matching(terms, where, k)

    def latest(self, where: Where, k: int) -> Ids:
        """The k records that were said last; see `SemanticIndex.latest`."""
        self._connection.check_open()
        times, room = f"{self._keys.index(owner_tag(where.scope))}:times", _LATEST_ROOM * k
        until = "+inf" if where.until is None else f"({to_micros(where.until)}"
        while k > 0:
            # Sorting all of an owner's records is slow: those since the time of the last few are mostly enough.
            bound = self._connection.call("ZREVRANGEBYSCORE", times, until, "-inf", "WITHSCORES", "LIMIT", room, 1)
            since = f" @at:[{int(float(bound[1]))} +inf]" if bound else ""
            found = self._engine.search(condition(where) + since, "SORTBY", "said", "DESC", "LIMIT", 0, k)
            if len(found) == k or not bound:
                return np.array(found, dtype=np.int64)
            room *= 16
        return np.empty(0, dtype=np.int64)

    def spellings(self, term: str, owner: Scope, k: int) -> list[str]:
        """Terms of the owner's records that differ by a slip or two; see `SemanticIndex.spellings`."""
        self._connection.check_open()
        return self._words.spellings(term, owner, k)

    def similar(self, vector: Floats, owner: Scope, ids: Ids) -> Floats:
        """Inner product with each of these records; see `SemanticIndex.similar`."""
        table, there = self._vectors(owner, ids, len(vector))
        scores: Floats = np.where(there, table @ vector, np.nan).astype(np.float32)
        return scores

    def likeness(self, owner: Scope, ids: Ids) -> Floats:
        """Inner products among these records; see `SemanticIndex.likeness`."""
        embedder = self.embedder()
        table, _ = self._vectors(owner, ids, embedder[1] if embedder else 0)
        products: Floats = table @ table.T
        return products

    def columns(self, ids: Ids, where: Where, radius: int) -> RecordColumns:
        """These records and their neighbours; see `IndexEngine.columns`."""
        return Rows(self._run(AROUND, owner_tag(where.scope), [radius, listed(ids.tolist())])).places(where)

    def get(self, ids: Sequence[int]) -> list[Record]:
        """The records with these ids, in the order given."""
        records: dict[int, Record] = {}
        for tag, numbers in self._by_owner(ids).items():
            told = self._run(FETCH, tag, [len(FIELDS), *FIELDS, *numbers])
            records |= {n: to_record(fields) for n, fields in zip(numbers, told, strict=True) if fields[0] is not None}
        return [records[number] for number in ids if number in records]

    def delete(self, ids: Sequence[int] | None) -> int:
        """Remove records with their terms and vectors."""
        if ids is None:
            self.reset()
            return 0
        gone = 0
        for tag, numbers in self._by_owner(ids).items():
            count, *totals = self._run(DELETE, tag, numbers)
            self._tell(tag, totals)
            gone += count
        self._connection.calls([["HDEL", key, *numbers] for key, numbers in self._by_key(ids).items()])
        return gone

    def scrub(self) -> None:
        """Have the server write its files anew; see `SemanticIndex.scrub`."""
        scrub(self._connection)

    def reset(self) -> None:
        """Drop everything derived."""
        for owner in self._connection.call("HKEYS", self._keys.owners):
            ids, *totals = self._run(RESET, owner.decode(), [])
            self._tell(owner.decode(), totals)
            self._connection.calls([("UNLINK", key) for key in self._by_key(map(int, ids))])
        # Last, so that whoever finds a half-done reset does not mix vectors of two embedders.
        self._connection.call("DEL", self._keys.embedder)

    def size(self) -> IndexSize:
        """Counts over all owners."""
        tags = [owner.decode() for owner in self._connection.call("HKEYS", self._keys.owners)]
        told = self._connection.calls([("HMGET", self._state(tag), "records", "vectors") for tag in tags])
        records, vectors = (sum(int(one[column] or 0) for one in told) for column in (0, 1))
        return IndexSize(records=records, vectors=vectors, pending=records - vectors)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _vectors(self, owner: Scope, ids: Ids, dim: int) -> tuple[Floats, Any]:
        """The vectors of these records as rows, of zeros where one has none, and which have one."""
        blob, marks = self._run(VECTORS, owner_tag(owner), [field_of(dim), listed(ids.tolist())])
        there = np.frombuffer(marks, dtype=np.uint8) == ord("1")
        table = np.zeros((len(there), dim), dtype=np.float32)
        table[there] = _vector(blob).reshape(-1, dim or 1)
        return table, there

    def _by_key(self, ids: Iterable[int]) -> dict[str, list[int]]:
        """Under which key the owner of each record is told."""
        keys: dict[str, list[int]] = defaultdict(list)
        for number in dict.fromkeys(ids):
            keys[self._keys.owners_of_records(number)].append(number)
        return keys

    def _by_owner(self, ids: Iterable[int]) -> dict[str, list[int]]:
        """The records by the tags of their owners, without those that nobody has."""
        self._connection.check_open()
        keys = self._by_key(ids)
        told = self._connection.calls([("HMGET", key, *numbers) for key, numbers in keys.items()])
        owners: dict[str, list[int]] = defaultdict(list)
        for numbers, tags in zip(keys.values(), told, strict=True):
            for number, tag in zip(numbers, tags, strict=True):
                if tag is not None:
                    owners[tag.decode()].append(number)
        return owners

    def _state(self, tag: str) -> str:
        return f"{self._keys.index(tag)}:state"

    def _run(self, script: Script, tag: str, values: Sequence[Value]) -> Any:
        return self._connection.script(script, [self._keys.index(tag), self._keys.record(tag)], values)

    def _tell(self, tag: str, totals: Sequence[int]) -> None:
        """Bring the totals over all owners up to this one's change."""
        self._connection.script(TOTAL, [self._keys.totals], [tag, *totals])


def _vector(blob: bytes) -> Floats:
    row: Floats = np.frombuffer(blob, dtype=np.float32)
    return row


def _pair(told: bytes) -> tuple[str, int]:
    name, dim = json.loads(told)
    return name, dim
