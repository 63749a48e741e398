"""The collections of one index: how they are created, read and written."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from pymilvus import CollectionSchema, DataType, Function, FunctionType, MilvusClient
from pymilvus.milvus_client.index import IndexParams

from hybrid_memory.arrays import Floats
from hybrid_memory.engines.milvus.connection import CALL_SECONDS, Address, Connection
from hybrid_memory.engines.milvus.rows import Row
from hybrid_memory.runtime.tasks import ENGINE_SECONDS

RECORDS, VECTORS, PENDING, TERMS, STATE = "records", "vectors", "pending", "terms", "state"
WINDOW = 16_384
"""The most rows that a server returns per query."""

VECTOR_PAGE = 4_000
WRITTEN = 500
FLUSHED = 2_000
"""The most rows that Milvus Lite keeps in memory, where it takes 70 us to examine each."""

LEAST_FLUSHED = 256
ASKED = 1_000
FLAT = [0.0, 0.0]
"""The vector of rows without one, as every collection needs a vector."""

_TEXT = {"max_length": 65_535}
Field: TypeAlias = tuple[str, DataType, dict[str, Any]]


class Catalog:
    """The collections ``prefix_records``, ``_vectors``, ``_pending``, ``_terms`` and ``_state``.

    Attributes:
        lite: whether it is Milvus Lite, which is slow until rows are flushed into segments.
    """

    def __init__(
        self, address: Address, index: tuple[str, dict[str, int]], *, engine_timeout: float = ENGINE_SECONDS
    ) -> None:
        self.lite = False
        self._unflushed: Counter[str] = Counter()
        self._prefix = address.prefix
        self._index = index
        self._preparing = threading.Lock()
        self._connection = Connection(address, self._prepare, engine_timeout=engine_timeout)

    def check_open(self) -> None:
        self._connection.check_open()

    def close(self) -> None:
        self._connection.close()

    def fetch(self, name: str, ids: Sequence[int | str], fields: Sequence[str]) -> list[Row]:
        """The rows with these primary keys, in any order; unknown ones are left out."""
        self.check_open()
        return [
            row
            for start in range(0, len(ids), ASKED)
            for row in self._query(name, f"id in {_literal(ids[start : start + ASKED])}", fields, limit=ASKED)
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
            condition = " and ".join([*([f"({expression})"] if expression else []), f"id > {_quoted(last)}"])
        return rows

    def nearest(self, vector: Floats, expression: str, limit: int, *, nprobe: int) -> list[Row]:
        """Rows with the highest inner product, as ``id``, ``distance`` and the filter's fields."""
        name, _ = self._index
        params = {"IVF_FLAT": {"nprobe": nprobe}, "HNSW": {"ef": max(limit, 64)}}.get(name, {})
        return self._search(
            VECTORS,
            [vector.tolist()],
            anns_field="vector",
            filter=expression,
            limit=limit,
            search_params={"metric_type": "IP", "params": params},
            output_fields=["turn"],
        )

    def matching(self, text: str, expression: str, limit: int) -> list[Row]:
        """Rows with the highest BM25 by the server's own statistics, with ``terms`` and log position."""
        return self._search(
            RECORDS,
            [text],
            anns_field="sparse",
            filter=expression,
            limit=limit,
            search_params={"metric_type": "BM25", "params": {}},
            output_fields=["terms", "turn"],
        )

    def write(self, name: str, rows: Sequence[Row]) -> None:
        self.check_open()
        for start in range(0, len(rows), WRITTEN):
            self._connection.call("upsert", self._named(name), list(rows[start : start + WRITTEN]))
        self._unflushed[name] += len(rows)
        if self.lite and name in (RECORDS, VECTORS):
            self.flush(name, FLUSHED)

    def remove(self, name: str, ids: Sequence[int | str]) -> None:
        self.check_open()
        for start in range(0, len(ids), ASKED):
            self._connection.call("delete", self._named(name), filter=f"id in {_literal(ids[start : start + ASKED])}")

    def flush(self, name: str, least: int) -> None:
        """Make the server flush rows from memory into indexed segments, if enough of them are ours."""
        if self._unflushed[name] >= least:
            self._unflushed[name] = 0
            self._connection.call("flush", self._named(name))

    def compact(self, name: str) -> None:
        """Make the server compact a collection, if it exists."""
        if self._connection.call("has_collection", self._named(name)):
            self.flush(name, 0)
            self._connection.call("compact", self._named(name))

    def count(self, name: str, expression: str = "") -> int:
        rows = self._query(name, expression, ["count(*)"])
        return int(rows[0]["count(*)"])

    def make_vectors(self, dim: int) -> None:
        def make(client: MilvusClient) -> None:
            name, params = self._index
            fields: list[Field] = [*_narrowing(), ("key", DataType.VARCHAR, _TEXT)]
            index = IndexParams()
            # Each by itself for a server, and together for Milvus Lite, which reads them there only.
            index.add_index("vector", index_type=name, metric_type="IP", params={**params, "params": params})
            index.add_index("key", index_type="INVERTED")
            schema = _schema(DataType.INT64, [*fields, ("vector", DataType.FLOAT_VECTOR, {"dim": dim})])
            self._make(client, VECTORS, schema, index)

        self._drop([VECTORS])
        self._connection.run(make)

    def drop_all(self) -> None:
        """Drop the collections; those without vectors are created again."""
        self._drop([VECTORS, RECORDS, PENDING, TERMS, STATE])
        self._connection.run(self._prepare)

    def _drop(self, names: Sequence[str]) -> None:
        for name in names:
            if self._connection.call("has_collection", self._named(name)):
                self._connection.call("drop_collection", self._named(name))

    def _query(self, name: str, expression: str, fields: Sequence[str], **options: Any) -> list[Row]:
        rows: list[Row] = list(
            self._connection.call("query", self._named(name), filter=expression, output_fields=list(fields), **options)
        )
        return rows

    def _search(self, name: str, data: list[Any], **options: Any) -> list[Row]:
        hits = self._connection.call("search", self._named(name), data=data, **options)[0]
        return [{**hit["entity"], "id": hit["id"], "distance": hit["distance"]} for hit in hits]

    def _named(self, name: str) -> str:
        return f"{self._prefix}_{name}"

    def _prepare(self, client: MilvusClient) -> None:
        with self._preparing:
            self.lite = "lite" in client.get_server_version(timeout=CALL_SECONDS)
            for name, schema, index in self._schemas():
                if not client.has_collection(self._named(name), timeout=CALL_SECONDS):
                    self._make(client, name, schema, index)
                client.load_collection(self._named(name), timeout=CALL_SECONDS)
            if client.has_collection(self._named(VECTORS), timeout=CALL_SECONDS):
                client.load_collection(self._named(VECTORS), timeout=CALL_SECONDS)

    def _schemas(self) -> Iterator[tuple[str, CollectionSchema, IndexParams]]:
        # The terms are words already, parted by blanks; the analyzer of Milvus Lite takes them as they are.
        yield RECORDS, *_records("standard" if self.lite else "whitespace")
        dummy = ("dummy", DataType.FLOAT_VECTOR, {"dim": len(FLAT)})
        owner = ("owner", DataType.VARCHAR, {"max_length": 64, "is_partition_key": True})
        value = ("value", DataType.ARRAY, {"element_type": DataType.VARCHAR, "max_capacity": 64, **_TEXT})
        term = ("term", DataType.VARCHAR, {"max_length": 512})
        numbers: list[Field] = [(name, DataType.INT64, {}) for name in ("chars", "count", "length")]
        for name, key, fields in (
            (PENDING, DataType.INT64, [owner]),
            (TERMS, DataType.VARCHAR, [term, *numbers]),
            (STATE, DataType.VARCHAR, [value]),
        ):
            index = IndexParams()
            index.add_index("dummy", index_type="FLAT", metric_type="IP")
            yield name, _schema(key, [*fields, dummy]), index

    def _make(self, client: MilvusClient, name: str, schema: CollectionSchema, index: IndexParams) -> None:
        # Strong: what was written is seen by the next read, whichever client it comes from.
        client.create_collection(self._named(name), schema=schema, timeout=CALL_SECONDS, consistency_level="Strong")
        client.create_index(self._named(name), index, timeout=CALL_SECONDS, sync=False)  # the collection is empty
        client.load_collection(self._named(name), timeout=CALL_SECONDS)


def _schema(key: DataType, fields: Sequence[Field]) -> CollectionSchema:
    schema: CollectionSchema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", key, is_primary=True, **({"max_length": 512} if key is DataType.VARCHAR else {}))
    for name, kind, options in fields:
        schema.add_field(name, kind, **options)
    return schema


def _narrowing() -> list[Field]:
    short = {"max_length": 64}
    return [
        ("owner", DataType.VARCHAR, {**short, "is_partition_key": True}),
        *((name, DataType.VARCHAR, short) for name in ("session", "kind", "category")),
        *((name, DataType.INT64, {}) for name in ("at", "turn")),
        ("metadata", DataType.ARRAY, {"element_type": DataType.VARCHAR, "max_capacity": 4_096, **short}),
    ]


def _records(tokenizer: str) -> tuple[CollectionSchema, IndexParams]:
    analyzed = {"enable_analyzer": True, "analyzer_params": {"tokenizer": tokenizer}}
    fields: list[Field] = [
        *_narrowing(),
        *((name, DataType.INT64, {}) for name in ("segment", "ordinal", "uses", "last_used")),
        ("importance", DataType.DOUBLE, {}),
        ("terms", DataType.VARCHAR, {**_TEXT, **analyzed}),
        ("doc", DataType.ARRAY, {"element_type": DataType.VARCHAR, "max_capacity": 4_096, **_TEXT}),
        ("sparse", DataType.SPARSE_FLOAT_VECTOR, {}),
    ]
    schema = _schema(DataType.INT64, fields)
    schema.add_function(
        Function(
            name="bm25", function_type=FunctionType.BM25, input_field_names=["terms"], output_field_names=["sparse"]
        )
    )
    index = IndexParams()
    index.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
    return schema, index


def _literal(ids: Sequence[int | str]) -> str:
    return f"[{', '.join(_quoted(number) for number in ids)}]"


def _quoted(key: int | str) -> str:
    return f'"{key}"' if isinstance(key, str) else str(key)
