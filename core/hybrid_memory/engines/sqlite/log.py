"""L3 in SQLite: append-only events with positions, scope and idempotent ids."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from hybrid_memory.engines.instants import from_micros, to_micros
from hybrid_memory.engines.sqlite.database import Database
from hybrid_memory.engines.sqlite.scrubbing import mark_unscrubbed
from hybrid_memory.engines.sqlite.values import owner_scope
from hybrid_memory.errors import IdConflictError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Appended, Draft, LogSize
from hybrid_memory.scope import Scope

_COLUMNS = (
    "e.position, e.id, e.session, e.kind, e.at, e.payload, e.sources, e.author, o.tenant, o.user, o.agent, o.space"
)


class SqliteLog:
    """The event log of a store file."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def append(self, owner: Scope, drafts: Sequence[Draft]) -> list[Appended]:
        """Append all or nothing; see `EventLog.append`."""
        if not drafts:
            return []
        with self._db.write() as connection:
            number = self._db.owner_id_for_writing(connection, owner)
            return [_append_one(connection, number, draft) for draft in drafts]

    def read(
        self,
        scope: Scope,
        *,
        after: int = 0,
        upto: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        kinds: Collection[EventKind] = (),
        limit: int | None = None,
        newest: bool = False,
    ) -> list[Event]:
        """Events of the scope, by position; see `EventLog.read`."""
        number = self._db.owner_id(scope)
        if number is None or (limit is not None and limit <= 0):
            return []
        order = "e.position"
        where: list[str] = ["e.owner = ?", "e.position > ?"]
        values: list[Any] = [number, after]
        if scope.session is not None:
            where.append("e.session = ?")
            values.append(scope.session)
        if upto is not None:
            where.append("e.position <= ?")
            values.append(upto)
        if kinds:
            where.append(f"e.kind IN ({', '.join('?' for _ in kinds)})")
            values.extend(kinds)
            if EventKind.MESSAGE not in kinds:
                where.append("e.kind <> 'message'")  # lets SQLite see that the index of the other kinds will do
                # Few events are sorted sooner than all of an owner's are walked through; the newest come soon anyway.
                order = "e.position" if newest and limit is not None else "+e.position"
        if since is not None:
            where.append("e.at >= ?")
            values.append(to_micros(since))
        if until is not None:
            where.append("e.at < ?")
            values.append(to_micros(until))
        rows = self._db.query(
            f"SELECT {_COLUMNS} FROM events e JOIN owners o ON o.id = e.owner WHERE {' AND '.join(where)} "
            f"ORDER BY {order} {'DESC' if newest else 'ASC'} LIMIT ?",
            [*values, -1 if limit is None else limit],
        )
        return [_event(row) for row in (reversed(rows) if newest else rows)]

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Event]:
        """The events with these ids; see `EventLog.get`."""
        number = self._db.owner_id(scope)
        if number is None or not ids:
            return []
        session = "" if scope.session is None else "AND e.session = ?"
        values = [number, json.dumps(list(ids))] + ([] if scope.session is None else [scope.session])
        rows = self._db.query(
            f"SELECT {_COLUMNS} FROM events e JOIN owners o ON o.id = e.owner "
            f"WHERE e.owner = ? AND e.id IN (SELECT value FROM json_each(?)) {session} ORDER BY e.position",
            values,
        )
        return [_event(row) for row in rows]

    def erase(
        self, owner: Scope, positions: Sequence[int], rewritten: Mapping[int, dict[str, Any]], note: Draft
    ) -> Appended:
        """Destroy events, rewrite others, append the note; see `EventLog.erase`."""
        with self._db.write() as connection:
            number = self._db.owner_id_for_writing(connection, owner)
            for position, payload in rewritten.items():
                at = (position, number)
                connection.execute(
                    "UPDATE events SET payload = ? WHERE position = ? AND owner = ?", (_json(payload), *at)
                )
                connection.execute(
                    "UPDATE dropped SET digest = ? WHERE position = ? AND owner = ?", (_digest(_json(payload)), *at)
                )
            for table in ("events", "dropped"):
                connection.execute(
                    f"DELETE FROM {table} WHERE owner = ? AND position IN (SELECT value FROM json_each(?))",
                    (number, json.dumps(list(positions))),
                )
            mark_unscrubbed(connection)
            return _append_one(connection, number, note)

    def drop(self, owner: Scope, positions: Sequence[int]) -> None:
        """Remove events that an archive has; see `EventLog.drop`."""
        number = self._db.owner_id(owner)
        if number is None or not positions:
            return
        chosen = "owner = ? AND position IN (SELECT value FROM json_each(?))"
        listed = (number, json.dumps(list(positions)))
        with self._db.write() as connection:
            rows = connection.execute(
                f"SELECT owner, session, id, position, kind, payload FROM events WHERE {chosen}", listed
            ).fetchall()
            connection.executemany(
                "INSERT INTO dropped(owner, session, id, position, kind, digest) VALUES (?, ?, ?, ?, ?, ?)",
                [(*known, _digest(payload)) for *known, payload in rows],
            )
            connection.execute(f"DELETE FROM events WHERE {chosen}", listed)
            mark_unscrubbed(connection)

    def restore(self, owner: Scope, events: Sequence[Event]) -> None:
        """Store events with their positions; see `EventLog.restore`."""
        with self._db.write() as connection:
            number = self._db.owner_id_for_writing(connection, owner)
            connection.executemany(
                "INSERT OR IGNORE INTO events(position, id, owner, session, kind, at, payload, sources, author) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        *(event.position, event.id, number, event.scope.session or "", event.kind, to_micros(event.at)),
                        *(_json(event.payload), json.dumps(event.sources), event.author),
                    )
                    for event in events
                ],
            )

    def scrub(self) -> None:
        """Leave nothing of what was destroyed in the store's files; see `EventLog.scrub`."""
        self._db.scrub()

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        """The last position of each owner; see `EventLog.heads`."""
        if scope is None:
            rows = self._db.query(
                "SELECT o.tenant, o.user, o.agent, o.space, (SELECT max(position) FROM events WHERE owner = o.id) "
                "FROM owners o"
            )
            return {owner_scope(*row[:4]): int(row[4]) for row in rows if row[4] is not None}
        number = self._db.owner_id(scope)
        if number is None:
            return {}
        ((head,),) = self._db.query("SELECT max(position) FROM events WHERE owner = ?", (number,))
        return {} if head is None else {scope.owner: int(head)}

    def count(self, owner: Scope, *, after: int = 0) -> int:
        """How many events the owner has beyond this position."""
        number = self._db.owner_id(owner)
        ((count,),) = self._db.query("SELECT count(*) FROM events WHERE owner = ? AND position > ?", (number, after))
        return int(count)

    def size(self) -> LogSize:
        """Counts over all owners."""
        ((owners, events, sessions),) = self._db.query(
            "SELECT (SELECT count(*) FROM owners), (SELECT count(*) FROM events), "
            "(SELECT count(*) FROM (SELECT DISTINCT owner, session FROM events "
            "UNION SELECT DISTINCT owner, session FROM dropped) s WHERE session <> '' OR "
            "EXISTS (SELECT 1 FROM events WHERE owner = s.owner AND session = '' AND kind = 'message') OR "
            "EXISTS (SELECT 1 FROM dropped WHERE owner = s.owner AND session = '' AND kind = 'message'))"
        )
        return LogSize(owners=owners, sessions=sessions, events=events, bytes=self._db.size_bytes())

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _append_one(connection: sqlite3.Connection, owner: int, draft: Draft) -> Appended:
    payload = _json(draft.payload)
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
    position, same = _known(connection, key, draft.kind, payload)
    if not draft.fixed_id or not same:
        raise IdConflictError(
            f"id {draft.id!r} is taken in this session by another message (position {position}): "
            "the log is append-only, so give the new one an id of its own"
        )
    return Appended(id=draft.id, position=int(position), fresh=False)


def _known(connection: sqlite3.Connection, key: tuple[Any, ...], kind: str, payload: str) -> tuple[int, bool]:
    """Where the event with this id stands or stood, and whether it says the same."""
    where = "WHERE owner = ? AND session = ? AND id = ?"
    there = connection.execute(f"SELECT position, kind, payload FROM events {where}", key).fetchone()
    if there is not None:
        return there[0], (there[1], json.loads(there[2])) == (kind, json.loads(payload))
    position, *dropped = connection.execute(f"SELECT position, kind, digest FROM dropped {where}", key).fetchone()
    return position, dropped == [kind, _digest(payload)]


def _digest(payload: str) -> bytes:
    return hashlib.sha256(json.dumps(json.loads(payload), sort_keys=True).encode()).digest()


def _json(payload: dict[str, Any]) -> str:
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"))


def _event(row: tuple[Any, ...]) -> Event:
    position, event_id, session, kind, at, payload, sources, author, *owner = row
    return Event(
        position=position,
        id=event_id,
        scope=owner_scope(*owner, session),
        kind=EventKind(kind),
        at=from_micros(at),
        payload=json.loads(payload),
        sources=tuple(json.loads(sources)),
        author=author,
    )
