"""L3 and L2 in SQLite, as far as they differ from other SQL; see `hybrid_memory.engines.sql`."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence

from hybrid_memory.engines.columns import MOST_GONE, Changes, Columns
from hybrid_memory.engines.sql import CHANGED, Ask, Row, SqlIndex, SqlLog, Statement, same
from hybrid_memory.engines.sqlite.database import Database
from hybrid_memory.engines.stored import EVENT_FIELDS, conflict, draft_row, from_micros
from hybrid_memory.errors import OutdatedError
from hybrid_memory.index.record import Keys
from hybrid_memory.log.event import EventKind, mark_of
from hybrid_memory.log.port import Appended, Draft, LogState
from hybrid_memory.scope import Scope

_EVENT_AND_OWNER = ", ".join([*(f"e.{name}" for name in EVENT_FIELDS), "o.tenant", "o.user", "o.agent", "o.space"])
_BY_ID = "WHERE owner = ? AND id = ? AND session = ?"
_APPEND = f"""
INSERT INTO events(owner, {", ".join(EVENT_FIELDS[1:])}) SELECT ?, ?, ?, ?, ?, ?, ?, ?
WHERE NOT EXISTS (SELECT 1 FROM dropped {_BY_ID}) ON CONFLICT(owner, session, id) DO NOTHING RETURNING position
"""
_THERE = f"""
SELECT position, kind, payload, NULL FROM events {_BY_ID}
UNION ALL SELECT position, kind, NULL, digest FROM dropped {_BY_ID}
"""
_CHANGED = f"""
SELECT {CHANGED}, CASE WHEN r.written > ?1 THEN r.terms END, v.vector
FROM records r LEFT JOIN vectors v ON v.record = r.id WHERE r.owner = ?2 AND r.changed > ?1
"""


class SqliteLog(SqlLog):
    """The event log in a store file."""

    _db: Database
    by_position = "+position"  # SQLite would walk through an index in the order that is asked for
    head_of = "(SELECT max(position) FROM events WHERE owner = o.id)"
    newest_of = (
        f"SELECT {_EVENT_AND_OWNER} FROM owners o JOIN events e "
        "ON e.position = (SELECT max(position) FROM events WHERE owner = o.id {})"
    )

    def _appended(
        self, run: sqlite3.Connection, owner: Scope, drafts: Sequence[Draft], seen: int | None, again: bool
    ) -> list[Appended]:
        number = self._db.owner_id_for_writing(run, owner)
        if seen is not None and (last := self._last(run, number, "kind = 'erased' AND kind <> 'message'")) > seen:
            raise OutdatedError(f"something of {owner} was erased at {last}, beyond {seen}")
        appended = []
        for draft in drafts:
            row = draft_row(draft)
            key = (number, *row[:2])
            new = run.execute(_APPEND, (number, *row, *key)).fetchall()
            if new:
                appended.append(Appended(id=draft.id, position=int(new[0][0]), fresh=True))
                continue
            position, *known = run.execute(_THERE, (*key, *key)).fetchall()[0]
            if not draft.fixed_id or not same(draft, *known):
                raise conflict(draft, f"(position {position})")
            appended.append(Appended(id=draft.id, position=int(position), fresh=False))
        return appended

    def _last(self, run: sqlite3.Connection, number: int, which: str = "TRUE") -> int:
        ((last,),) = run.execute(f"SELECT max(position) FROM events WHERE owner = ? AND {which}", (number,)).fetchall()
        return last or 0

    def state(self, owner: Scope, kinds: Collection[EventKind] = ()) -> LogState:
        newest = "(SELECT max(position) FROM events WHERE owner = ?1{})"
        of_kind = [newest.format(f" AND kind = ?{row} AND kind <> 'message'") for row in range(2, len(kinds) + 2)]
        rows = self._db.query(
            f"SELECT kind, position, id, at FROM events WHERE position IN ({', '.join([newest.format(''), *of_kind])})",
            (self._db.owner_id(owner), *kinds),
        )
        last = {kind: (position, mark_of(name, from_micros(at))) for kind, position, name, at in rows}
        head, mark = max(last.values(), default=(0, ""))
        return LogState(head, mark, {kind: last[kind] for kind in kinds if kind in last})


class SqliteIndex(SqlIndex):
    """The semantic index in a store file."""

    first_epoch = "abs(random()) >> 8"  # another than in a backup that may be put in the place of this file

    def changes_along(
        self, asked: Sequence[Statement], owner: Scope, known: Columns, ask: Ask = None
    ) -> tuple[Changes, list[list[Row]]]:
        number = self._db.owner_id(owner)
        *answers, state = self._db.queries([*asked, ("SELECT number, epoch FROM indexed WHERE owner = ?", (number,))])
        if not state:
            return Changes(), answers
        # Rows that somebody writes between these queries come again the next time.
        ((last, epoch),) = state
        since = known.number if known.epoch == epoch else -1
        notes = "SELECT id FROM gone WHERE owner = ? AND number > ?"
        gone = self._db.query(notes, (number, since)) if since >= 0 else []
        rows = self._db.query(_CHANGED, (since, number)) if last > since else []
        return Changes(last, epoch, rows, [record for (record,) in gone]), answers

    def _stored(self, keys: Collection[bytes]) -> Statement:
        return f"SELECT key, vector FROM vectors WHERE key IN ({', '.join(['?'] * len(keys))}) GROUP BY key", [*keys]

    def _give(self, run: sqlite3.Connection, keys: Keys, vectors: Mapping[bytes, bytes]) -> None:
        # Not by the index of those that wait, of which there may be many more.
        waiting = f"SELECT owner, id FROM records WHERE id {self._db.among} AND coalesce(pending, pending)"
        raised = "UPDATE indexed SET number = number + 1 WHERE owner = ? RETURNING number"
        known = {**vectors, **dict(run.execute(*self._stored({*keys.values()} - vectors.keys())).fetchall())}
        mine = run.execute(waiting, [self._db.array(list(keys))]).fetchall()
        numbers = {owner: run.execute(raised, [owner]).fetchall()[0][0] for owner in {owner for owner, _ in mine}}
        given = [(owner, record) for owner, record in mine if keys[record] in known]
        run.executemany(
            "INSERT INTO vectors(record, key, vector) VALUES (?, ?, ?)",
            [(record, keys[record], known[keys[record]]) for _, record in given],
        )
        run.executemany(
            "UPDATE records SET pending = false, changed = ? WHERE id = ?",
            [(numbers[owner], record) for owner, record in given],
        )

    def _delete(self, run: sqlite3.Connection, ids: Sequence[int], owners: Sequence[int] | None = None) -> int:
        listed = (self._db.array(list(ids)),)
        removed = run.execute(f"DELETE FROM records WHERE id {self._db.among} RETURNING owner, id", listed).fetchall()
        if not removed:
            return 0
        run.execute(f"DELETE FROM vectors WHERE record {self._db.among}", listed)
        for owner in {owner for owner, _ in removed}:
            ((number,),) = run.execute(
                "UPDATE indexed SET number = number + 1 WHERE owner = ? RETURNING number", (owner,)
            ).fetchall()
            mine = [(owner, number, record) for whose, record in removed if whose == owner]
            run.executemany("INSERT INTO gone VALUES (?, ?, ?)", mine)
            ((count,),) = run.execute("SELECT count(*) FROM gone WHERE owner = ?", (owner,)).fetchall()
            if count > MOST_GONE:
                run.execute("DELETE FROM gone WHERE owner = ?", (owner,))
                run.execute("UPDATE indexed SET epoch = epoch + 1 WHERE owner = ?", (owner,))
        self._db.destroying(run)
        return len(removed)

    def _empty(self, run: sqlite3.Connection) -> None:
        for table in ("vectors", "gone", "records", "embedder"):
            run.execute(f"DELETE FROM {table}")
        self._db.destroying(run)
