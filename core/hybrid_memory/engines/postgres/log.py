"""L3 in Postgres: append-only events with positions, scope and idempotent ids."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Unpack

import psycopg
from psycopg import Connection

from hybrid_memory.engines.postgres.connection import PostgresConnection, Row
from hybrid_memory.engines.postgres.pool import PatientConnection
from hybrid_memory.engines.stored import (
    EVENT_FIELDS,
    digest,
    event_in,
    event_row,
    from_micros,
    micros_or_none,
    owner_key,
    owner_scope,
    stated,
    to_json,
    to_micros,
)
from hybrid_memory.errors import IdConflictError, OutdatedError
from hybrid_memory.log.event import Event, EventKind, mark_of
from hybrid_memory.log.port import Appended, Draft, EventLog, LogSize, LogState, Payloads, Reading, Selection
from hybrid_memory.scope import Scope

_COLUMNS = ", ".join(EVENT_FIELDS)
_APPEND = f"SELECT * FROM hm.append({', '.join(['%s'] * 5)}, %s, %s, %s, %s::bigint[], %s, %s, %s, %s::bigint[])"
ERASED_BEYOND = "HM001"
"""The error code raised by `append`; defined by this library."""

_SIZE = """
SELECT (SELECT count(*) FROM hm.owners),
    (SELECT count(*) FROM hm.events),
    (SELECT count(*) FROM hm.dropped),
    (SELECT count(*) FROM (
        SELECT owner, session FROM hm.events WHERE session <> '' OR kind = 'message'
        UNION SELECT owner, session FROM hm.dropped WHERE session <> '' OR kind = 'message') s),
    (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c, pg_class e
        WHERE e.oid = 'hm.events'::regclass AND c.relnamespace = e.relnamespace AND c.relkind = 'r')
"""


class PostgresLog(EventLog):
    """The event log in a schema.

    An append first locks the owner's row, so that an owner's positions become visible in order, and a reader that
    follows the log misses none.

    Args:
        connection: the connection to the database; closed with the log.
    """

    def __init__(self, connection: PostgresConnection) -> None:
        self._db = connection

    def append(self, owner: Scope, drafts: Sequence[Draft], *, seen: int | None = None) -> list[Appended]:
        self._db.check_open()
        if not drafts:
            return []
        # One statement, which writes all or nothing: it needs no transaction around it.
        return self._db.attempt(lambda connection, tried: self._appended(connection, owner, drafts, seen, tried > 0))

    def _appended(
        self,
        connection: PatientConnection,
        owner: Scope,
        drafts: Sequence[Draft],
        seen: int | None,
        again: bool,
    ) -> list[Appended]:
        """Append the drafts inside this transaction; ``again`` if a lost answer may have hidden an earlier success."""
        first = _first_places(drafts)
        alone = [drafts[place] for place in first]
        columns = [
            [draft.id for draft in alone],
            [draft.session or "" for draft in alone],
            [draft.kind.value for draft in alone],
            [to_micros(draft.at) for draft in alone],
            [to_json(draft.payload) for draft in alone],
            [json.dumps(draft.sources) for draft in alone],
            [draft.author for draft in alone],
        ]
        known: list[int | None] = [None] * len(alone)
        positions: dict[tuple[str, str], Appended] = {}
        while True:
            try:
                (rows,) = self._db.together(connection, [(_APPEND, [*owner_key(owner), seen, *columns, known])])
            except psycopg.Error as error:
                if error.sqlstate != ERASED_BEYOND:
                    raise
                last = error.diag.message_primary
                raise OutdatedError(f"something of {owner} was erased at {last}, beyond {seen}") from None
            taken = [row for row in rows if row[2] is not None]
            for place, position, *stands in taken:
                draft = alone[place - 1]
                if not (draft.fixed_id or again) or not _same(draft, *stands):
                    raise _conflict(draft, position)
                known[place - 1] = position
            if not taken:
                break
        for place, position, *_ in rows:
            draft = alone[place - 1]
            positions[draft.session or "", draft.id] = Appended(draft.id, int(position), fresh=True)
        for draft, position in zip(alone, known, strict=True):
            if position is not None:
                positions[draft.session or "", draft.id] = Appended(draft.id, int(position), fresh=again)
        return [
            positions[draft.session or "", draft.id]
            if place in set(first)
            else Appended(draft.id, positions[draft.session or "", draft.id].position, fresh=False)
            for place, draft in enumerate(drafts)
        ]

    def read(self, scope: Scope, **which: Unpack[Reading]) -> list[Event]:
        wanted, number = Selection(**which), self._db.owner_id(scope)
        if number is None or (wanted.limit is not None and wanted.limit <= 0) or wanted.ids == []:
            return []
        bounds = (
            ("position > %s", wanted.after or None),
            ("position <= %s", wanted.upto),
            ("at >= %s", micros_or_none(wanted.since)),
            ("at < %s", micros_or_none(wanted.until)),
            ("kind = ANY(%s)", [kind.value for kind in wanted.kinds] or None),
        )
        conditions, values = stated(bounds)
        if wanted.kinds and EventKind.MESSAGE not in wanted.kinds:
            conditions.append("kind <> 'message'")  # lets Postgres see that the index of the other kinds will do
        if scope.session is not None:
            # An id is unique almost alone: without statistics, the planner may read the whole session instead.
            conditions.append("session = %s" if wanted.ids is None else "session || '' = %s")
            values.append(scope.session)
        found, asked = f"SELECT * FROM hm.events WHERE {' AND '.join(['owner = %s', *conditions])}", [number, *values]
        if wanted.ids is not None:  # one by one: a plan for all at once may read all of the owner's events instead
            found = f"SELECT e.* FROM unnest(%s::text[]) u(wanted), LATERAL ({found} AND id = wanted OFFSET 0) e"
            asked = [list(set(wanted.ids)), *asked]
        rows = self._db.query(
            f"SELECT {_COLUMNS} FROM ({found}) e ORDER BY position {'DESC' if wanted.newest else 'ASC'}"
            f"{'' if wanted.limit is None else ' LIMIT %s'}",
            [*asked, *([] if wanted.limit is None else [wanted.limit])],
            owner=number,
        )
        return [event_in(row, *owner_key(scope)) for row in (reversed(rows) if wanted.newest else rows)]

    def erase(
        self, owner: Scope, positions: Sequence[int], rewritten: Payloads, note: Draft, *, seen: int | None = None
    ) -> Appended:
        number = self._db.owner_id(owner)

        def erased(connection: PatientConnection, tried: int) -> Appended:
            if number is not None:
                last = _locked(connection, number)
                if tried and (done := _existing(connection, number, note)) is not None:
                    return done
                if seen is not None and last > seen:
                    raise OutdatedError(f"events of {owner} were appended up to {last}, beyond {seen}")
                written = {position: to_json(payload) for position, payload in rewritten.items()}
                digests = {position: digest(payload) for position, payload in written.items()}
                for column, values in (("events SET payload", written), ("dropped SET digest", digests)):
                    if values:
                        connection.cursor().executemany(
                            f"UPDATE hm.{column} = %s WHERE owner = %s AND position = %s",
                            [(value, number, position) for position, value in values.items()],
                        )
                for table in ("events", "dropped") if positions else ():
                    chosen = f"DELETE FROM hm.{table} WHERE owner = %s AND position = ANY(%s)"
                    connection.execute(chosen, [number, list(positions)])
            return self._appended(connection, owner, [note], None, tried > 0)[0]

        return self._db.write(erased)

    def drop(self, owner: Scope, positions: Sequence[int]) -> None:
        number = self._db.owner_id(owner)
        if number is None or not positions:
            return
        chosen = [number, list(positions)]

        def dropped(connection: Connection[Row], _: int) -> None:
            _locked(connection, number)
            rows = connection.execute(
                "DELETE FROM hm.events WHERE owner = %s AND position = ANY(%s) "
                "RETURNING owner, session, id, position, kind, payload",
                chosen,
            ).fetchall()
            connection.cursor().executemany(
                "INSERT INTO hm.dropped(owner, session, id, position, kind, digest) VALUES (%s, %s, %s, %s, %s, %s)",
                [(*known, digest(payload)) for *known, payload in rows],
            )
            connection.execute(_HEAD, [number])

        self._db.write(dropped, owner=number)

    def restore(self, owner: Scope, events: Sequence[Event]) -> None:
        number = self._db.owner_id_for_writing(owner)

        def restored(connection: Connection[Row], _: int) -> None:
            _locked(connection, number)
            columns = zip(*map(event_row, events), strict=True)
            connection.execute(
                "INSERT INTO hm.events(owner, position, id, session, kind, at, payload, sources, author) "
                "SELECT %s, e.* FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::text[], %s::bigint[], "
                "%s::text[], %s::text[], %s::text[]) e ON CONFLICT DO NOTHING",
                [number, *(list(column) for column in columns)],
            )
            connection.execute(_HEAD, [number])
            connection.execute("SELECT hm.move_on(%s)", [max(event.position for event in events)])

        if events:
            self._db.write(restored, owner=number)

    def scrub(self) -> None:
        """Make the server remove erased data from its tables.

        Its write-ahead log and backups are the server's own responsibility, see docs/forgetting.md.
        """
        self._db.scrub()

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        if scope is None:
            rows = self._db.query('SELECT tenant, "user", agent, space, head FROM hm.owners WHERE head > 0 ORDER BY id')
            return {owner_scope(*row[:4]): int(row[4]) for row in rows}
        number = self._db.owner_id(scope)
        rows = [] if number is None else self._db.query("SELECT head FROM hm.owners WHERE id = %s", [number])
        return {scope.owner: int(rows[0][0])} if rows and rows[0][0] else {}

    def mark(self, owner: Scope, position: int) -> str:
        number = self._db.owner_id(owner)
        if number is None:
            return ""
        rows = self._db.query(
            "SELECT id, at FROM hm.events WHERE owner = %s AND position = %s", [number, position], owner=number
        )
        return _mark(*rows[0]) if rows else ""

    def state(self, owner: Scope, kinds: Collection[EventKind] = ()) -> LogState:
        number = self._db.owner_id(owner)
        rows = [] if number is None else self._db.query(_STATE, [[*kinds], number], owner=number)
        if not rows or not rows[0][0]:
            return LogState()
        head, *marked = rows[0][:3]
        found = (row[3:] for row in rows if row[4] is not None)
        last = {EventKind(kind): (position, _mark(name, at)) for kind, position, name, at in found}
        return LogState(head, _mark(*marked), last)

    def newest(self, kinds: Sequence[EventKind | None]) -> dict[Scope, dict[EventKind | None, Event]]:
        statements: list[tuple[str, list[str]]] = []
        for kind in kinds:  # for each owner, found by an index
            condition = "" if kind is None else "AND kind = %s"
            if kind not in {None, EventKind.MESSAGE}:
                condition += " AND kind <> 'message'"
            newest = f"SELECT {_COLUMNS} FROM hm.events WHERE owner = o.id {condition} ORDER BY position DESC LIMIT 1"
            text = f'SELECT o.tenant, o."user", o.agent, o.space, x.* FROM hm.owners o, LATERAL ({newest}) x'
            statements.append((text, [] if kind is None else [kind.value]))
        last: dict[Scope, dict[EventKind | None, Event]] = {}
        for kind, rows in zip(kinds, self._db.queries(statements), strict=True):
            for row in rows:
                last.setdefault(owner_scope(*row[:4]), {})[kind] = event_in(row[4:], *row[:4])
        return last

    def count(self, owner: Scope, *, after: int = 0) -> int:
        number = self._db.owner_id(owner)
        if number is None:
            return 0
        counting = "SELECT count(*) FROM hm.events WHERE owner = %s AND position > %s"
        return int(self._db.query(counting, [number, after], owner=number)[0][0])

    def size(self) -> LogSize:
        owners, events, archived, sessions, size = self._db.query(_SIZE)[0]
        return LogSize(owners, sessions, events, int(size), archived)

    def close(self) -> None:
        self._db.close()


_STATE = """
SELECT o.head, e.id, e.at, k.kind, l.position, l.id, l.at
FROM hm.owners o
LEFT JOIN hm.events e ON e.owner = o.id AND e.position = o.head
LEFT JOIN unnest(%s::text[]) k(kind) ON true
LEFT JOIN LATERAL (
    SELECT x.position, x.id, x.at FROM hm.events x
    WHERE x.owner = o.id AND x.kind = k.kind AND x.kind <> 'message' ORDER BY x.position DESC LIMIT 1
) l ON true
WHERE o.id = %s
"""
_HEAD = (
    "UPDATE hm.owners o SET head = coalesce((SELECT max(e.position) FROM hm.events e WHERE e.owner = o.id), 0) "
    "WHERE o.id = %s"
)


def _first_places(drafts: Sequence[Draft]) -> list[int]:
    """The first position of each id; a different event with the same id is a conflict."""
    first: dict[tuple[str, str], int] = {}
    for place, draft in enumerate(drafts):
        there = first.setdefault((draft.session or "", draft.id), place)
        same = (draft.kind, draft.payload) == (drafts[there].kind, drafts[there].payload)
        if there != place and not (draft.fixed_id and same):
            raise _conflict(draft, None)
    return list(first.values())


def _conflict(draft: Draft, position: int | None) -> IdConflictError:
    where = "of the same call" if position is None else f"(position {position})"
    return IdConflictError(
        f"id {draft.id!r} is already used by another message of this session {where}: the log is append-only, so give "
        "the new message another id"
    )


def _same(draft: Draft, kind: str, payload: str | None, stored: bytes | None) -> bool:
    if kind != draft.kind:
        return False
    if payload is None:
        return bytes(stored or b"") == digest(to_json(draft.payload))
    return bool(json.loads(payload) == json.loads(to_json(draft.payload)))


def _mark(name: str, at: int) -> str:
    return mark_of(name, from_micros(at))


def _existing(connection: Connection[Row], owner: int, draft: Draft) -> Appended | None:
    rows = connection.execute(
        "SELECT position FROM hm.events WHERE owner = %s AND session = %s AND id = %s",
        [owner, draft.session or "", draft.id],
    ).fetchall()
    return Appended(draft.id, int(rows[0][0]), fresh=True) if rows else None


def _locked(connection: Connection[Row], owner: int) -> int:
    """The owner's last position; locks the owner's row against appends until this transaction ends."""
    rows = connection.execute("SELECT head FROM hm.owners WHERE id = %s FOR NO KEY UPDATE", [owner]).fetchall()
    return int(rows[0][0]) if rows else 0
