"""L2 in Postgres: records, BM25 over the library's own postings, and vectors with pgvector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.engines.postgres.connection import EVERYBODY, PostgresConnection, Row
from hybrid_memory.engines.postgres.pool import PatientConnection
from hybrid_memory.engines.postgres.searching import (
    FIELDS_OF,
    INSERT,
    Approximate,
    Statement,
    explored,
    exploring,
    found_in,
    looked_at,
    places,
    searching,
    sum_of,
    term_number,
    to_array,
    to_row,
    to_text,
)
from hybrid_memory.engines.stored import owner_scope, record_in, to_micros
from hybrid_memory.errors import EmbedderMismatchError
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
from hybrid_memory.scope import Scope

_STATUS = """
SELECT coalesce(i.applied, 0), coalesce(i.anchor, ''), e.name, e.dim, coalesce(i.vectors, 0), i.total
FROM (SELECT 1) one LEFT JOIN hm.indexed i ON i.owner = %s LEFT JOIN hm.embedder e ON true
"""
_STATUSES = """
SELECT o.tenant, o."user", o.agent, o.space, i.applied, i.anchor, (SELECT r.id FROM hm.records r
    WHERE r.owner = i.owner AND r.pending ORDER BY r.id LIMIT 1)
FROM hm.indexed i JOIN hm.owners o ON o.id = i.owner
"""
_TAILS = """
SELECT s.session, (SELECT r.id FROM hm.records r
    WHERE r.owner = %s AND r.session = s.session AND r.kind = 'turn' ORDER BY r.id DESC LIMIT 1)
FROM unnest(%s::text[]) s(session)
"""
_SIZE = """
SELECT (SELECT count(*) FROM hm.records), (SELECT count(*) FROM hm.vectors),
    (SELECT count(*) FROM hm.records WHERE pending)
"""
_MOVED = """
UPDATE hm.indexed SET applied = %s, anchor = %s
WHERE owner = %s AND applied = %s AND anchor = coalesce(%s, anchor) RETURNING 1
"""
_POSTINGS = """
INSERT INTO hm.postings(owner, term, record, count, words)
SELECT %s, p.* FROM unnest(%s::bigint[], %s::bigint[], %s::integer[], %s::integer[]) p
"""
_TERM_COUNTS = """
INSERT INTO hm.term_counts(owner, term, written, records)
SELECT %s, t.* FROM unnest(%s::bigint[], %s::text[], %s::bigint[]) t
ON CONFLICT (owner, term) DO UPDATE SET records = term_counts.records + excluded.records
"""


_FETCH = f"""
{FIELDS_OF}, (SELECT vec.vector_send(v.vector) FROM hm.vectors v WHERE v.owner = r.owner AND v.record = r.id)
FROM unnest(%s::bigint[]) WITH ORDINALITY u(id, place)
CROSS JOIN LATERAL (SELECT * FROM hm.records r WHERE r.id = u.id AND r.owner = %s OFFSET 0) r
JOIN hm.owners o ON o.id = r.owner ORDER BY u.place
"""
_GET = f"""
{FIELDS_OF} FROM unnest(%s::bigint[]) u(id)
CROSS JOIN LATERAL (SELECT * FROM hm.records r WHERE r.id = u.id OFFSET 0) r JOIN hm.owners o ON o.id = r.owner
"""
_STORED = "SELECT DISTINCT ON (key) key, vec.vector_send(vector) FROM hm.vectors WHERE key = ANY(%s)"
_WIDTH = "SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', %s, true)"


class PostgresIndex(SemanticIndex):
    """The semantic index in a schema.

    Args:
        connection: the connection to the database; closed with the index.
        exact_limit: up to this many vectors of one owner are searched exactly; for more, `train` builds an HNSW index
            for the owner. None always searches exactly.
    """

    def __init__(self, connection: PostgresConnection, *, exact_limit: int | None = None) -> None:
        self._db = connection
        self._approximate = Approximate(connection, exact_limit)

    def status(
        self, owner: Scope | None = None, *, sessions: Sequence[str | None] = (), pending: int = 0, sums: bool = False
    ) -> Status:
        number = None if owner is None else self._db.owner_id(owner)
        asked: list[tuple[str, Sequence[Any]]] = [(_STATUS, [number])]
        asked.append((_TAILS, [number, [session or "" for session in sessions]]))
        waiting = "SELECT id FROM hm.records WHERE owner = %s AND pending ORDER BY id LIMIT %s"
        asked.append((waiting, [number, pending]))
        if sums and owner is None:
            asked.append((_SIZE, []))
        seen = EVERYBODY if number is None else number
        ((applied, anchor, name, dim, vectors, total),), tails, waits, *sizes = self._db.queries(asked, owner=seen)
        last: dict[str, int] = {session: record for session, record in tails if record is not None}
        return Status(
            applied=applied,
            anchor=anchor,
            embedder=None if name is None else (name, dim),
            tails={one: last[one or ""] for one in sessions if (one or "") in last},
            pending=[row[0] for row in waits],
            vectors=vectors if sums else 0,
            total=sum_of(total) if sums and vectors else None,
            size=IndexSize(*sizes[0][0]) if sizes else IndexSize(0, 0, 0),
        )

    def statuses(self, owners: Sequence[Scope]) -> dict[Scope, Status]:
        there = {
            owner_scope(*row[:4]): Status(applied, anchor, pending=[] if pending is None else [pending])
            for *row, applied, anchor, pending in self._db.query(_STATUSES)
        }
        return {owner: there.get(owner.owner, Status()) for owner in owners}

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
        number = self._db.owner_id_for_writing(owner)

        def moved_on(connection: PatientConnection, _: int) -> bool:
            connection.execute("INSERT INTO hm.indexed(owner) VALUES (%s) ON CONFLICT DO NOTHING", [number])
            if connection.execute(_MOVED, [upto, anchor, number, after, seen]).fetchone() is None:
                return False
            chosen = "SELECT id FROM hm.records WHERE owner = %s AND id = ANY(%s)"
            mine = [row[0] for row in connection.execute(chosen, [number, list(gone)])] if gone else []
            _delete(connection, [*mine, *(entry.record.id for entry in entries)])
            with connection.batched():
                _insert(connection, number, entries)
                if uses:
                    connection.cursor().executemany(
                        "UPDATE hm.records SET uses = uses + %s, last_used = greatest(last_used, %s) "
                        "WHERE id = %s AND owner = %s",
                        [(use.count, to_micros(use.at), record, number) for record, use in uses.items()],
                    )
            return True

        return self._db.write(moved_on)

    def put_vectors(
        self, embedder: tuple[str, int], keys: Mapping[int, bytes], vectors: Mapping[bytes, Floats]
    ) -> None:
        def put(connection: PatientConnection, _: int) -> None:
            connection.execute("INSERT INTO hm.embedder VALUES (1, %s, %s) ON CONFLICT DO NOTHING", embedder)
            ((name, dim),) = connection.execute("SELECT name, dim FROM hm.embedder").fetchall()
            if (name, dim) != tuple(embedder):
                raise EmbedderMismatchError((name, dim), embedder)
            chosen = "SELECT owner, id FROM hm.records WHERE id = ANY(%s) AND coalesce(pending)"
            waiting = connection.execute(f"{chosen} ORDER BY owner, id FOR UPDATE", [list(keys)]).fetchall()
            unknown = {keys[record] for _, record in waiting} - vectors.keys()
            rows = connection.execute(_STORED, [list(unknown)], binary=True).fetchall() if unknown else []
            known = {**vectors, **{bytes(key): to_array(vector) for key, vector in rows}}
            given = [
                (owner, record, keys[record], known[keys[record]]) for owner, record in waiting if keys[record] in known
            ]
            if not given:
                return
            with connection.batched():
                connection.cursor().executemany(
                    "INSERT INTO hm.vectors(owner, record, key, vector) VALUES (%s, %s, %s, %s::vec.vector)",
                    [(owner, record, key, to_text(vector)) for owner, record, key, vector in given],
                )
                connection.execute(
                    "UPDATE hm.records SET pending = false WHERE id = ANY(%s)", [[record for _, record, _, _ in given]]
                )
            for owner in sorted({owner for owner, *_ in given}):
                _add(connection, owner, [vector for whose, _, _, vector in given if whose == owner])

        self._db.write(put)

    def search(self, query: Query, where: Where, k: int) -> Matches:
        number = self._db.owner_id(where.scope)
        if number is None or k <= 0 or (query is not None and not len(query)):
            return Matches.best({}, 0)
        asked = self._asked(Search(query, where, k), number, None)
        return found_in(self._read([asked], number, [Search(query, where, k)])[0])

    def explore(
        self,
        searches: Sequence[Search],
        where: Where,
        *,
        radius: int,
        vector: Floats | None = None,
        words: Sequence[str] = (),
    ) -> Explored:
        number = self._db.owner_id(where.scope)
        if number is None or not searches:
            return super().explore(searches, where, radius=radius, vector=vector, words=words)
        asked = [self._asked(search, number, self.ranked_records) for search in searches]
        union = Statement(" UNION ".join(f"SELECT id FROM s{n}" for n in range(len(asked))), [])
        around = places(union, where, number, radius, vector)
        rows = self._read([exploring(asked, around, words, number)], number, searches)[0]
        return explored(rows[0], len(asked))

    def fetch(self, ids: Ids, owner: Scope) -> Fetched:
        number = self._db.owner_id(owner)
        rows = [] if number is None else self._db.query(_FETCH, [ids.tolist(), number], owner=number)
        stored = {row[5]: to_array(row[-1]) for row in rows if row[-1] is not None}
        return Fetched([record_in(row[:-1]) for row in rows], *stacked(stored, ids))

    def columns(self, ids: Ids, where: Where, radius: int) -> RecordColumns:
        number = self._db.owner_id(where.scope)
        if number is None or not len(ids):
            return RecordColumns.of([])
        asked = places(Statement("SELECT unnest(%s::bigint[])", [ids.tolist()]), where, number, radius)
        return RecordColumns.of([row[:-1] for row in self._db.query(asked.text, asked.values, owner=number)])

    def get(self, ids: Sequence[int]) -> list[Record]:
        self._db.check_open()
        if not len(ids):
            return []
        rows = self._db.query(_GET, [list(map(int, ids))])
        records = {record.id: record for record in map(record_in, rows)}
        return [records[number] for number in ids if number in records]

    def vectors(self, keys: Sequence[int | bytes], owner: Scope | None = None) -> dict[int | bytes, Floats]:
        hashes = [key for key in keys if isinstance(key, bytes)]
        numbers = [int(key) for key in keys if not isinstance(key, bytes)]
        found: dict[int | bytes, Floats] = {}
        if hashes:
            rows = self._db.query(_STORED, [hashes])
            found |= {bytes(key): to_array(vector) for key, vector in rows}
        number = None if owner is None else self._db.owner_id(owner)
        if numbers and number is not None:
            chosen = "SELECT record, vec.vector_send(vector) FROM hm.vectors WHERE owner = %s AND record = ANY(%s)"
            rows = self._db.query(chosen, [number, numbers], owner=number)
            found |= {record: to_array(vector) for record, vector in rows}
        self._db.check_open()
        return found

    def terms(self, owner: Scope, words: Sequence[str] = (), *, near: str = "") -> dict[str, int]:
        number = self._db.owner_id(owner)
        if number is None:
            return {}
        select, first = "SELECT written, records FROM hm.term_counts WHERE", near[:1]
        asked: list[tuple[str, Sequence[Any]]] = []
        if words:
            asked.append((f"{select} owner = %s AND term = ANY(%s)", [number, [term_number(term) for term in words]]))
        if near:
            asked.append(
                (f"{select} owner = %s AND written >= %s AND written < %s", [number, first, chr(ord(first) + 1)])
            )
        found = self._db.queries(asked, owner=number) if asked else []
        return {term: count for rows in found for term, count in rows}

    def delete(self, ids: Sequence[int] | None) -> int:
        self._approximate.forget(everything=ids is None)

        def deleted(connection: PatientConnection, _: int) -> int:
            if ids is not None:
                return _delete(connection, list(map(int, ids)))
            ((gone,),) = connection.execute("SELECT count(*) FROM hm.records").fetchall()
            connection.execute("TRUNCATE hm.records, hm.postings, hm.term_counts, hm.vectors, hm.indexed, hm.embedder")
            return int(gone)

        return self._db.write(deleted)

    def train(self, owner: Scope) -> None:
        number = self._db.owner_id(owner)
        if number is not None:
            self._approximate.build(number)

    def scrub(self) -> None:
        self._db.scrub()

    def close(self) -> None:
        self._db.close()

    def _asked(self, search: Search, number: int, ranked: int | None) -> Statement:
        approximate = isinstance(search.query, np.ndarray) and self._approximate.has(number)
        return searching(search, number, ranked=ranked, approximate=approximate)

    def _read(self, asked: Sequence[Statement], number: int, searches: Sequence[Search]) -> list[list[Row]]:
        """The rows of each statement, in one round trip."""
        wide = [looked_at(each.k) for each in searches if isinstance(each.query, np.ndarray)]
        settings: list[tuple[str, Sequence[Any]]] = []
        if wide and self._approximate.has(number):
            settings = [(_WIDTH, [str(max(wide)), "relaxed_order"])]
        rows = self._db.queries([*settings, *((each.text, each.values) for each in asked)], owner=number, keep=True)
        return rows[len(settings) :]


def _insert(connection: PatientConnection, number: int, entries: Sequence[Entry]) -> None:
    if not entries:
        return
    counted = [(entry, Counter(entry.terms.split())) for entry in entries]
    connection.cursor().executemany(INSERT, [to_row(number, entry, counts) for entry, counts in counted])
    postings = [
        (term_number(term), entry.record.id, count, words)
        for entry, counts in counted
        for words in [counts.total()]
        for term, count in counts.items()
    ]
    if postings:
        postings.sort()  # in the order of their index
        connection.execute(_POSTINGS, [number, *map(list, zip(*postings, strict=True))])
        having = Counter(term for _, counts in counted for term in counts)
        rows = sorted((term_number(term), term, n) for term, n in having.items())
        connection.execute(_TERM_COUNTS, [number, *map(list, zip(*rows, strict=True))])
    connection.execute(
        "UPDATE hm.indexed SET records = records + %s, words = words + %s WHERE owner = %s",
        [len(counted), sum(counts.total() for _, counts in counted), number],
    )


def _add(connection: PatientConnection, owner: int, vectors: Sequence[Floats], sign: int = 1) -> None:
    """Add vectors to the owner's sum, or subtract them."""
    ((total,),) = connection.execute("SELECT total FROM hm.indexed WHERE owner = %s FOR UPDATE", [owner]).fetchall()
    added = np.sum(np.stack(vectors), axis=0, dtype=np.float64) * sign
    total = added if not total else sum_of(total) + added
    connection.execute(
        "UPDATE hm.indexed SET vectors = vectors + %s, total = %s WHERE owner = %s",
        [sign * len(vectors), total.tobytes(), owner],
    )


def _delete(connection: PatientConnection, ids: Sequence[int]) -> int:
    """Delete records with their terms and vectors; returns how many there were."""
    chosen = "SELECT owner, count(*), sum(words) FROM hm.records WHERE id = ANY(%s) GROUP BY owner ORDER BY owner"
    fewer = connection.execute(chosen, [list(ids)]).fetchall()
    if not fewer:
        return 0
    for owner, count, words in fewer:
        connection.execute(
            "UPDATE hm.indexed SET records = records - %s, words = words - %s WHERE owner = %s", [count, words, owner]
        )
    gone = "DELETE FROM hm.vectors WHERE record = ANY(%s) AND owner = %s RETURNING vec.vector_send(vector)"
    for owner, *_ in fewer:
        rows = connection.execute(gone, [list(ids), owner], binary=True).fetchall()
        if rows:
            _add(connection, owner, [to_array(vector) for (vector,) in rows], -1)
    with connection.batched():
        connection.execute(
            "UPDATE hm.term_counts t SET records = t.records - g.n FROM (SELECT r.owner, x.term, count(*) AS n "
            "FROM hm.records r, unnest(r.terms) x(term) WHERE r.id = ANY(%s) GROUP BY 1, 2) g "
            "WHERE t.owner = g.owner AND t.term = g.term",
            [list(ids)],
        )
        connection.execute(
            "DELETE FROM hm.term_counts t USING (SELECT DISTINCT r.owner, x.term "
            "FROM hm.records r, unnest(r.terms) x(term) WHERE r.id = ANY(%s)) g "
            "WHERE t.owner = g.owner AND t.term = g.term AND t.records <= 0",
            [list(ids)],
        )
        connection.execute(
            "DELETE FROM hm.postings p USING hm.records r, unnest(r.terms) x(term) "
            "WHERE r.id = ANY(%s) AND p.owner = r.owner AND p.term = x.term AND p.record = r.id",
            [list(ids)],
        )
        connection.execute("DELETE FROM hm.records WHERE id = ANY(%s)", [list(ids)])
    return sum(count for _, count, _ in fewer)
