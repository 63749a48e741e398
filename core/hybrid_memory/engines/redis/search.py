"""The search index over the records of all owners in the server's Query Engine, and its queries."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats
from hybrid_memory.engines.redis.connection import CALL_SECONDS, RedisConnection, Value
from hybrid_memory.engines.redis.layout import Keys, digest, digest_or_none, origin_label, owner_tag, pairs
from hybrid_memory.engines.stored import origin_labels, to_micros
from hybrid_memory.errors import InvalidConfigError, StoreUnavailableError
from hybrid_memory.index.bm25 import Occurrences
from hybrid_memory.index.port import RecordColumns
from hybrid_memory.index.record import RecordKind, Where

Algorithm = Literal["flat", "hnsw"]

HNSW = ("M", 16, "EF_CONSTRUCTION", 200, "EF_RUNTIME", 200)

NO_ENGINE = (
    "Redis at {address} has no Query Engine (its modules lack 'search'), which the index needs: use Redis 8 or Redis "
    "Stack, or keep the index embedded (SQLite) or in Milvus; the log can stay on this server"
)

# The terms are stems already, and marks are encoded. Sorting is by time and id in one text, so that nothing ties.
_SCHEMA: tuple[Value, ...] = (
    *("owner", "TAG", "session", "TAG", "kind", "TAG", "category", "TAG", "meta", "TAG", "key", "TAG"),
    *("at", "NUMERIC", "turn", "NUMERIC", "said", "TAG", "SORTABLE", "NOINDEX", "words", "TEXT", "NOSTEM"),
)

INDEXING_SECONDS = CALL_SECONDS
"""Seconds that a search waits for a server to index its loaded files."""

_PAUSE_SECONDS = 0.02


class QueryEngine:
    """The search index of a store, created if missing."""

    def __init__(self, connection: RedisConnection, algorithm: Algorithm) -> None:
        if algorithm not in ("flat", "hnsw"):
            raise InvalidConfigError(f"the algorithm of the index is flat or hnsw, got {algorithm!r}")
        if connection.database:
            raise InvalidConfigError(f"Redis can only search database 0, got {connection.database}")
        self._connection = connection
        self._keys = Keys(connection.prefix)
        self._algorithm = algorithm
        self._lock = threading.Lock()
        self._spaces: set[str] = set()
        self._seen = -1
        self._ready()

    def make_room(self, dim: int) -> str:
        self._ready()
        if self._space(dim) not in self._spaces:
            settings: tuple[Value, ...] = ("TYPE", "FLOAT32", "DIM", dim, "DISTANCE_METRIC", "IP")
            if self._algorithm == "hnsw":
                settings += HNSW
            column = (field_of(dim), "AS", self._space(dim), "VECTOR", self._algorithm.upper(), len(settings))
            self._unless("Duplicate", "FT.ALTER", self._keys.search, "SCHEMA", "ADD", *column, *settings)
            with self._lock:
                self._wait()
        return field_of(dim)

    def near(self, vector: Floats, condition: str, k: int) -> list[Value] | None:
        """The command that finds the records nearest to a vector; None if no record has a vector of this width."""
        self._ready()
        space = self._space(len(vector))
        if space not in self._spaces:
            with self._lock:
                self._wait()  # another process may have made it
        if space not in self._spaces or k < 1:
            return None
        return self._asked(
            f"({condition})=>[KNN {k} @{space} $vector AS distance]",
            *("PARAMS", 2, "vector", np.ascontiguousarray(vector, dtype=np.float32).tobytes()),
            *("SORTBY", "distance", "RETURN", 1, "distance", "LIMIT", 0, k),
        )

    def having(self, words: Sequence[str], condition: str, k: int) -> list[Value]:
        """The command that finds records with any of these words by the server's BM25."""
        options = ("NOCONTENT", "VERBATIM", "SCORER", "BM25STD", "LIMIT", 0, k)
        return self._asked(f"{condition} @words:({'|'.join(words)})", *options)

    def answers(self, commands: Sequence[Sequence[Value]]) -> list[Any]:
        """The answers to commands that may include searches."""
        found: list[Any] = self._whole(lambda: self._connection.calls(commands))
        return found

    def search(self, query: str, *options: Value) -> list[int]:
        command = self._asked(query, "NOCONTENT", *options)
        answer: list[Any] = self._whole(lambda: self._connection.call(*command))
        return [number_in(key) for key in answer[1:]]

    def firsts(self, queries: Sequence[str], field: str) -> list[bytes | None]:
        commands = [self._asked(query, "NOCONTENT", "LIMIT", 0, 1) for query in queries]
        answer = self._whole(lambda: self._connection.calls(commands))
        keys = [one[1] if len(one) > 1 else None for one in answer]
        fields = iter(self._connection.calls([("HGET", key, field) for key in keys if key is not None]))
        return [None if key is None else next(fields) for key in keys]

    def _whole(self, run: Callable[[], Any]) -> Any:
        """The answer to a search after the server has indexed everything."""
        while True:
            self._ready()
            before = self._connection.connects
            answer = run()
            if before == self._connection.connects:  # else the search itself may have been the first after a restart
                return answer

    def _asked(self, query: str, *options: Value) -> list[Value]:
        # Its own limit is half a second, after which it answers with a part of what it has found.
        timeout = ("TIMEOUT", CALL_SECONDS * 1000, "DIALECT", 2)
        return ["FT.SEARCH", self._keys.search, query, *options, *timeout]

    def _space(self, dim: int) -> str:
        return f"{self._algorithm}{dim}"

    def _ready(self) -> None:
        """Wait until the server has indexed its loaded data, if it may have been restarted."""
        if self._seen == self._connection.connects:
            self._connection.check_open()
            return
        with self._lock:
            seen = self._connection.connects
            options: tuple[Value, ...] = ("ON", "HASH", "PREFIX", 1, self._keys.records, "STOPWORDS", 0, "NOOFFSETS")
            if not self._connection.call("EXISTS", self._keys.owners):
                options += ("SKIPINITIALSCAN",)  # in a new store there is nothing to find among the keys of others
            self._unless("already exists", "FT.CREATE", self._keys.search, *options, "SCHEMA", *_SCHEMA)
            self._wait()
            self._seen = seen

    def _wait(self) -> None:
        deadline = time.monotonic() + INDEXING_SECONDS
        while True:
            answer = self._connection.call("FT.INFO", self._keys.search)
            about = dict(zip(answer[::2], answer[1::2], strict=True))
            if not int(about[b"indexing"]):
                self._spaces = {
                    dict(zip(a[::2], a[1::2], strict=False))[b"attribute"].decode() for a in about[b"attributes"]
                }
                return
            if time.monotonic() > deadline:
                raise StoreUnavailableError(
                    f"Redis at {self._connection.address} is still indexing its records ("
                    f"{float(about[b'percent_indexed']):.0%}), as after a restart: try again"
                )
            time.sleep(_PAUSE_SECONDS)

    def _unless(self, expected: str, *command: Value) -> None:
        try:
            self._connection.call(*command)
        except StoreUnavailableError as error:
            answer = str(error.__cause__)
            if "unknown command" in answer.lower():
                raise StoreUnavailableError(NO_ENGINE.format(address=self._connection.address)) from error
            if expected not in answer:
                raise


def field_of(dim: int) -> str:
    """The record field for vectors of this width; it differs after a rebuild with another embedder."""
    return f"v{dim}"


def number_in(key: bytes) -> int:
    """The record id in a key."""
    return int(key.rsplit(b":", 1)[1])


_EXACT = 2**53
"""The largest exact number: the Query Engine uses doubles."""

_NUMBERS = ("id", "uses", "last_used", "segment", "ordinal", "length", "importance", "at", "turn")
_COLUMNS = ("id", "segment", "ordinal", "length", "at", "importance", "uses", "last_used")
_LABELS = 4


def condition(where: Where) -> str:
    """The query for a condition; all names in it are digests, so that nothing needs escaping."""
    parts = [f"@owner:{{{owner_tag(where.scope)}}}"]
    if where.scope.session is not None:
        parts.append(f"@session:{{{digest_or_none(where.scope.session)}}}")
    if where.kinds:
        parts.append(f"@kind:{{{'|'.join(sorted(where.kinds))}}}")
    if where.categories:
        parts.append(f"@category:{{{'|'.join(sorted(map(digest, where.categories)))}}}")
    if where.since is not None:
        parts.append(f"@at:[{to_micros(where.since)} +inf]")
    if where.until is not None:
        parts.append(f"@at:[-inf ({to_micros(where.until)}]")
    parts += [f"@meta:{{{pair}}}" for pair in pairs(where.metadata)]
    one_of, names = origin_labels(where.origins)
    if where.origins and names:
        parts.append(f"{'' if one_of else '-'}@meta:{{{'|'.join(map(origin_label, names))}}}")
    parts += [
        f"-@turn:[{max(first, 0)} {last if last < _EXACT else '+inf'}]"
        for first, last in where.hidden
        if 0 <= last >= first
    ]
    for name, instant in where.fresh.items():
        labels = f"@category:{{{digest(name)}}}"
        if name in set(RecordKind):
            labels = f"({labels}|@kind:{{{name}}})"
        parts.append(f"-({labels} @at:[-inf ({to_micros(instant)}])")
    return " ".join(parts)


_POSTING = np.dtype([("id", "<f8"), ("count", "<u4"), ("length", "<u4")])


def occurrences_in(postings: Sequence[bytes | None], keys: Sequence[bytes]) -> Occurrences:
    """The occurrences of the words in the records with these keys, from the postings; words are numbered."""
    blobs = [np.frombuffer(blob or b"", dtype=_POSTING) for blob in postings]
    rows = np.concatenate([np.empty(0, dtype=_POSTING), *blobs])
    kept = np.isin(rows["id"], np.array([number_in(key) for key in keys], dtype=np.float64))
    terms = np.repeat(np.arange(len(blobs)), [len(blob) for blob in blobs])
    numbers, counts, lengths = (rows[name][kept].astype(np.int64) for name in ("id", "count", "length"))
    return Occurrences(numbers, terms[kept], counts, lengths)


def columns_of(lines: Sequence[bytes], where: Where) -> tuple[RecordColumns, npt.NDArray[np.bool_]]:
    """The columns of the records that the condition allows, by id, and which of the lines those are.

    A line has id, uses, last use, segment, ordinal, length, importance, time, turn, kind, category, session, metadata.
    """
    words = b" ".join(lines).decode().split()
    width = len(_NUMBERS) + _LABELS
    numbers = np.array([[float(word) for word in words[row::width]] for row in range(len(_NUMBERS))]).T
    labels = np.array([words[len(_NUMBERS) + row :: width] for row in range(_LABELS)], dtype=np.str_)
    allowed = _allowed(numbers[:, _NUMBERS.index("at")], numbers[:, _NUMBERS.index("turn")], labels, where)
    return RecordColumns.of(numbers[allowed][:, [_NUMBERS.index(name) for name in _COLUMNS]]), allowed


def _allowed(
    at: npt.NDArray[np.float64], turns: npt.NDArray[np.float64], labels: npt.NDArray[np.str_], where: Where
) -> npt.NDArray[np.bool_]:
    kinds, categories, sessions, metadata = labels
    mask = np.ones(len(at), dtype=np.bool_)
    if where.scope.session is not None:
        mask &= sessions == digest_or_none(where.scope.session)
    if where.kinds:
        mask &= np.isin(kinds, sorted(where.kinds))
    if where.categories:
        mask &= np.isin(categories, list(map(digest, where.categories)))
    if where.since is not None:
        mask &= at >= to_micros(where.since)
    if where.until is not None:
        mask &= at < to_micros(where.until)
    for pair in pairs(where.metadata):
        mask &= np.char.find(metadata, pair) >= 0
    if where.origins:
        one_of, names = origin_labels(where.origins)
        labelled = [np.char.find(metadata, origin_label(name)) >= 0 for name in names]
        mask &= np.logical_or.reduce(labelled, initial=False) == one_of
    if where.hidden:
        first, last = np.array(where.hidden, dtype=np.int64).T
        mask &= ~((turns[:, None] >= first) & (turns[:, None] <= last)).any(axis=1)
    for name, instant in where.fresh.items():
        mask &= (at >= to_micros(instant)) | ~((kinds == name) | (categories == digest(name)))
    return mask
