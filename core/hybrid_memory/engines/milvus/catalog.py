"""The collections of one index: how they are created, read and written."""

from __future__ import annotations

import importlib.util
import json
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote

import grpc
from pymilvus import CollectionSchema, DataType, Function, FunctionType, MilvusClient, MilvusException
from pymilvus.milvus_client.index import IndexParams

from hybrid_memory.arrays import Floats
from hybrid_memory.engines.milvus.rows import Row, pieces
from hybrid_memory.engines.remote import CONNECT_SECONDS, PROBE_SECONDS, Address, Remote, Result
from hybrid_memory.errors import InvalidConfigError, MissingDependencyError
from hybrid_memory.runtime.tasks import ENGINE_SECONDS, hurried
from hybrid_memory.urls import ENCODE, shown_url

RECORDS, VECTORS, PENDING, TERMS, STATE = "records", "vectors", "pending", "terms", "state"
WINDOW = 16_384  # the most rows that a server returns per query

VECTOR_PAGE = 4_000
WRITTEN = 500
FLUSHED = 2_000  # the most rows that Milvus Lite keeps in memory, where it takes 70 us to examine each

LEAST_FLUSHED = 256
ASKED = 1_000
FLAT = [0.0, 0.0]  # the vector of rows without one, as every collection needs a vector
CALL_SECONDS = 8.0  # for this long, the client retries a call that cannot reach the server

_READING = ("query", "search")
_QUIET_SECONDS = 1.0
_CONNECTING = 2  # the code of the client's error for an unreachable server; gRPC codes are not numbers

_LOST = ("not loaded", "not been loaded", "not exist", "not found", "can't find collection")

_NAME, _TEXT = {"max_length": 64}, {"max_length": 65_535}
Field: TypeAlias = tuple[str, DataType, dict[str, Any]]


class Catalog(Remote):
    """The collections ``prefix_records``, ``_vectors``, ``_pending``, ``_terms`` and ``_state``, at one address.

    One client for all threads, created at the first call. If the server reports a missing or unloaded collection, as
    after a restart, collections are prepared again, and the call is repeated.

    Attributes:
        lite: whether it is Milvus Lite, which is slow until rows are flushed into segments.
    """

    # The last two are of a client or channel that was closed under the call.
    failures = (MilvusException, grpc.RpcError, grpc.FutureTimeoutError, OSError, AttributeError, ValueError)

    def __init__(self, url: str, index: tuple[str, dict[str, int]], *, engine_timeout: float = ENGINE_SECONDS) -> None:
        address, self._uri = parsed(url)
        place, advice = f"Milvus Lite in {self._uri}", "is the folder writable, and no other process at work in it?"
        if address.host:
            place, advice = f"Milvus at {self._uri}", "is the server running, and are user, password, database right?"
        super().__init__(place, advice, [address.password, address.user], engine_timeout=engine_timeout)
        self.lite = False
        self._address = address
        self._client: MilvusClient | None = None
        self._lock = threading.RLock()
        self._answered = 0.0
        self._unflushed: Counter[str] = Counter()
        self._index = index
        self._preparing = threading.Lock()

    def fetch(self, name: str, ids: Sequence[int | str], fields: Sequence[str]) -> list[Row]:
        """The rows with these primary keys, in any order; unknown ones are left out."""
        self.check_open()
        return [
            row
            for start in range(0, len(ids), ASKED)
            for row in self._query(name, f"id in {json.dumps(ids[start : start + ASKED])}", fields, limit=ASKED)
        ]

    def select(
        self, name: str, expression: str, fields: Sequence[str], *, limit: int | None = None, page: int | None = None
    ) -> list[Row]:
        """Rows that match the filter, by primary key, up to the limit."""
        rows: list[Row] = []
        condition = expression
        while limit is None or len(rows) < limit:
            wanted = min(page or WINDOW, WINDOW if limit is None else limit - len(rows))
            # What the client's own iterator sends: rows come by primary key then.
            found = self._query(name, condition, fields, limit=wanted, iterator="True", reduce_stop_for_best="False")
            rows.extend(found)
            if len(found) < wanted:
                break
            last = max(row["id"] for row in found)
            condition = " and ".join([*([f"({expression})"] if expression else []), f"id > {json.dumps(last)}"])
        return rows

    def nearest(self, vector: Floats, expression: str, limit: int, *, nprobe: int) -> list[Row]:
        """Rows with the highest inner product, as ``id``, ``distance`` and ``turn``."""
        name, _ = self._index
        params = {"IVF_FLAT": {"nprobe": nprobe}, "HNSW": {"ef": max(limit, 64)}}.get(name, {})
        chosen = {"metric_type": "IP", "params": params}
        asked = {"anns_field": "vector", "search_params": chosen, "output_fields": ["turn"]}
        return self._search(VECTORS, data=[vector.tolist()], filter=expression, limit=limit, **asked)

    def matching(self, text: str, expression: str, limit: int) -> list[Row]:
        """Rows with the highest BM25 by the server's own statistics, with ``terms`` and ``turn``."""
        chosen = {"metric_type": "BM25", "params": {}}
        asked = {"anns_field": "sparse", "search_params": chosen, "output_fields": ["terms", "turn"]}
        return self._search(RECORDS, data=[text], filter=expression, limit=limit, **asked)

    def documents(self, names: Iterable[str]) -> dict[str, Any]:
        """The documents with these names: what Milvus cannot query quickly."""
        rows = self.fetch(STATE, list(dict.fromkeys(names)), ["id", "value"])
        return {row["id"]: json.loads("".join(row["value"])) for row in rows}

    def put_documents(self, values: Mapping[str, Any]) -> None:
        """Replace these documents; None removes one."""
        left = {name: pieces(json.dumps(value)) for name, value in values.items() if value is not None}
        self.write(STATE, [{"id": name, "value": value, "dummy": FLAT} for name, value in left.items()])
        self.remove(STATE, [name for name in values if name not in left])

    def write(self, name: str, rows: Sequence[Row]) -> None:
        self.check_open()
        for start in range(0, len(rows), WRITTEN):
            self.call("upsert", name, data=list(rows[start : start + WRITTEN]))
        self._unflushed[name] += len(rows)
        if self.lite and name in (RECORDS, VECTORS):
            self.flush(name, FLUSHED)

    def remove(self, name: str, ids: Sequence[int | str]) -> None:
        self.check_open()
        for start in range(0, len(ids), ASKED):
            self.call("delete", name, filter=f"id in {json.dumps(ids[start : start + ASKED])}")

    def flush(self, name: str, least: int) -> None:
        """Make the server flush rows from memory into indexed segments, if enough of them are ours."""
        if self._unflushed[name] >= least:
            self._unflushed[name] = 0
            self.call("flush", name)

    def compact(self, name: str) -> None:
        """Make the server compact a collection, if it exists."""
        if self.call("has_collection", name):
            self.flush(name, 0)
            self.call("compact", name)

    def count(self, name: str, expression: str = "") -> int:
        rows = self._query(name, expression, ["count(*)"])
        return int(rows[0]["count(*)"])

    def make_vectors(self, dim: int) -> None:
        """Create the collection of vectors, empty."""
        name, params = self._index
        index = IndexParams()
        # Each by itself for a server, and together for Milvus Lite, which reads them there only.
        index.add_index("vector", index_type=name, metric_type="IP", params={**params, "params": params})
        index.add_index("key", index_type="INVERTED")
        vector: Field = ("vector", DataType.FLOAT_VECTOR, {"dim": dim})
        schema = _schema(DataType.INT64, [*_narrowing(), ("key", DataType.VARCHAR, _TEXT), vector])
        self.drop(VECTORS)
        self.run("create a collection", lambda client: self._make(client, VECTORS, schema, index))

    def drop_all(self) -> None:
        """Drop the collections; those without vectors are created again."""
        for name in (VECTORS, RECORDS, PENDING, TERMS, STATE):
            self.drop(name)
        self.run("create collections", self._prepare)

    def drop(self, name: str) -> None:
        """Drop a collection, if it exists."""
        if self.call("has_collection", name):
            self.call("drop_collection", name)

    def _query(self, name: str, expression: str, fields: Sequence[str], **options: Any) -> list[Row]:
        return list(self.call("query", name, filter=expression, output_fields=list(fields), **options))

    def _search(self, name: str, **options: Any) -> list[Row]:
        hits = self.call("search", name, **options)[0]
        return [{**hit["entity"], "id": hit["id"], "distance": hit["distance"]} for hit in hits]

    def _prepare(self, client: MilvusClient) -> None:
        """Create the collections that do not exist, and load all."""
        with self._preparing:
            self.lite = "lite" in client.get_server_version(timeout=CALL_SECONDS)
            for name, schema, index in _schemas("standard" if self.lite else "whitespace"):
                if not client.has_collection(self._named(name), timeout=CALL_SECONDS):
                    self._make(client, name, schema, index)
            for name in (RECORDS, PENDING, TERMS, STATE, VECTORS):
                if name != VECTORS or client.has_collection(self._named(name), timeout=CALL_SECONDS):
                    client.load_collection(self._named(name), timeout=CALL_SECONDS)

    def _make(self, client: MilvusClient, name: str, schema: CollectionSchema, index: IndexParams) -> None:
        # Strong: what was written is seen by the next read, whichever client it comes from.
        client.create_collection(self._named(name), schema=schema, timeout=CALL_SECONDS, consistency_level="Strong")
        client.create_index(self._named(name), index, timeout=CALL_SECONDS, sync=False)  # the collection is empty
        client.load_collection(self._named(name), timeout=CALL_SECONDS)

    def call(self, verb: str, name: str, **options: Any) -> Any:
        """The result of the client method with this name, for one of the collections."""
        timeout = min(self._engine_timeout, CALL_SECONDS) if verb in _READING and hurried() else CALL_SECONDS
        return self.run(verb, lambda client: getattr(client, verb)(self._named(name), timeout=timeout, **options))

    def run(self, verb: str, work: Callable[[MilvusClient], Result]) -> Result:
        """The result of this work with the client; errors name the verb."""

        def run() -> Result:
            try:
                client = self._opened()
                try:
                    result = work(client)
                except MilvusException as error:
                    if not any(word in str(error) for word in _LOST):
                        raise
                    self._prepare(client)
                    result = work(client)
            except self.failures as error:
                self._answered = 0.0
                if self._address.host and not self._is_answer(error):
                    # A client that lost its server may not find it again: the next call makes a new one.
                    with self._lock:
                        lost, self._client = self._client, None
                    with suppress(MilvusException, grpc.RpcError, ValueError):
                        if lost is not None:
                            lost.close()
                raise
            self._answered = time.monotonic()
            return result

        return self.ask(f"{verb} in", run)

    def close(self) -> None:
        with self._lock:
            client, self._client, self._closed = self._client, None, True
        if client is not None:
            client.close()
            self._leave()

    def _named(self, name: str) -> str:
        return f"{self._address.name}_{name}"

    def _opened(self) -> MilvusClient:
        address = self._address
        if address.host and time.monotonic() - self._answered > _QUIET_SECONDS:
            # Fail fast if the server is down; the client itself would keep retrying.
            socket.create_connection((address.host, address.port), CONNECT_SECONDS).close()
        with self._lock:
            self.check_open()
            if self._client is not None:
                return self._client
            if not address.host:
                if importlib.util.find_spec("milvus_lite") is None:
                    raise MissingDependencyError("milvus-lite", "milvus")
                folder = Path(self._uri).absolute()
                folder.parent.mkdir(parents=True, exist_ok=True)
                # The connections of this process to one folder share an engine, and are counted.
                with _folders_lock:
                    _folders[folder] += 1
            try:
                client = MilvusClient(
                    self._uri,
                    user=address.user,
                    password=address.password,
                    db_name=unquote(address.path[1:]) if address.host else "",
                    timeout=CONNECT_SECONDS if address.host else CALL_SECONDS,
                    dedicated=True,
                )
                self._prepare(client)
            except BaseException:
                self._leave()
                raise
            self._client = client
            return client

    def _leave(self) -> None:
        """After the last connection to a folder, stop its engine and so unlock the folder."""
        if self._address.host:
            return
        from milvus_lite.server_manager import server_manager_instance  # noqa: PLC0415 - a server needs none

        folder = Path(self._uri).absolute()
        with _folders_lock:
            _folders[folder] -= 1
            if not _folders[folder]:
                server_manager_instance.release_server(self._uri)

    def _probe(self) -> None:
        # With TLS, the call itself is the check.
        if self._uri.startswith("http://"):
            with grpc.insecure_channel(self._uri.removeprefix("http://")) as channel:
                grpc.channel_ready_future(channel).result(timeout=PROBE_SECONDS)

    def _is_answer(self, error: BaseException) -> bool:
        return isinstance(error, MilvusException) and isinstance(error.code, int) and error.code != _CONNECTING


_folders: Counter[Path] = Counter()
_folders_lock = threading.Lock()


def _schema(key: DataType, fields: Sequence[Field]) -> CollectionSchema:
    schema: CollectionSchema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", key, is_primary=True, **({"max_length": 512} if key is DataType.VARCHAR else {}))
    for name, kind, options in fields:
        schema.add_field(name, kind, **options)
    return schema


def _narrowing() -> list[Field]:
    return [
        ("owner", DataType.VARCHAR, {**_NAME, "is_partition_key": True}),
        *((name, DataType.VARCHAR, _NAME) for name in ("session", "kind", "category")),
        *((name, DataType.INT64, {}) for name in ("at", "turn")),
        ("metadata", DataType.ARRAY, {"element_type": DataType.VARCHAR, "max_capacity": 4_096, **_NAME}),
    ]


def _schemas(tokenizer: str) -> Iterator[tuple[str, CollectionSchema, IndexParams]]:
    """Name, schema and index of each collection but that of vectors.

    The terms are words already, parted by blanks; the tokenizer is to take them as they are.
    """
    analyzed = {"enable_analyzer": True, "analyzer_params": {"tokenizer": tokenizer}}
    records = _schema(
        DataType.INT64,
        [
            *_narrowing(),
            *((name, DataType.INT64, {}) for name in ("segment", "ordinal", "uses", "last_used")),
            ("importance", DataType.DOUBLE, {}),
            ("terms", DataType.VARCHAR, {**_TEXT, **analyzed}),
            ("doc", DataType.ARRAY, {"element_type": DataType.VARCHAR, "max_capacity": 4_096, **_TEXT}),
            ("sparse", DataType.SPARSE_FLOAT_VECTOR, {}),
        ],
    )
    records.add_function(
        Function("bm25", FunctionType.BM25, input_field_names=["terms"], output_field_names=["sparse"])
    )
    yield RECORDS, records, _index("sparse", "SPARSE_INVERTED_INDEX", "BM25")
    value = {"element_type": DataType.VARCHAR, "max_capacity": 64, **_TEXT}
    numbers: list[Field] = [(name, DataType.INT64, {}) for name in ("chars", "count", "length")]
    fields: dict[str, list[Field]] = {
        PENDING: [("owner", DataType.VARCHAR, {**_NAME, "is_partition_key": True})],
        TERMS: [("term", DataType.VARCHAR, {"max_length": 512}), *numbers],
        STATE: [("value", DataType.ARRAY, value)],
    }
    for name, parts in fields.items():
        key = DataType.INT64 if name == PENDING else DataType.VARCHAR
        dummy: Field = ("dummy", DataType.FLOAT_VECTOR, {"dim": len(FLAT)})
        yield name, _schema(key, [*parts, dummy]), _index("dummy", "FLAT", "IP")


def _index(field: str, kind: str, metric: str) -> IndexParams:
    index = IndexParams()
    index.add_index(field, index_type=kind, metric_type=metric)
    return index


_PORTS = {"milvus": 19530, "milvus+tls": 19530}
_FORMS = "milvus://[user:password@]host[:19530][/database][?prefix=name], milvus+tls://..., or milvus:///folder.db"
_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]{0,199}"


def parsed(url: str) -> tuple[Address, str]:
    """The address, and what the client takes: the URI of a server, or the folder of Milvus Lite.

    ``milvus:///folder.db`` is relative, ``milvus:////folder.db`` absolute.

    Raises:
        InvalidConfigError: it is not a Milvus URL.
    """
    address = Address.read(url, "Milvus", _PORTS, _FORMS, option="prefix", default="hybrid_memory", pattern=_IDENTIFIER)
    path, secure, shown = unquote(address.path[1:]), address.scheme == "milvus+tls", shown_url(url)
    if not address.host:
        if secure or not path.endswith(".db"):
            raise InvalidConfigError(f"the folder of Milvus Lite must end in .db, got {shown!r}: write {_FORMS}")
        return address, path
    if path and not re.fullmatch(_IDENTIFIER, path):
        raise InvalidConfigError(f"a database's name is letters, digits and underscores, got {shown!r}; {ENCODE}")
    name = f"[{address.host}]" if ":" in address.host else address.host
    return address, f"{'https' if secure else 'http'}://{name}:{address.port}"
