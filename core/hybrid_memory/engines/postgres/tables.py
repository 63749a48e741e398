"""L3 and L2 in Postgres, as far as they differ from other SQL; see `hybrid_memory.engines.sql`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Unpack

import psycopg

from hybrid_memory.engines.columns import CACHE_BYTES, MOST_GONE, MOST_READ, ROW, Changes, Columns
from hybrid_memory.engines.postgres.connection import PostgresConnection
from hybrid_memory.engines.postgres.pool import Answer, Run
from hybrid_memory.engines.sql import CHANGED, EVENT, Ask, Row, SqlIndex, SqlLog, Statement, same
from hybrid_memory.engines.stored import RECORD_FIELDS, conflict, draft_row, event_in, from_micros, owner_key
from hybrid_memory.errors import OutdatedError
from hybrid_memory.index.port import Entry, Move, Status
from hybrid_memory.index.record import Keys, Vectors
from hybrid_memory.log.event import EventKind, mark_of
from hybrid_memory.log.moment import NEWEST, Tail
from hybrid_memory.log.port import Appended, Draft, LogState
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.scope import Scope

_APPEND = f"SELECT * FROM main.append({', '.join(['?'] * 5)}, ?, ?, ?, ?::bigint[], ?, ?, ?, ?::bigint[])"
ERASED_BEYOND = "HM001"  # the error code raised by `append`; defined by this library

_HEAD = (
    "UPDATE main.owners o SET head = coalesce((SELECT max(e.position) FROM main.events e WHERE e.owner = o.id), 0) "
    "WHERE o.id = ?"
)
_STATE = """
SELECT o.head, e.id, e.at, k.kind, l.position, l.id, l.at
FROM main.owners o
LEFT JOIN main.events e ON e.owner = o.id AND e.position = o.head
LEFT JOIN unnest(?::text[]) k(kind) ON true
LEFT JOIN LATERAL (
    SELECT x.position, x.id, x.at FROM main.events x
    WHERE x.owner = o.id AND x.kind = k.kind AND x.kind <> 'message' ORDER BY x.position DESC LIMIT 1
) l ON true
WHERE o.id = ?
"""
_TAIL = f"SELECT {EVENT} FROM main.events WHERE owner = ? AND position >= ? ORDER BY position DESC LIMIT ?"
TAILS = 64  # for how many owners the newest events are kept
PENDING = 4096  # the most records without a vector that are sent with the state of a log


class PostgresLog(SqlLog):
    """The event log in a schema.

    An append first locks the owner's row, so that an owner's positions become visible in order, and a reader that
    follows the log misses none.
    """

    _db: PostgresConnection
    by_position = "position"
    head_of = "o.head"
    newest_of = (
        "SELECT x.*, o.tenant, o.user, o.agent, o.space FROM main.owners o, LATERAL ("
        f"SELECT {EVENT} FROM main.events WHERE owner = o.id {{}} ORDER BY position DESC LIMIT 1) x"
    )

    sends_tail = True

    def __init__(self, database: PostgresConnection) -> None:
        super().__init__(database)
        self._tails: LruCache[Scope, Tail] = LruCache(TAILS)

    def _appended(
        self, run: Run, owner: Scope, drafts: Sequence[Draft], seen: int | None, again: bool
    ) -> list[Appended]:
        unique: dict[tuple[str, str], Draft] = {}
        for draft in drafts:
            there = unique.setdefault((draft.session or "", draft.id), draft)
            repeated = draft.fixed_id and (draft.kind, draft.payload) == (there.kind, there.payload)
            if there is not draft and not repeated:
                raise conflict(draft, "of the same call")
        names, alone = list(unique), list(unique.values())
        columns = [list(column) for column in zip(*map(draft_row, alone), strict=True)]
        known: list[int | None] = [None] * len(alone)
        while True:
            try:
                (rows,) = self._db.together(run, [(_APPEND, [*owner_key(owner), seen, *columns, known])])
            except psycopg.Error as error:
                if error.sqlstate != ERASED_BEYOND:
                    raise
                last = error.diag.message_primary
                raise OutdatedError(f"something of {owner} was erased at {last}, beyond {seen}") from None
            taken = [row for row in rows if row[2] is not None]
            for place, position, *stands in taken:
                draft = alone[place - 1]
                if not (draft.fixed_id or again) or not same(draft, *stands):
                    raise conflict(draft, f"(position {position})")
                known[place - 1] = position
            if not taken:
                break
        fresh = {names[place - 1]: position for place, position, *_ in rows}
        positions = dict(zip(names, known, strict=True)) | fresh
        appended = []
        for draft in drafts:
            name = draft.session or "", draft.id
            first = unique.pop(name, None) is not None
            appended.append(Appended(draft.id, int(positions[name] or 0), fresh=first and (again or name in fresh)))
        return appended

    def _last(self, run: Run, number: int) -> int:
        rows = run.execute("SELECT head FROM main.owners WHERE id = ? FOR NO KEY UPDATE", [number]).fetchall()
        return int(rows[0][0]) if rows else 0

    def _moved(self, run: Run, number: int, upto: int = 0) -> None:
        run.execute(_HEAD, [number])
        if upto:
            run.execute("SELECT main.move_on(?)", [upto])

    def state(self, owner: Scope, kinds: Collection[EventKind] = ()) -> LogState:
        """See `EventLog.state`; with what came since the last one, and with the index, if that is searched here."""
        number = self._db.owner_id(owner)
        if number is None:
            return LogState()
        known, index, status = self._tails.get(owner.owner) or Tail(), self._db.index, None
        asked: list[Statement] = [(_STATE, [[*kinds], number]), (_TAIL, [number, known.head, NEWEST])]
        if index is not None and index.last_columns(owner) is not None:
            status, (rows, newest) = index.status_along(asked, owner, pending=PENDING, sums=True)
        else:
            rows, newest = self._db.queries(asked, owner=number)
        if not rows or not rows[0][0]:
            return LogState()
        head, name, at = rows[0][:3]
        tail = known.then([event_in(row, *owner_key(owner)) for row in reversed(newest)], head)
        self._tails.put(owner.owner, tail)
        last = {
            EventKind(kind): (position, mark_of(name, from_micros(at)))
            for *_, kind, position, name, at in rows
            if position is not None
        }
        return LogState(head, mark_of(name, from_micros(at)), last, tail, status)


_MORE = ("last_used", "speaker", "valid_from", "valid_to", "sources", "author")
_PLACES = {name: place for place, name in enumerate((*("number", "epoch", "gone"), *ROW, *_MORE, "text"))}
_ID = _PLACES["id"]
_WHOLE = itemgetter(*(_PLACES[name] for name in ("session", *RECORD_FIELDS)))
"""From a row of `_ALL` or `_CHANGED` what `record_in` takes after the owner's names."""
_OWNED = f"""
WITH state AS MATERIALIZED (
    SELECT i.number, i.epoch, i.since, ARRAY(
        SELECT g.id FROM main.gone g WHERE g.owner = i.owner AND g.number > i.since AND i.since >= 0
    ) AS gone
    FROM (SELECT *, CASE WHEN epoch = ? THEN ? ELSE -1 END AS since FROM main.indexed WHERE owner = ?) i
)
SELECT s.number, s.epoch, s.gone, {CHANGED}, CASE WHEN r.written > s.since THEN r.terms END, v.vector,
    {", ".join(f"r.{name}" for name in _MORE)},
    CASE WHEN row_number() OVER (ORDER BY r.id DESC) <= {MOST_READ} THEN r.text END
FROM state s
"""
_ALL = f"""
{_OWNED} LEFT JOIN main.records r ON r.owner = ? AND r.changed > s.since
LEFT JOIN main.vectors v ON v.owner = ? AND v.record = r.id AND v.number > s.since
ORDER BY r.id
"""
_CHANGED = f"""
{_OWNED} LEFT JOIN LATERAL (SELECT * FROM main.records r WHERE r.owner = ? AND r.changed > s.since OFFSET 0) r ON true
LEFT JOIN LATERAL (
    SELECT v.vector FROM main.vectors v WHERE v.owner = ? AND v.record = r.id AND v.number > s.since OFFSET 0
) v ON true
ORDER BY r.id
"""
"""Each is one statement, of one snapshot. ``OFFSET 0`` prevents other joins, which may read all of its vectors."""
_PUT = """
WITH numbers AS (
    UPDATE main.indexed SET number = number + 1 WHERE owner IN (
        SELECT owner FROM main.indexed
        WHERE owner IN (SELECT owner FROM main.records WHERE id = ANY(?) AND coalesce(pending, pending))
        ORDER BY owner FOR UPDATE
    ) RETURNING owner, number
), mine AS (
    SELECT r.owner, r.id, n.number FROM main.records r JOIN numbers n ON n.owner = r.owner
    WHERE r.id = ANY(?) AND coalesce(r.pending, r.pending) FOR UPDATE OF r
), given AS (
    SELECT m.owner, m.id, g.key, m.number,
        coalesce(g.vector, (SELECT v.vector FROM main.vectors v WHERE v.key = g.key LIMIT 1)) AS vector
    FROM mine m JOIN unnest(?::bigint[], ?::bytea[], ?::bytea[]) g(id, key, vector) ON g.id = m.id
), put AS (
    INSERT INTO main.vectors(owner, record, key, number, vector) SELECT * FROM given WHERE vector IS NOT NULL
    RETURNING owner, record, number
)
UPDATE main.records r SET pending = false, changed = p.number FROM put p WHERE r.id = p.record AND r.owner = p.owner
"""
"""The owner's row is locked before its records are read, and these are read as they are then.

Not by the index of the records that wait, of which there may be many more: hence ``coalesce``.
"""
_LEASED = """
INSERT INTO main.indexed AS i (owner, holder, leased) VALUES (?, ?, now() + make_interval(secs => ?))
ON CONFLICT (owner) DO UPDATE SET holder = excluded.holder, leased = excluded.leased
WHERE i.holder = excluded.holder OR i.leased < now() RETURNING 1
"""
_DELETE = """
WITH removed AS (DELETE FROM main.records WHERE id = ANY(?) RETURNING owner, id),
bare AS (DELETE FROM main.vectors v USING removed r WHERE v.owner = r.owner AND v.record = r.id),
numbers AS (
    UPDATE main.indexed i SET number = number + 1 FROM (SELECT DISTINCT owner FROM removed) r WHERE i.owner = r.owner
    RETURNING i.owner, i.number
),
noted AS (INSERT INTO main.gone SELECT n.owner, n.number, r.id FROM removed r JOIN numbers n ON n.owner = r.owner)
SELECT owner FROM removed
"""
_FORGOTTEN = """
WITH full_ones AS (SELECT owner FROM main.gone WHERE owner = ANY(?) GROUP BY owner HAVING count(*) > ?),
emptied AS (DELETE FROM main.gone WHERE owner IN (SELECT owner FROM full_ones))
UPDATE main.indexed SET epoch = epoch + 1 WHERE owner IN (SELECT owner FROM full_ones)
"""


class PostgresIndex(SqlIndex):
    """The semantic index in a schema."""

    _db: PostgresConnection
    first_epoch = "0"

    def __init__(self, database: PostgresConnection, *, cache_bytes: int = CACHE_BYTES) -> None:
        super().__init__(database, cache_bytes=cache_bytes)
        database.index = self

    def changes_along(
        self, asked: Sequence[Statement], owner: Scope, known: Columns, ask: Ask = None
    ) -> tuple[Changes, list[list[Row]]]:
        number, since = self._db.owner_id(owner), known.number
        if number is None:
            return Changes(), []
        changes = (_ALL if since < 0 else _CHANGED, [known.epoch, since, number, number, number])
        # Last, so that the columns are not older than what the others say.
        ask = ask or partial(self._db.queries, owner=number, keep=since >= 0)
        *answers, rows = ask([*asked, changes])
        if not rows:
            return Changes(), answers
        last, epoch, gone = rows[0][:3]
        rows = [row for row in rows if row[_ID] is not None]
        names = owner_key(owner)
        whole = {row[_ID]: (*names, *_WHOLE(row)) for row in rows if row[-1] is not None}
        return Changes(last, epoch, [row[_ID:] for row in rows], gone, whole), answers

    def lease(self, owner: Scope, holder: str, seconds: float) -> bool:
        return bool(self._db.query(_LEASED, [self._db.owner_id_for_writing(owner), holder, seconds]))

    def _stored(self, keys: Collection[bytes]) -> Statement:
        return "SELECT DISTINCT ON (key) key, vector FROM main.vectors WHERE key = ANY(?)", [[*keys]]

    def _give(self, run: Run, keys: Keys, vectors: Mapping[bytes, bytes]) -> None:
        given = [[*keys], [*keys.values()], [vectors.get(key) for key in keys.values()]]
        run.execute(_PUT, [[*keys], [*keys], *given])

    def store(
        self,
        owner: Scope,
        entries: Sequence[Entry],
        embedder: tuple[str, int],
        keys: Keys,
        vectors: Vectors,
        **move: Unpack[Move],
    ) -> Status | None:
        def ask(statements: Sequence[Statement]) -> list[list[Row]]:
            def work(run: Run, number: int, _: int) -> list[psycopg.Cursor[Row] | Answer]:
                self._upserted(run, number, entries, move)
                self._put(run, embedder, keys, vectors)
                return [run.execute(text, values) for text, values in statements]

            return [answer.fetchall() for answer in self._db.write_for(owner, work, alone=False)]

        # Nobody waits for what is written, only for the changes that it led to.
        self._db.owner_id_for_writing(owner)
        try:
            return self.status_along([], owner, sums=True, ask=ask)[0]
        except OutdatedError:
            return None

    def _delete(self, run: Run, ids: Sequence[int], owners: Sequence[int] | None = None) -> int:
        removed = run.execute(_DELETE, [ids])
        if owners is None:  # else nobody waits for the answer
            owners = [owner for (owner,) in removed.fetchall()]
        if owners:
            run.execute(_FORGOTTEN, [owners, MOST_GONE])
        return len(owners)

    def _empty(self, run: Run) -> None:
        run.execute("TRUNCATE main.records, main.vectors, main.gone, main.embedder")
