"""L3 in SQLite: append-only events with positions, scope and idempotent ids."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from typing import Unpack

from hybrid_memory.engines.sqlite.database import Database, mark_unscrubbed
from hybrid_memory.engines.stored import (
    EVENT_FIELDS,
    digest,
    event_in,
    event_row,
    from_micros,
    micros_or_none,
    owner_scope,
    stated,
    to_json,
    to_micros,
)
from hybrid_memory.errors import IdConflictError, OutdatedError
from hybrid_memory.log.event import Event, EventKind, mark_of
from hybrid_memory.log.port import Appended, Draft, EventLog, LogSize, LogState, Payloads, Reading, Selection
from hybrid_memory.scope import Scope

_COLUMNS = f"{', '.join(f'e.{name}' for name in EVENT_FIELDS)}, o.tenant, o.user, o.agent, o.space"


class SqliteLog(EventLog):
    """The event log in a store file."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def append(self, owner: Scope, drafts: Sequence[Draft], *, seen: int | None = None) -> list[Appended]:
        if not drafts:
            return []

        def appended(connection: sqlite3.Connection) -> list[Appended]:
            number = self._db.owner_id_for_writing(connection, owner)
            if seen is not None and (last := _last(connection, number, "kind = 'erased' AND kind <> 'message'")) > seen:
                raise OutdatedError(f"something of {owner} was erased at {last}, beyond {seen}")
            return [_append_one(connection, number, draft) for draft in drafts]

        return self._db.write(appended)

    def read(self, scope: Scope, **which: Unpack[Reading]) -> list[Event]:
        wanted, number = Selection(**which), self._db.owner_id(scope)
        if number is None or (wanted.limit is not None and wanted.limit <= 0) or wanted.ids == []:
            return []
        bounds = (
            # Ids have an index of their own.
            ("e.position > ?", wanted.after if wanted.ids is None else wanted.after or None),
            ("e.position <= ?", wanted.upto),
            ("e.at >= ?", micros_or_none(wanted.since)),
            ("e.at < ?", micros_or_none(wanted.until)),
            ("e.id IN (SELECT value FROM json_each(?))", None if wanted.ids is None else json.dumps(list(wanted.ids))),
        )
        conditions, values = stated(bounds)
        order = "e.position" if wanted.ids is None else "+e.position"
        if wanted.kinds:
            conditions.append(f"e.kind IN ({', '.join('?' for _ in wanted.kinds)})")
            values.extend(wanted.kinds)
            if EventKind.MESSAGE not in wanted.kinds:
                conditions.append("e.kind <> 'message'")  # lets SQLite see that the index of the other kinds will do
                # Few events are sorted sooner than all of an owner's are walked through; the newest come soon anyway.
                order = "e.position" if wanted.newest and wanted.limit is not None else "+e.position"
        if scope.session is not None:
            conditions.append("e.session = ?")
            values.append(scope.session)
        rows = self._db.query(
            f"SELECT {_COLUMNS} FROM events e JOIN owners o ON o.id = e.owner "
            f"WHERE {' AND '.join(['e.owner = ?', *conditions])} "
            f"ORDER BY {order} {'DESC' if wanted.newest else 'ASC'} LIMIT ?",
            [number, *values, -1 if wanted.limit is None else wanted.limit],
        )
        return [event_in(row) for row in (reversed(rows) if wanted.newest else rows)]

    def erase(
        self, owner: Scope, positions: Sequence[int], rewritten: Payloads, note: Draft, *, seen: int | None = None
    ) -> Appended:
        def erased(connection: sqlite3.Connection) -> Appended:
            number = self._db.owner_id_for_writing(connection, owner)
            if seen is not None and (last := _last(connection, number)) > seen:
                raise OutdatedError(f"events of {owner} were appended up to {last}, beyond {seen}")
            chosen = "owner = ? AND position IN (SELECT value FROM json_each(?))"
            listed = (number, json.dumps(list(rewritten)))
            found = connection.execute(f"SELECT position FROM dropped WHERE {chosen}", listed).fetchall()
            dropped = {place for (place,) in found}
            for position, payload in rewritten.items():
                written, at = to_json(payload), (position, number)
                connection.execute("UPDATE events SET payload = ? WHERE position = ? AND owner = ?", (written, *at))
                if position in dropped:
                    connection.execute(
                        "UPDATE dropped SET digest = ? WHERE position = ? AND owner = ?", (digest(written), *at)
                    )
            for table in ("events", "dropped"):  # of archived events, what is known of them
                connection.execute(
                    f"DELETE FROM {table} WHERE owner = ? AND position IN (SELECT value FROM json_each(?))",
                    (number, json.dumps(list(positions))),
                )
            mark_unscrubbed(connection)
            return _append_one(connection, number, note)

        return self._db.write(erased)

    def drop(self, owner: Scope, positions: Sequence[int]) -> None:
        number = self._db.owner_id(owner)
        if number is None or not positions:
            return
        chosen = "owner = ? AND position IN (SELECT value FROM json_each(?))"
        listed = (number, json.dumps(list(positions)))

        def dropped(connection: sqlite3.Connection) -> None:
            rows = connection.execute(
                f"SELECT owner, session, id, position, kind, payload FROM events WHERE {chosen}", listed
            ).fetchall()
            connection.executemany(
                "INSERT INTO dropped(owner, session, id, position, kind, digest) VALUES (?, ?, ?, ?, ?, ?)",
                [(*known, digest(payload)) for *known, payload in rows],
            )
            connection.execute(f"DELETE FROM events WHERE {chosen}", listed)
            mark_unscrubbed(connection)

        self._db.write(dropped)

    def restore(self, owner: Scope, events: Sequence[Event]) -> None:
        def restored(connection: sqlite3.Connection) -> None:
            number = self._db.owner_id_for_writing(connection, owner)
            connection.executemany(
                "INSERT OR IGNORE INTO events(owner, position, id, session, kind, at, payload, sources, author) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(number, *event_row(event)) for event in events],
            )

        self._db.write(restored)

    def scrub(self) -> None:
        self._db.scrub()

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        rows = self._db.query(
            "SELECT o.tenant, o.user, o.agent, o.space, (SELECT max(position) FROM events WHERE owner = o.id) "
            f"FROM owners o {'' if scope is None else 'WHERE o.id = ?'}",
            () if scope is None else (self._db.owner_id(scope),),
        )
        return {owner_scope(*row[:4]): int(row[4]) for row in rows if row[4] is not None}

    def newest(self, kinds: Sequence[EventKind | None]) -> dict[Scope, dict[EventKind | None, Event]]:
        last: dict[Scope, dict[EventKind | None, Event]] = {}
        for kind in kinds:
            which = "" if kind is None else "AND kind = ?"
            which += "" if kind in {None, EventKind.MESSAGE} else " AND kind <> 'message'"  # as in `read`
            newest = f"SELECT max(position) FROM events WHERE owner = o.id {which}"
            asked = f"SELECT {_COLUMNS} FROM owners o JOIN events e ON e.position = ({newest})"
            for row in self._db.query(asked, () if kind is None else (kind,)):
                last.setdefault(owner_scope(*row[8:]), {})[kind] = event_in(row)
        return last

    def mark(self, owner: Scope, position: int) -> str:
        rows = self._db.query(
            "SELECT id, at FROM events WHERE owner = ? AND position = ?", (self._db.owner_id(owner), position)
        )
        return mark_of(rows[0][0], from_micros(rows[0][1])) if rows else ""

    def state(self, owner: Scope, kinds: Collection[EventKind] = ()) -> LogState:
        newest = "(SELECT max(position) FROM events WHERE owner = ?1{})"
        of_kind = [newest.format(f" AND kind = ?{row} AND kind <> 'message'") for row in range(2, len(kinds) + 2)]
        rows = self._db.query(
            f"SELECT kind, position, id, at FROM events WHERE position IN ({', '.join([newest.format(''), *of_kind])})",
            (self._db.owner_id(owner), *kinds),
        )
        if not rows:
            return LogState()
        last = [(kind, position, mark_of(name, from_micros(at))) for kind, position, name, at in rows]
        head, mark = max((position, mark) for _, position, mark in last)
        return LogState(
            head, mark, {EventKind(kind): (position, mark) for kind, position, mark in last if kind in kinds}
        )

    def count(self, owner: Scope, *, after: int = 0) -> int:
        number = self._db.owner_id(owner)
        ((count,),) = self._db.query("SELECT count(*) FROM events WHERE owner = ? AND position > ?", (number, after))
        return int(count)

    def size(self) -> LogSize:
        ((owners, events, archived, sessions),) = self._db.query(
            "SELECT (SELECT count(*) FROM owners), (SELECT count(*) FROM events), (SELECT count(*) FROM dropped), "
            "(SELECT count(*) FROM (SELECT DISTINCT owner, session FROM events "
            "UNION SELECT DISTINCT owner, session FROM dropped) s WHERE session <> '' OR "
            "EXISTS (SELECT 1 FROM events WHERE owner = s.owner AND session = '' AND kind = 'message') OR "
            "EXISTS (SELECT 1 FROM dropped WHERE owner = s.owner AND session = '' AND kind = 'message'))"
        )
        return LogSize(owners, sessions, events, self._db.size_bytes(), archived)

    def close(self) -> None:
        self._db.close()


def _last(connection: sqlite3.Connection, owner: int, which: str = "TRUE") -> int:
    """The last position of an owner's events; 0 if there are none."""
    (last,) = connection.execute(f"SELECT max(position) FROM events WHERE owner = ? AND {which}", (owner,)).fetchone()
    return last or 0


def _append_one(connection: sqlite3.Connection, owner: int, draft: Draft) -> Appended:
    payload = to_json(draft.payload)
    session = draft.session or ""
    key = (owner, session, draft.id)
    row = connection.execute(
        "INSERT INTO events(owner, session, id, kind, at, payload, sources, author) SELECT ?, ?, ?, ?, ?, ?, ?, ? "
        "WHERE NOT EXISTS (SELECT 1 FROM dropped WHERE owner = ? AND session = ? AND id = ?) "
        "ON CONFLICT(owner, session, id) DO NOTHING RETURNING position",
        (*key, draft.kind, to_micros(draft.at), payload, json.dumps(draft.sources), draft.author, *key),
    ).fetchall()
    if row:
        return Appended(id=draft.id, position=int(row[0][0]), fresh=True)
    where = "WHERE owner = ? AND session = ? AND id = ?"
    there = connection.execute(f"SELECT position, kind, payload FROM events {where}", key).fetchone()
    if there is not None:
        position, same = there[0], (there[1], json.loads(there[2])) == (draft.kind, json.loads(payload))
    else:  # it was dropped
        position, *known = connection.execute(f"SELECT position, kind, digest FROM dropped {where}", key).fetchone()
        same = known == [draft.kind, digest(payload)]
    if not draft.fixed_id or not same:
        raise IdConflictError(
            f"id {draft.id!r} is already used by another message of this session (position {position}): "
            "the log is append-only, so give the new message another id"
        )
    return Appended(id=draft.id, position=int(position), fresh=False)
