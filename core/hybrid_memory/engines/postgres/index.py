"""L2 in Postgres: records and vectors as rows, searched in memory; see `hybrid_memory.engines.columns`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.engines.columns import CACHE_BYTES, Changes, Columns, RowIndex
from hybrid_memory.engines.postgres.connection import EVERYBODY, PostgresConnection, Row, Statement
from hybrid_memory.engines.postgres.pool import PatientConnection
from hybrid_memory.engines.stored import RECORD_FIELDS, owner_scope, record_in, row_of, to_micros
from hybrid_memory.errors import EmbedderMismatchError
from hybrid_memory.index.port import UNUSED, Entry, IndexSize, Status, Use
from hybrid_memory.index.record import Record
from hybrid_memory.scope import Scope

_FIELDS_OF = f"SELECT o.tenant, o.user, o.agent, o.space, r.session, {', '.join(f'r.{name}' for name in RECORD_FIELDS)}"
_WRITTEN = ("owner", "session", "length", "terms", "written", "changed", *RECORD_FIELDS)
_INSERT = f"INSERT INTO hm.records({', '.join(_WRITTEN)}) VALUES ({', '.join(f'%({name})s' for name in _WRITTEN)})"

_STATE = """
WITH state AS MATERIALIZED (
    SELECT i.number, i.epoch, i.since, ARRAY(
        SELECT g.id FROM hm.gone g WHERE g.owner = i.owner AND g.number > i.since AND i.since >= 0
    ) AS gone
    FROM (SELECT *, CASE WHEN epoch = %s THEN %s ELSE -1 END AS since FROM hm.indexed WHERE owner = %s) i
)
SELECT s.number, s.epoch, s.gone, r.id, r.segment, r.ordinal, r.length, r.at, r.importance, r.uses,
    coalesce(r.last_used, 0), r.turn, r.kind, r.category, r.origin, r.session, r.metadata,
    CASE WHEN r.written > s.since THEN r.terms END, v.vector
FROM state s
"""
_ALL = f"""
{_STATE} LEFT JOIN hm.records r ON r.owner = %s AND r.changed > s.since
LEFT JOIN hm.vectors v ON v.owner = %s AND v.record = r.id AND v.number > s.since
ORDER BY r.id
"""
_CHANGED = f"""
{_STATE} LEFT JOIN LATERAL (SELECT * FROM hm.records r WHERE r.owner = %s AND r.changed > s.since OFFSET 0) r ON true
LEFT JOIN LATERAL (
    SELECT v.vector FROM hm.vectors v WHERE v.owner = %s AND v.record = r.id AND v.number > s.since OFFSET 0
) v ON true
ORDER BY r.id
"""
"""Each is one statement, of one snapshot. ``OFFSET 0`` prevents other joins, which may read all of its vectors."""

_STATUS = """
SELECT coalesce(i.applied, 0), coalesce(i.anchor, ''), e.name, e.dim
FROM (SELECT 1) one LEFT JOIN hm.indexed i ON i.owner = %s LEFT JOIN hm.embedder e ON true
"""
_STATUSES = """
SELECT o.tenant, o."user", o.agent, o.space, i.applied, i.anchor, (SELECT r.id FROM hm.records r
    WHERE r.owner = i.owner AND r.pending ORDER BY r.id LIMIT 1)
FROM hm.indexed i JOIN hm.owners o ON o.id = i.owner
"""
_TAILS = """
SELECT s.session, (SELECT r.id FROM hm.records r
    WHERE r.owner = %s AND r.session = s.session AND r.kind = 'turn' ORDER BY r.id DESC LIMIT 1) AS id
FROM unnest(%s::text[]) s(session)
"""
_PENDING = "SELECT id FROM hm.records WHERE owner = %s AND pending ORDER BY id LIMIT %s"
_SIZE = """
SELECT (SELECT count(*) FROM hm.records), (SELECT count(*) FROM hm.vectors),
    (SELECT count(*) FROM hm.records WHERE pending)
"""
_PREVIOUS = """
SELECT p.id FROM hm.records r JOIN hm.records p
    ON p.owner = r.owner AND p.segment = r.segment AND p.ordinal = r.ordinal - 1 AND p.kind = 'turn'
WHERE r.owner = %s AND r.id = ANY({ids})
"""
_MOVED = """
UPDATE hm.indexed SET applied = %s, anchor = %s, number = number + 1
WHERE owner = %s AND applied = %s AND anchor = coalesce(%s, anchor) RETURNING number
"""
_LEASED = """
INSERT INTO hm.indexed AS i (owner, holder, leased) VALUES (%s, %s, now() + make_interval(secs => %s))
ON CONFLICT (owner) DO UPDATE SET holder = excluded.holder, leased = excluded.leased
WHERE i.holder = excluded.holder OR i.leased < now() RETURNING 1
"""
_WAITING = "SELECT owner, id FROM hm.records WHERE id = ANY(%s) AND coalesce(pending)"
_NEXT = f"""
UPDATE hm.indexed i SET number = number + 1 FROM (
    SELECT owner FROM hm.indexed WHERE owner IN (SELECT owner FROM ({_WAITING}) w) ORDER BY owner FOR UPDATE
) mine WHERE i.owner = mine.owner RETURNING i.owner, i.number
"""
_DELETE = """
WITH removed AS (DELETE FROM hm.records WHERE id = ANY(%s) RETURNING owner, id),
bare AS (DELETE FROM hm.vectors v USING removed r WHERE v.owner = r.owner AND v.record = r.id),
numbers AS (
    UPDATE hm.indexed i SET number = number + 1 FROM (SELECT DISTINCT owner FROM removed) r WHERE i.owner = r.owner
    RETURNING i.owner, i.number
),
noted AS (INSERT INTO hm.gone SELECT n.owner, n.number, r.id FROM removed r JOIN numbers n ON n.owner = r.owner)
SELECT owner FROM removed
"""
"""Deletes records with their vectors, and notes for the copies of their owners that they are gone."""

_FORGOTTEN = """
WITH full_ones AS (SELECT owner FROM hm.gone WHERE owner = ANY(%s) GROUP BY owner HAVING count(*) > %s),
emptied AS (DELETE FROM hm.gone WHERE owner IN (SELECT owner FROM full_ones))
UPDATE hm.indexed SET epoch = epoch + 1 WHERE owner IN (SELECT owner FROM full_ones)
"""
_STORED = "SELECT DISTINCT ON (key) key, vector FROM hm.vectors WHERE key = ANY(%s)"


def _records(ids: str) -> str:
    """A statement for the records with these ids, which a subquery returns as ``id``."""
    return (
        f"{_FIELDS_OF} FROM ({ids}) u CROSS JOIN LATERAL (SELECT * FROM hm.records r WHERE r.id = u.id OFFSET 0) r "
        "JOIN hm.owners o ON o.id = r.owner"
    )


MOST_GONE = 1_000
"""The most removed records of an owner that are noted one by one; beyond, whoever has a copy loads all again."""


class PostgresIndex(RowIndex):
    """The semantic index in a schema.

    Args:
        connection: the connection to the database; closed with the index.
        cache_bytes: see `RowIndex`.
    """

    def __init__(self, connection: PostgresConnection, *, cache_bytes: int = CACHE_BYTES) -> None:
        super().__init__(cache_bytes)
        self._db = connection

    def changes(self, owner: Scope, known: Columns) -> Changes:
        return Changes() if self._db.owner_id(owner) is None else self._changes(owner, known, [])[0]

    def _changes(self, owner: Scope, known: Columns, asked: Sequence[Statement]) -> tuple[Changes, list[list[Row]]]:
        """The changes, and the rows of statements asked before them in the same round trip."""
        mine, number = self._db.owner_id(owner), known.number
        changes = (_ALL if number < 0 else _CHANGED, [known.epoch, number, mine, mine, mine])
        # Last, so that the columns are not older than what the others say.
        *answers, rows = self._db.queries([*asked, changes], owner=mine or EVERYBODY, keep=number >= 0)
        if not rows:
            return Changes(), answers
        number, epoch, gone = rows[0][:3]
        return Changes(number, epoch, [row[3:] for row in rows if row[3] is not None], gone), answers

    def status(
        self, owner: Scope | None = None, *, sessions: Sequence[str | None] = (), pending: int = 0, sums: bool = False
    ) -> Status:
        number = None if owner is None else self._db.owner_id(owner)
        asked: list[Statement] = [(_STATUS, [number])]
        asked += [(_TAILS, [number, [session or "" for session in sessions]])] if sessions else []
        asked += [(_PENDING, [number, pending])] if pending else []
        asked += [(_SIZE, [])] if sums and owner is None else []
        answers: list[list[Row]] = []
        columns = None
        if sums and owner is not None and number is not None:

            def changes(known: Columns) -> Changes:
                nonlocal answers
                new, answers = self._changes(owner, known, asked)
                return new

            columns = self.owner_columns(owner, changes)
        else:
            answers = self._db.queries(asked, owner=number or EVERYBODY)
        ((applied, anchor, name, dim),) = answers.pop(0)
        tails = answers.pop(0) if sessions else []
        last: dict[str, int] = {session: record for session, record in tails if record is not None}
        status = Status(
            applied=applied,
            anchor=anchor,
            embedder=None if name is None else (name, dim),
            tails={one: last[one or ""] for one in sessions if (one or "") in last},
            pending=[row[0] for row in answers.pop(0)] if pending else [],
            size=IndexSize(*answers[0][0]) if answers else IndexSize(0, 0, 0),
        )
        return status if columns is None else columns.summed(status)

    def statuses(self, owners: Sequence[Scope]) -> dict[Scope, Status]:
        there = {
            owner_scope(*row[:4]): Status(applied, anchor, pending=[] if pending is None else [pending])
            for *row, applied, anchor, pending in self._db.query(_STATUSES)
        }
        return {owner: there.get(owner.owner, Status()) for owner in owners}

    def tails(self, owner: Scope, sessions: Sequence[str | None]) -> dict[str | None, Record]:
        asked = [self._db.owner_id(owner), [session or "" for session in sessions]]
        return {turn.scope.session: turn for turn in self._read([(_records(_TAILS), asked)])[0]} if sessions else {}

    def pending(self, owner: Scope, limit: int) -> list[tuple[Record, Record | None]]:
        number = self._db.owner_id(owner)
        before = _records(_PREVIOUS.format(ids=f"ARRAY({_PENDING})"))
        waiting, turns = self._read([(_records(_PENDING), [number, limit]), (before, [number, number, limit])])
        places = _places(turns)
        return [(record, places.get((record.segment, record.ordinal - 1))) for record in waiting]

    def previous(self, owner: Scope, records: Sequence[Record]) -> dict[int, Record]:
        """See `SemanticIndex.previous`; without the columns, which a writer may never need."""
        later = [record for record in records if record.ordinal]
        asked = [self._db.owner_id(owner), [record.id for record in later]]
        places = _places(self._read([(_records(_PREVIOUS.format(ids="%s")), asked)])[0]) if later else {}
        places_of = {record.id: (record.segment, record.ordinal - 1) for record in later}
        return {record: places[place] for record, place in places_of.items() if place in places}

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
            moved = connection.execute(_MOVED, [upto, anchor, number, after, seen]).fetchone()
            if moved is None:
                return False
            chosen = "SELECT id FROM hm.records WHERE owner = %s AND id = ANY(%s)"
            mine = [row[0] for row in connection.execute(chosen, [number, list(gone)])] if gone else []
            if replaced := [*mine, *(entry.record.id for entry in entries)]:
                connection.execute(_DELETE, [replaced])
            if gone:
                connection.execute(_FORGOTTEN, [[number], MOST_GONE])
            changed = moved[0]
            rows = [
                {**row_of(number, entry.record), "terms": entry.terms, "written": changed, "changed": changed}
                for entry in entries
            ]
            used = [(use.count, to_micros(use.at), changed, record, number) for record, use in uses.items()]
            if rows:
                connection.cursor().executemany(_INSERT, rows)
            if used:
                connection.cursor().executemany(
                    "UPDATE hm.records SET uses = uses + %s, last_used = greatest(last_used, %s), changed = %s "
                    "WHERE id = %s AND owner = %s",
                    used,
                )
            return True

        return self._db.write(moved_on)

    def put_vectors(
        self, embedder: tuple[str, int], keys: Mapping[int, bytes], vectors: Mapping[bytes, Floats]
    ) -> None:
        def put(connection: PatientConnection, _: int) -> None:
            ids, others = list(keys), list({*keys.values()} - vectors.keys())
            connection.execute("INSERT INTO hm.embedder VALUES (1, %s, %s) ON CONFLICT DO NOTHING", embedder)
            there = connection.execute("SELECT name, dim FROM hm.embedder")
            numbers = connection.execute(_NEXT, [ids])
            waiting = connection.execute(f"{_WAITING} ORDER BY owner, id FOR UPDATE", [ids])
            stored = connection.execute(_STORED, [others], binary=True)
            ((name, dim),) = there.fetchall()
            if (name, dim) != tuple(embedder):
                raise EmbedderMismatchError((name, dim), embedder)
            changed = dict(numbers.fetchall())
            known = {key: np.asarray(vector, dtype=np.float32).tobytes() for key, vector in vectors.items()}
            known |= {bytes(key): bytes(vector) for key, vector in stored}
            given = [
                (owner, record, keys[record], known[keys[record]], changed[owner])
                for owner, record in waiting
                if keys[record] in known and owner in changed
            ]
            if given:
                connection.cursor().executemany(
                    "INSERT INTO hm.vectors(owner, record, key, vector, number) VALUES (%s, %s, %s, %s, %s)", given
                )
                connection.cursor().executemany(
                    "UPDATE hm.records SET pending = false, changed = %s WHERE id = ANY(%s)",
                    [
                        (number, [record for whose, record, *_ in given if whose == owner])
                        for owner, number in changed.items()
                    ],
                )

        self._db.write(put)

    def lease(self, owner: Scope, holder: str, seconds: float) -> bool:
        return bool(self._db.query(_LEASED, [self._db.owner_id_for_writing(owner), holder, seconds]))

    def get(self, ids: Sequence[int]) -> list[Record]:
        self._db.check_open()
        if not len(ids):
            return []
        (found,) = self._read([(_records("SELECT unnest(%s::bigint[]) AS id"), [list(map(int, ids))])])
        records = {record.id: record for record in found}
        return [records[number] for number in ids if number in records]

    def _read(self, statements: Sequence[Statement]) -> list[list[Record]]:
        """The records that each of these statements finds, by id."""
        return [sorted(map(record_in, rows), key=lambda record: record.id) for rows in self._db.queries(statements)]

    def vectors(self, keys: Sequence[int | bytes], owner: Scope | None = None) -> dict[int | bytes, Floats]:
        if owner is not None:
            return self.vectors_of(owner, keys)
        hashes = [key for key in keys if isinstance(key, bytes)]
        rows = self._db.query(_STORED, [hashes])
        return {bytes(key): np.frombuffer(vector, dtype=np.float32) for key, vector in rows}

    def delete(self, ids: Sequence[int] | None) -> int:
        def deleted(connection: PatientConnection, _: int) -> int:
            if ids is not None:
                owners = [row[0] for row in connection.execute(_DELETE, [list(map(int, ids))])]
                connection.execute(_FORGOTTEN, [owners, MOST_GONE])
                return len(owners)
            ((gone,),) = connection.execute("SELECT count(*) FROM hm.records").fetchall()
            connection.execute("TRUNCATE hm.records, hm.vectors, hm.gone, hm.embedder")
            connection.execute("UPDATE hm.indexed SET applied = 0, anchor = '', epoch = epoch + 1, number = number + 1")
            return int(gone)

        return self._db.write(deleted)

    def scrub(self) -> None:
        self._db.scrub()

    def close(self) -> None:
        super().close()
        self._db.close()


def _places(turns: Sequence[Record]) -> dict[tuple[int, int], Record]:
    """The turns by their places: segment and ordinal."""
    return {(turn.segment, turn.ordinal): turn for turn in turns}
