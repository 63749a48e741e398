"""SQL for the index: searches, the columns of their matches, and both in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.engines.postgres.connection import Row
from hybrid_memory.engines.postgres.rows import conditions, term_number
from hybrid_memory.engines.postgres.vectors import to_text
from hybrid_memory.index.bm25 import BM25_B, BM25_K1
from hybrid_memory.index.port import RANKED_TERMS, Explored, Matches, RecordColumns, Search
from hybrid_memory.index.record import Where

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
    """A statement that returns ids and scores, best first.

    Args:
        search: the search.
        owner: the owner's number.
        ranked: the most term matches to rank; None for all.
        approximate: whether the owner has an approximate index.
    """
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


def places(found: Statement, where: Where, owner: int, radius: int, vector: Floats | None = None) -> Statement:
    """A statement that returns the columns of matches and their neighbours; see `_PLACE`."""
    parts, values = conditions(where)
    similarity, near = ("NULL::float8", []) if vector is None else (_SIMILARITY, [to_text(vector), owner])
    text = _PLACES.format(found=found.text, similarity=similarity, where=" AND ".join(["true", *parts]))
    return Statement(text, [*near, *found.values, owner, radius, radius, owner, *values])


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
