"""SQL for the index: records as rows, searches, the columns of their matches, both in one statement; HNSW indexes."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import monotonic
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_memory.arrays import Floats
from hybrid_memory.engines.postgres.connection import PostgresConnection, Row
from hybrid_memory.engines.stored import RECORD_FIELDS, micros_or_none, row_of, stated, to_micros
from hybrid_memory.index.bm25 import BM25_B, BM25_K1
from hybrid_memory.index.port import RANKED_TERMS, Entry, Explored, Matches, RecordColumns, Search
from hybrid_memory.index.record import Where
from hybrid_memory.log.views import joined

_log = logging.getLogger(__name__)

FIELDS_OF = f"SELECT o.tenant, o.user, o.agent, o.space, r.session, {', '.join(f'r.{name}' for name in RECORD_FIELDS)}"
_WRITTEN = ("owner", "session", "length", "pairs", "terms", "words", *RECORD_FIELDS)
INSERT = f"INSERT INTO hm.records({', '.join(_WRITTEN)}) VALUES ({', '.join(f'%({name})s' for name in _WRITTEN)})"


def to_row(owner: int, entry: Entry, counts: Counter[str]) -> dict[str, Any]:
    """The values of `INSERT`."""
    numbers = [term_number(term) for term in counts]
    indexed = {"pairs": pairs(entry.record.metadata), "terms": numbers, "words": counts.total()}
    return row_of(owner, entry.record) | indexed


@lru_cache(maxsize=1 << 17)
def term_number(term: str) -> int:
    """A 64-bit number for a term in postings, where text would take three times the space."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "big", signed=True)


def pairs(metadata: Mapping[str, Any]) -> list[int]:
    """A number for each metadata pair, distinguishing types; lists and objects are left out."""
    return [
        term_number(f"{key}\n{json.dumps(value)}")
        for key, value in metadata.items()
        if not isinstance(value, (dict, list))
    ]


def conditions(where: Where) -> tuple[list[str], list[Any]]:
    """SQL conditions on ``records r`` other than the owner, with their values."""
    ranges = ",".join(f"[{first},{last}]" for first, last in joined(where.hidden))
    parts, values = stated(
        [
            ("r.session = %s", where.scope.session),
            ("r.kind = ANY(%s)", sorted(map(str, where.kinds)) or None),
            ("r.category = ANY(%s)", sorted(where.categories) or None),
            ("r.origin = ANY(%s)", sorted(map(str, where.origins)) or None),
            ("r.at >= %s", micros_or_none(where.since)),
            ("r.at < %s", micros_or_none(where.until)),
            ("r.pairs @> %s::bigint[]", pairs(where.metadata) if where.metadata else None),
            ("NOT r.turn <@ %s::int8multirange", f"{{{ranges}}}" if ranges else None),
        ]
    )
    for name, instant in where.fresh.items():
        parts.append("(r.at >= %s OR (r.kind <> %s AND r.category IS DISTINCT FROM %s))")
        values += [to_micros(instant), name, name]
    return parts, values


def sum_of(stored: bytes) -> npt.NDArray[np.float64]:
    """The stored sum of an owner's vectors: 8 bytes per number."""
    return np.frombuffer(stored, dtype=np.float64)


def to_array(stored: bytes) -> Floats:
    """The vector that the server has sent in its binary form, after two numbers of 16 bits."""
    return np.frombuffer(stored, dtype=">f4", offset=4).astype(np.float32)


def to_text(vector: Floats) -> str:
    """A vector as the server reads it."""
    return f"[{','.join(map(repr, vector.tolist()))}]"


LOOKED_AT = 8
"""From an approximate index, this many times k candidates are fetched and scored exactly."""

LEAST_LOOKED_AT = 100

MOST_LOOKED_AT = 1_000
"""The maximum of ``hnsw.ef_search``."""

_LATEST = "SELECT r.id, 0::float8 AS score FROM hm.records r WHERE {where} ORDER BY r.at DESC, r.id DESC LIMIT %s"
_EXACT = """
SELECT s.id, -s.distance AS score FROM (
    SELECT v.record AS id, v.vector OPERATOR(vec.<#>) %s::vec.vector AS distance
    FROM hm.vectors v {join} WHERE v.owner = %s
) s ORDER BY s.distance, s.id LIMIT %s
"""
_APPROXIMATE = """
SELECT s.record AS id, -(s.vector OPERATOR(vec.<#>) %s::vec.vector) AS score FROM (
    SELECT v.record, v.vector FROM hm.vectors v {join} WHERE v.owner = {owner}
    ORDER BY v.vector::vec.halfvec({dim}) OPERATOR(vec.<#>) %s::vec.halfvec({dim}) LIMIT %s
) s ORDER BY score DESC, s.record LIMIT %s
"""
"""The owner's number is a part of the text, as each owner has a separate index."""

_MATCHING = f"""
SELECT p.record AS id, sum(w.idf * p.count * {BM25_K1 + 1}
    / (p.count + {BM25_K1} * ({1 - BM25_B} + {BM25_B} * (p.words + 1) * w.all_records / w.length)))::float4 AS score
FROM (
    SELECT t.term, c.records AS all_records, (c.words + c.records)::float8 AS length,
        greatest(ln((c.records - t.records + 0.5::float8) / (t.records + 0.5)), 1e-6) AS idf
    FROM hm.indexed c JOIN (
        SELECT t.*, sum(t.records) OVER () AS everything,
            sum(t.records) OVER (ORDER BY t.records, t.written) AS so_far,
            row_number() OVER (ORDER BY t.records, t.written) AS place
        FROM hm.term_counts t WHERE t.owner = %s AND t.term = ANY(%s)
    ) t ON t.owner = c.owner
    WHERE %s::bigint IS NULL OR t.place = 1
        OR (t.so_far <= %s AND (t.place <= {RANKED_TERMS} OR t.everything <= %s))
    OFFSET 0
) w CROSS JOIN LATERAL (
    SELECT p.record, p.count, p.words FROM hm.postings p WHERE p.owner = %s AND p.term = w.term OFFSET 0
) p {{join}}
GROUP BY p.record ORDER BY 2 DESC, p.record LIMIT %s
"""
"""BM25 as in `hybrid_memory.index.bm25`, over the rarest terms as in `SemanticIndex.matching`.

``OFFSET 0`` prevents other joins: these plans use the indexes whatever the statistics.
"""

_PLACES = """
SELECT r.id, r.segment, r.ordinal, r.length, r.at, r.importance, r.uses, coalesce(r.last_used, 0) AS last_used,
    {similarity} AS similarity
FROM (
    SELECT DISTINCT s.segment, s.ordinal + step AS ordinal
    FROM ({found}) f(id)
    CROSS JOIN LATERAL (SELECT r.segment, r.ordinal FROM hm.records r WHERE r.id = f.id AND r.owner = %s OFFSET 0) s
    CROSS JOIN generate_series(-%s::integer, %s::integer) step
) n CROSS JOIN LATERAL (
    SELECT * FROM hm.records r WHERE r.owner = %s AND r.segment = n.segment AND r.ordinal = n.ordinal OFFSET 0
) r WHERE {where}
"""
_SIMILARITY = (
    "(SELECT -(v.vector OPERATOR(vec.<#>) %s::vec.vector) FROM hm.vectors v WHERE v.owner = %s AND v.record = r.id)"
)
_PLACE = ("id", "segment", "ordinal", "length", "at", "importance", "uses", "last_used", "similarity")


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL with its values."""

    text: str
    values: Sequence[Any]


def searching(search: Search, owner: int, *, ranked: int | None, approximate: bool) -> Statement:
    """A statement that returns ids and scores, best first; of more than ``ranked`` term matches, only the rarest."""
    query, k = search.query, search.k
    parts, values = conditions(search.where)
    if query is None:
        return Statement(_LATEST.format(where=" AND ".join(["r.owner = %s", *parts])), [owner, *values, k])
    if isinstance(query, np.ndarray):
        join = f"JOIN hm.records r ON {' AND '.join(['r.id = v.record', *parts])}" if parts else ""
        if not approximate:
            return Statement(_EXACT.format(join=join), [to_text(query), *values, owner, k])
        text = _APPROXIMATE.format(join=join, owner=int(owner), dim=len(query))
        return Statement(text, [to_text(query), *values, to_text(query), looked_at(k), k])
    here = " AND ".join(["r.id = p.record", *parts])
    join = f"CROSS JOIN LATERAL (SELECT 1 FROM hm.records r WHERE {here} OFFSET 0) r" if parts else ""
    terms = [term_number(term) for term in dict.fromkeys(query)]
    return Statement(_MATCHING.format(join=join), [owner, terms, ranked, ranked, ranked, owner, *values, k])


def looked_at(k: int) -> int:
    """How many candidates to request from an approximate index to get k."""
    return min(max(k * LOOKED_AT, LEAST_LOOKED_AT), MOST_LOOKED_AT)


def places(matching: Statement, where: Where, owner: int, radius: int, vector: Floats | None = None) -> Statement:
    """A statement that returns the columns of matches and their neighbours; see `_PLACE`."""
    parts, values = conditions(where)
    similarity, near = ("NULL::float8", []) if vector is None else (_SIMILARITY, [to_text(vector), owner])
    text = _PLACES.format(found=matching.text, similarity=similarity, where=" AND ".join(["true", *parts]))
    return Statement(text, [*near, *matching.values, owner, radius, radius, owner, *values])


def exploring(searches: Sequence[Statement], around: Statement, terms: Sequence[str], owner: int) -> Statement:
    """A statement that returns everything in one row: two lists per search, nine for the places, two for term counts.

    The places are those of ``around``, which refers to the searches as ``s0``, ``s1`` and so on.
    """
    named = [f"s{number} AS MATERIALIZED ({each.text})" for number, each in enumerate(searches)]
    lists = [f"(SELECT array_agg(id) AS ids, array_agg(score) AS scores FROM s{n}) l{n}" for n in range(len(searches))]
    columns = ", ".join(f"array_agg({name}) AS {name}" for name in _PLACE)
    counted = "SELECT array_agg(written) AS terms, array_agg(records) AS counts FROM hm.term_counts"
    lists += [
        f"(SELECT {columns} FROM (SELECT * FROM ({around.text}) p ORDER BY id) p) places",
        f"({counted} WHERE owner = %s AND term = ANY(%s)) counted",
    ]
    with_searches = f"WITH {', '.join(named)} " if named else ""
    text = f"{with_searches}SELECT * FROM {', '.join(lists)}"
    values = [value for each in (*searches, around) for value in each.values]
    return Statement(text, [*values, owner, [term_number(term) for term in terms]])


def explored(row: Row, searches: int) -> Explored:
    """The result of a statement made by `exploring`."""
    lists = [each or [] for each in row]
    matches = [_matches(lists[2 * n], lists[2 * n + 1]) for n in range(searches)]
    columns = lists[2 * searches : -2]
    table = np.array(columns[:-1], dtype=np.float64).T
    similarity = np.array([np.nan if one is None else one for one in columns[-1]], dtype=np.float32)
    return Explored(matches, RecordColumns.of(table), similarity, dict(zip(lists[-2], lists[-1], strict=True)))


def found_in(rows: Sequence[Row]) -> Matches:
    """The result of a statement made by `searching`."""
    return _matches([row[0] for row in rows], [row[1] for row in rows])


def _matches(ids: Sequence[int], scores: Sequence[float]) -> Matches:
    return Matches(ids=np.array(ids, dtype=np.int64), scores=np.array(scores, dtype=np.float32))


HALF_WIDTH = 4_000
"""The maximum width of vectors in a half-precision index."""

MOST_INDEXES = 100
"""The most owners with an index: the planner of every query considers each one, and every write too."""

RECHECK_SECONDS = 30
"""For this long, an owner without an index is assumed to have none, although another process may build it."""


class Approximate:
    """The HNSW indexes of a schema, one for each owner with too many vectors to search exactly.

    They hold half-precision vectors; their results are rescored exactly. A single index for all owners would visit the
    vectors of others first and find too few.
    """

    def __init__(self, connection: PostgresConnection, exact_limit: int | None) -> None:
        self._db = connection
        self._limit = exact_limit
        self._known: dict[int, tuple[bool, float]] = {}

    def build(self, owner: int) -> None:
        """Build the owner's index if there are enough vectors and no index yet; may take minutes."""
        if self._limit is None or self.has(owner):
            return
        ((count, dim, indexes, may_create),) = self._db.query(_COUNTS, [owner])
        if count <= self._limit or dim > HALF_WIDTH:
            return
        if not may_create:
            _log.warning("owner %s is searched exactly: only the owner of the table may create its vector index", owner)
            return
        if indexes >= MOST_INDEXES:
            _log.info("%s owners have a vector index already: another one is searched exactly", indexes)
            return
        self._db.patiently(
            f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {_name(owner)} ON hm.vectors "
            f"USING hnsw ((vector::vec.halfvec({int(dim)})) vec.halfvec_ip_ops) WHERE owner = {int(owner)}"
        )
        self._known.pop(owner, None)

    def forget(self, *, everything: bool) -> None:
        """Forget which indexes exist and look again; drop them if everything is removed."""
        self._known.clear()
        if everything:
            for (name,) in self._db.query(_NAMES):
                self._db.patiently(f"DROP INDEX IF EXISTS hm.{name}")

    def has(self, owner: int) -> bool:
        """Whether the owner has an index."""
        if self._limit is None:
            return False
        there, since = self._known.get(owner, (False, -RECHECK_SECONDS))
        if not there and monotonic() - since >= RECHECK_SECONDS:
            there = bool(self._db.query(f"{_NAMES} AND c.relname = %s", [_name(owner)]))
            self._known[owner] = there, monotonic()
        return there


_NAMES = (
    "SELECT c.relname FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid WHERE i.indisvalid "
    "AND i.indrelid = 'hm.vectors'::regclass AND c.relname LIKE 'nearest\\_of\\_%%'"
)


_COUNTS = (
    "SELECT coalesce((SELECT vectors FROM hm.indexed WHERE owner = %s), 0), "
    f"coalesce((SELECT dim FROM hm.embedder), 0), (SELECT count(*) FROM ({_NAMES}) n), "
    "(SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'hm.vectors'::regclass)"
)


def _name(owner: int) -> str:
    return f"nearest_of_{int(owner)}"
