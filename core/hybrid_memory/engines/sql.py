"""Log and index in the tables of an SQL database: what SQLite and Postgres have in common.

Statements call the schema ``main.`` and a value ``?``, as SQLite does; for Postgres both are replaced.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias, TypeVar, Unpack

from hybrid_memory.arrays import Floats
from hybrid_memory.engines.columns import CACHE_BYTES, ROW, Changes, Columns, RowIndex
from hybrid_memory.engines.stored import (
    EVENT_FIELDS,
    RECORD_FIELDS,
    digest,
    event_in,
    event_row,
    micros_or_none,
    owner_key,
    owner_scope,
    record_in,
    row_of,
    to_json,
    to_micros,
    vector_bytes,
    vector_of,
)
from hybrid_memory.errors import EmbedderMismatchError, MemoryClosedError, OutdatedError
from hybrid_memory.index.port import Entry, IndexSize, Move, Status
from hybrid_memory.index.record import Keys, Record, Vectors
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.port import Appended, Draft, EventLog, LogSize, Payloads, Reading, Selection
from hybrid_memory.scope import Scope

Row: TypeAlias = tuple[Any, ...]
Statement: TypeAlias = tuple[str, Sequence[Any]]  # a statement with its values

Transaction: TypeAlias = Any  # a connection with a transaction begun; rows are fetched at once, or not at all
Ask: TypeAlias = Callable[[Sequence[Statement]], list[list[Row]]] | None  # gives the rows instead of the database
T = TypeVar("T")

EVERYBODY = 0  # instead of an owner's number: the rows of all owners

OWNER = 'SELECT id FROM main.owners WHERE tenant = ? AND "user" = ? AND agent = ? AND space = ?'
EVENT = ", ".join(EVENT_FIELDS)
_RECORD = f"SELECT o.tenant, o.user, o.agent, o.space, r.session, {', '.join(f'r.{name}' for name in RECORD_FIELDS)}"
_WRITTEN = ("owner", "session", "length", "terms", *RECORD_FIELDS)
_NUMBER = "(SELECT number FROM main.indexed WHERE owner = ?)"
_INSERT = f"""
INSERT INTO main.records({", ".join(_WRITTEN)}, written, changed)
VALUES ({", ".join("?" for _ in _WRITTEN)}, {_NUMBER}, {_NUMBER})
"""
_USED = f"""
UPDATE main.records SET uses = uses + ?, last_used = CASE WHEN last_used > ? THEN last_used ELSE ? END,
    changed = {_NUMBER}
WHERE id = ? AND owner = ?
"""
_MOVED = """
UPDATE main.indexed SET applied = ?, anchor = ?, number = number + 1
WHERE owner = ? AND applied = ? AND anchor = coalesce(?, anchor) RETURNING number
"""
_STATUS = """
SELECT coalesce(i.applied, 0), coalesce(i.anchor, ''), e.name, e.dim
FROM (SELECT 1) one LEFT JOIN main.indexed i ON i.owner = ? LEFT JOIN main.embedder e ON true
"""
_STATUSES = """
SELECT o.tenant, o.user, o.agent, o.space, i.applied, i.anchor,
    (SELECT r.id FROM main.records r WHERE r.owner = i.owner AND r.pending ORDER BY r.id LIMIT 1)
FROM main.indexed i JOIN main.owners o ON o.id = i.owner
"""
_TAIL = """
SELECT r.id FROM main.records r
    WHERE r.owner = ? AND r.session = s.session AND r.kind = 'turn' ORDER BY r.id DESC LIMIT 1
"""
_PENDING = "SELECT id FROM main.records WHERE owner = ? AND pending ORDER BY id LIMIT ?"
_SIZE = """
SELECT (SELECT count(*) FROM main.records), (SELECT count(*) FROM main.vectors),
    (SELECT count(*) FROM main.records WHERE pending)
"""
_SPOKEN = "EXISTS (SELECT 1 FROM main.{} WHERE owner = s.owner AND session = '' AND kind = 'message')"
_SESSIONS = "SELECT DISTINCT owner, session FROM main.events UNION SELECT DISTINCT owner, session FROM main.dropped"
_COUNTS = f"""
SELECT (SELECT count(*) FROM main.owners), (SELECT count(*) FROM main.events), (SELECT count(*) FROM main.dropped),
    (SELECT count(*) FROM ({_SESSIONS}) s
        WHERE session <> '' OR {_SPOKEN.format("events")} OR {_SPOKEN.format("dropped")})
"""
RECORDS = """
    CREATE TABLE main.embedder(one integer PRIMARY KEY CHECK (one = 1), name text NOT NULL, dim integer NOT NULL);
    CREATE TABLE main.records(
        id {number} PRIMARY KEY,
        owner integer NOT NULL REFERENCES main.owners(id),
        session {text} NOT NULL,
        kind {text} NOT NULL,
        category {text},
        speaker text NOT NULL,
        text text NOT NULL,
        at bigint NOT NULL,
        segment bigint NOT NULL,
        ordinal bigint NOT NULL,
        length integer NOT NULL,
        importance double precision NOT NULL,
        uses bigint NOT NULL,
        last_used bigint,
        valid_from bigint,
        valid_to bigint,
        sources text NOT NULL,
        metadata text NOT NULL,
        turn bigint NOT NULL,
        author text NOT NULL,
        origin {text} NOT NULL,
        terms text NOT NULL,
        pending boolean NOT NULL DEFAULT true,
        written bigint NOT NULL,
        changed bigint NOT NULL
    );
    CREATE INDEX records_changed ON main.records(owner, changed);
    CREATE INDEX records_in_segment ON main.records(owner, segment, ordinal);
    CREATE INDEX records_of_session ON main.records(owner, session, id);
    CREATE INDEX records_pending ON main.records(owner, id) WHERE pending;
"""
"""The tables of records and their embedder, the same in both but for the name of a type.

Every change of an owner's records has a number, and the records that it touched have it too (``changed``, ``written``
if their text was), so that a reader asks for what is new to it. Of removed ones the number and id remain for a while
(``gone``). Another epoch says that what a reader has is void.
"""

CHANGED = ", ".join("coalesce(r.last_used, 0)" if name == "last_used" else f"r.{name}" for name in ROW[:-2])
"""A record as a row of `columns.ROW`, but for its terms and vector."""

_BEFORE = "p.owner = r.owner AND p.segment = r.segment AND p.ordinal = r.ordinal - 1 AND p.kind = 'turn'"


class SqlDatabase(ABC):
    """A database with the tables of a store, and what is special of its SQL.

    Attributes:
        among: the end of a condition that something is in a list; ``array`` makes a list of numbers or texts its value.
        rows: a query for an array's values, of a ``kind``, bigint or text, as rows of one column with a ``name``.
        each: joins, to each row of what stands before, the rows of a table that an index finds by a condition.
    """

    among: ClassVar[str]
    rows: ClassVar[str]
    each: ClassVar[str]

    def __init__(self, *, array: Callable[[list[Any]], Any]) -> None:
        self.array = array
        self._closed = False
        self._owners: dict[Scope, int] = {}

    @abstractmethod
    def queries(self, statements: Sequence[Statement], *, owner: int = EVERYBODY) -> list[list[Row]]:
        """The rows of each statement that sees only this owner's rows; a server is asked once."""

    def query(self, statement: str, values: Sequence[Any] = (), *, owner: int = EVERYBODY) -> list[Row]:
        """The rows of one statement; see `queries`."""
        return self.queries([(statement, values)], owner=owner)[0]

    @staticmethod
    @abstractmethod
    def expect(run: Transaction, statement: Statement) -> None:
        """Run a statement inside this transaction, which fails with an `OutdatedError` if it returns no row."""

    @abstractmethod
    def write(self, work: Callable[[Transaction, int], T]) -> T:
        """Run the work in one transaction and return its result; an exception rolls back.

        The work is given the transaction, and how often it was tried before.
        """

    @abstractmethod
    def attempt(self, work: Callable[[Transaction, int], T]) -> T:
        """Like `write`, for one statement of a server, which is a transaction of its own."""

    @abstractmethod
    def write_for(self, owner: Scope, work: Callable[[Transaction, int, int], T], *, alone: bool = True) -> T:
        """Like `write`; the work is given the owner's number in between, and if ``alone`` sees only its rows."""

    def destroying(self, run: Transaction) -> None:  # noqa: B027 - a server need not
        """Note in this transaction that data is being destroyed, if it has to be scrubbed even after a crash."""

    @abstractmethod
    def scrub(self) -> None:
        """Remove deleted data from the files of the database."""

    @abstractmethod
    def size_bytes(self) -> int:
        """The size of these files."""

    @abstractmethod
    def close(self) -> None: ...

    def owner_id(self, scope: Scope) -> int | None:
        """The number of the scope's owner; None if nothing was written for it."""
        self.check_open()
        owner = scope.owner
        known = self._owners.get(owner)
        if known is None and (rows := self.query(OWNER, owner_key(owner))):
            known = self._owners[owner] = int(rows[0][0])
        return known

    def check_open(self) -> None:
        if self._closed:
            raise MemoryClosedError


class SqlLog(EventLog):
    """The event log in a table.

    Attributes:
        by_position: the order of rows that are too few to look for them in an index by position.
        head_of: the last position of an owner ``o``, 0 or NULL without one.
        newest_of: a query for the last event of each owner that a condition admits.
    """

    by_position: ClassVar[str]
    head_of: ClassVar[str]
    newest_of: ClassVar[str]

    def __init__(self, database: SqlDatabase) -> None:
        self._db = database

    def append(self, owner: Scope, drafts: Sequence[Draft], *, seen: int | None = None) -> list[Appended]:
        self._db.check_open()
        if not drafts:
            return []
        return self._db.attempt(lambda run, tried: self._appended(run, owner, drafts, seen, again=tried > 0))

    def read(self, scope: Scope, **which: Unpack[Reading]) -> list[Event]:
        wanted, number = Selection(**which), self._db.owner_id(scope)
        if number is None or (wanted.limit is not None and wanted.limit <= 0) or wanted.ids == []:
            return []
        bounds = (
            ("position > ?", wanted.after or None),
            ("position <= ?", wanted.upto),
            ("at >= ?", micros_or_none(wanted.since)),
            ("at < ?", micros_or_none(wanted.until)),
            # An id is unique almost alone: without statistics, a planner may read the whole session instead.
            ("session = ?" if wanted.ids is None else "session || '' = ?", scope.session),
        )
        conditions, values = ["owner = ?"], list[Any]([number])
        for condition, value in bounds:
            if value is not None:
                conditions.append(condition)
                values.append(value)
        order = "position" if wanted.ids is None else self.by_position
        if wanted.kinds:
            conditions.append(f"kind IN ({', '.join(['?'] * len(wanted.kinds))})")
            values += [kind.value for kind in wanted.kinds]
            if EventKind.MESSAGE not in wanted.kinds:
                conditions.append("kind <> 'message'")  # shows that the index of the other kinds will do
                # Few events are sorted sooner than all of an owner's are walked through; the newest come soon anyway.
                order = "position" if wanted.newest and wanted.limit is not None else self.by_position
        found = f"SELECT * FROM main.events WHERE {' AND '.join(conditions)}"
        if wanted.ids is not None:  # one by one: a plan for all at once may read all of the owner's events instead
            listed = self._db.rows.format(kind="text", name="wanted")
            by_id = " AND ".join([*conditions, "id = wanted"])
            found = f"SELECT e.* FROM ({listed}) u {self._db.each.format(table='events', name='e', condition=by_id)}"
            values = [self._db.array(list(set(wanted.ids))), *values]
        rows = self._db.query(
            f"SELECT {EVENT} FROM ({found}) e ORDER BY {order} {'DESC' if wanted.newest else 'ASC'}"
            f"{'' if wanted.limit is None else ' LIMIT ?'}",
            [*values, *([] if wanted.limit is None else [wanted.limit])],
            owner=number,
        )
        names = owner_key(scope)
        return [event_in(row, *names) for row in (reversed(rows) if wanted.newest else rows)]

    def erase(
        self, owner: Scope, positions: Sequence[int], rewritten: Payloads, note: Draft, *, seen: int | None = None
    ) -> Appended:
        def erased(run: Transaction, number: int, tried: int) -> Appended:
            last = self._last(run, number)
            if tried:
                # The answer may have been lost after an earlier attempt had done it.
                noted = "SELECT position FROM main.events WHERE owner = ? AND session = ? AND id = ?"
                if done := run.execute(noted, [number, note.session or "", note.id]).fetchall():
                    return Appended(note.id, int(done[0][0]), fresh=True)
            if seen is not None and last > seen:
                raise OutdatedError(f"events of {owner} were appended up to {last}, beyond {seen}")
            written = {position: to_json(payload) for position, payload in rewritten.items()}
            digests = {position: digest(payload) for position, payload in written.items()}
            for column, values in (("events SET payload", written), ("dropped SET digest", digests)):
                if values:
                    run.executemany(
                        f"UPDATE main.{column} = ? WHERE owner = ? AND position = ?",
                        [(value, number, position) for position, value in values.items()],
                    )
            for table in ("events", "dropped") if positions else ():  # of archived events, what is known of them
                gone = f"DELETE FROM main.{table} WHERE owner = ? AND position {self._db.among}"
                run.execute(gone, [number, self._db.array(list(positions))])
            self._db.destroying(run)
            return self._appended(run, owner, [note], None, tried > 0)[0]

        return self._db.write_for(owner, erased)

    def drop(self, owner: Scope, positions: Sequence[int]) -> None:
        def dropped(run: Transaction, number: int, _: int) -> None:
            self._last(run, number)
            rows = run.execute(
                f"DELETE FROM main.events WHERE owner = ? AND position {self._db.among} "
                "RETURNING owner, session, id, position, kind, payload",
                [number, self._db.array(list(positions))],
            ).fetchall()
            run.executemany(
                "INSERT INTO main.dropped(owner, session, id, position, kind, digest) VALUES (?, ?, ?, ?, ?, ?)",
                [(*known, digest(payload)) for *known, payload in rows],
            )
            self._moved(run, number)
            self._db.destroying(run)

        if positions and self._db.owner_id(owner) is not None:
            self._db.write_for(owner, dropped)

    def restore(self, owner: Scope, events: Sequence[Event]) -> None:
        def restored(run: Transaction, number: int, _: int) -> None:
            self._last(run, number)
            there = f"INSERT INTO main.events(owner, {EVENT}) VALUES (?{', ?' * len(EVENT_FIELDS)})"
            run.executemany(f"{there} ON CONFLICT DO NOTHING", [(number, *event_row(event)) for event in events])
            self._moved(run, number, max(event.position for event in events))

        if events:
            self._db.write_for(owner, restored)

    def scrub(self) -> None:
        """See `EventLog.scrub`; a server's own journal and backups are up to it, see docs/forgetting.md."""
        self._db.scrub()

    def newest(self, kinds: Sequence[EventKind | None]) -> dict[Scope, dict[EventKind | None, Event]]:
        statements: list[Statement] = []
        for kind in kinds:
            condition = "" if kind is None else "AND kind = ?"
            condition += "" if kind in {None, EventKind.MESSAGE} else " AND kind <> 'message'"  # as in `read`
            statements.append((self.newest_of.format(condition), [] if kind is None else [kind.value]))
        last: dict[Scope, dict[EventKind | None, Event]] = {}
        for kind, rows in zip(kinds, self._db.queries(statements), strict=True):
            for row in rows:
                last.setdefault(owner_scope(*row[8:]), {})[kind] = event_in(row)
        return last

    def heads(self, scope: Scope | None = None) -> dict[Scope, int]:
        number = EVERYBODY if scope is None else self._db.owner_id(scope)
        if number is None:
            return {}
        rows = self._db.query(
            f"SELECT o.tenant, o.user, o.agent, o.space, {self.head_of} FROM main.owners o "
            f"{'ORDER BY o.id' if scope is None else 'WHERE o.id = ?'}",
            [] if scope is None else [number],
        )
        return {owner_scope(*names): int(head) for *names, head in rows if head}

    def count(self, owner: Scope, *, after: int = 0) -> int:
        number = self._db.owner_id(owner)
        if number is None:
            return 0
        counting = "SELECT count(*) FROM main.events WHERE owner = ? AND position > ?"
        return int(self._db.query(counting, [number, after], owner=number)[0][0])

    def size(self) -> LogSize:
        ((owners, events, archived, sessions),) = self._db.query(_COUNTS)
        return LogSize(owners, sessions, events, self._db.size_bytes(), archived)

    def close(self) -> None:
        self._db.close()

    @abstractmethod
    def _appended(
        self, run: Transaction, owner: Scope, drafts: Sequence[Draft], seen: int | None, again: bool
    ) -> list[Appended]:
        """Append the drafts inside this transaction; ``again`` if a lost answer may have hidden an earlier success."""

    @abstractmethod
    def _last(self, run: Transaction, number: int) -> int:
        """The owner's last position, 0 at first; nobody else appends until this transaction ends."""

    def _moved(self, run: Transaction, number: int, upto: int = 0) -> None:
        """Note the owner's last position, if that is stored, and that those ``upto`` this one are taken."""


def same(draft: Draft, kind: str, payload: str | None, known: bytes | None) -> bool:
    """Whether an event that is there says the same: of this kind, with this payload, or this digest if dropped."""
    if kind != draft.kind:
        return False
    if payload is None:
        return bytes(known or b"") == digest(to_json(draft.payload))
    return bool(json.loads(payload) == json.loads(to_json(draft.payload)))


class SqlIndex(RowIndex):
    """The semantic index in tables; it closes the database.

    Attributes:
        first_epoch: the expression for the epoch of an owner without records; see `Changes`.
    """

    first_epoch: ClassVar[str]

    def __init__(self, database: SqlDatabase, *, cache_bytes: int = CACHE_BYTES) -> None:
        super().__init__(cache_bytes)
        self._db = database

    def status(
        self, owner: Scope | None = None, *, sessions: Sequence[str | None] = (), pending: int = 0, sums: bool = False
    ) -> Status:
        status, _ = self.status_along([], owner, pending=pending, sums=sums)
        if sessions:
            number = None if owner is None else self._db.owner_id(owner)
            listed = self._db.rows.format(kind="text", name="session")
            names = self._db.array([session or "" for session in sessions])
            rows = self._db.query(f"SELECT s.session, ({_TAIL}) FROM ({listed}) s", [number, names])
            last: dict[str, int] = {session: record for session, record in rows if record is not None}
            tails = {session: last[session or ""] for session in sessions if (session or "") in last}
            status = replace(status, tails=tails)
        return replace(status, size=IndexSize(*self._db.query(_SIZE)[0])) if sums and owner is None else status

    def status_along(
        self, more: Sequence[Statement], owner: Scope | None, *, pending: int = 0, sums: bool = False, ask: Ask = None
    ) -> tuple[Status, list[list[Row]]]:
        """The state of the index, as `status`, and before that the rows of other statements; see `changes_along`."""
        number = None if owner is None else self._db.owner_id(owner)
        asked = [*more, (_STATUS, [number]), (_PENDING, [number, pending])]
        answers, columns = list[list[Row]](), None
        if owner is None or number is None or not sums:
            answers = self._db.queries(asked, owner=number or EVERYBODY)
        else:

            def changes(known: Columns) -> Changes:
                nonlocal answers
                new, answers = self.changes_along(asked, owner, known, ask)
                return new

            columns = self.owner_columns(owner, changes)
        *before, ((applied, anchor, name, dim),), waiting = answers
        embedder = None if name is None else (name, dim)
        status = Status(applied, anchor, embedder, pending=[record for (record,) in waiting])
        return (status if columns is None else columns.summed(status)), before

    def changes(self, owner: Scope, known: Columns) -> Changes:
        return self.changes_along([], owner, known)[0]

    @abstractmethod
    def changes_along(
        self, asked: Sequence[Statement], owner: Scope, known: Columns, ask: Ask = None
    ) -> tuple[Changes, list[list[Row]]]:
        """What `changes` returns, and the rows of statements that are not newer; ``ask`` asks a server for all."""

    def statuses(self, owners: Sequence[Scope]) -> dict[Scope, Status]:
        there = {
            owner_scope(*row): Status(applied, anchor, pending=[] if pending is None else [pending])
            for *row, applied, anchor, pending in self._db.query(_STATUSES)
        }
        return {owner: there.get(owner.owner, Status()) for owner in owners}

    def get(self, ids: Sequence[int]) -> list[Record]:
        self._db.check_open()
        text, values = self._listed(ids)
        each = self._db.each.format(table="records", name="r", condition="r.id = u.id")
        whole = f"{_RECORD} FROM ({text}) u {each} JOIN main.owners o ON o.id = r.owner"
        found = {record.id: record for record in map(record_in, self._db.query(whole, values) if len(ids) else ())}
        return [found[number] for number in ids if number in found]

    def stored_before(self, owner: Scope, records: Sequence[Record]) -> list[int]:
        text, values = self._listed([record.id for record in records])
        mine = self._db.each.format(table="records", name="r", condition="r.id = u.id AND r.owner = ?")
        turns = self._db.each.format(table="records", name="p", condition=_BEFORE)
        rows = self._db.query(f"SELECT p.id FROM ({text}) u {mine} {turns}", [*values, self._db.owner_id(owner)])
        return [turn for (turn,) in rows]

    def _listed(self, ids: Sequence[int]) -> Statement:
        return self._db.rows.format(kind="bigint", name="id"), [self._db.array(list(map(int, ids)))]

    def upsert(self, owner: Scope, entries: Sequence[Entry], **move: Unpack[Move]) -> bool:
        try:
            self._db.write_for(owner, lambda run, number, _: self._upserted(run, number, entries, move), alone=False)
        except OutdatedError:
            return False
        return True

    def _upserted(self, run: Transaction, number: int, entries: Sequence[Entry], move: Move) -> None:
        """Do what `upsert` does, inside this transaction."""
        new = f"INSERT INTO main.indexed(owner, epoch) VALUES (?, {self.first_epoch}) ON CONFLICT DO NOTHING"
        run.execute(new, [number])
        anchor, seen, gone = move.get("anchor", ""), move.get("seen"), move.get("gone", ())
        self._db.expect(run, (_MOVED, [move["upto"], anchor, number, move["after"], seen]))
        chosen = f"SELECT id FROM main.records WHERE +owner = ? AND id {self._db.among}"
        mine = run.execute(chosen, [number, self._db.array(list(gone))]).fetchall() if gone else []
        if replaced := [*(record for (record,) in mine), *(entry.record.id for entry in entries)]:
            self._delete(run, replaced, [number] if gone else [])
        rows = [{**row_of(number, entry.record), "terms": entry.terms} for entry in entries]
        if rows:
            run.executemany(_INSERT, [[*(row[name] for name in _WRITTEN), number, number] for row in rows])
        if counts := [(record, use.count, to_micros(use.at)) for record, use in move.get("uses", {}).items()]:
            run.executemany(_USED, [(count, at, at, number, record, number) for record, count, at in counts])

    def put_vectors(self, embedder: tuple[str, int], keys: Keys, vectors: Vectors) -> None:
        try:
            self._db.write(lambda run, _: self._put(run, embedder, keys, vectors))
        except OutdatedError:
            raise EmbedderMismatchError(self.embedder() or embedder, embedder) from None

    def _put(self, run: Transaction, embedder: tuple[str, int], keys: Keys, vectors: Vectors) -> None:
        """Do what `put_vectors` does, inside this transaction."""
        run.execute("INSERT INTO main.embedder VALUES (1, ?, ?) ON CONFLICT DO NOTHING", embedder)
        self._db.expect(run, ("SELECT 1 FROM main.embedder WHERE name = ? AND dim = ?", embedder))
        self._give(run, keys, {key: vector_bytes(row) for key, row in vectors.items()})

    @abstractmethod
    def _give(self, run: Transaction, keys: Keys, vectors: Mapping[bytes, bytes]) -> None:
        """Give the records that wait for one these vectors, or those that others have with the same content hash."""

    def known(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        stored = self._db.query(*self._stored(keys))
        return {bytes(key): vector_of(vector) for key, vector in stored}

    def delete(self, ids: Sequence[int] | None) -> int:
        def deleted(run: Transaction, _: int) -> int:
            if ids is not None:
                return self._delete(run, list(map(int, ids)))
            ((count,),) = run.execute("SELECT count(*) FROM main.records").fetchall()
            self._empty(run)
            run.execute("UPDATE main.indexed SET applied = 0, anchor = '', epoch = epoch + 1, number = number + 1")
            return int(count)

        return self._db.write(deleted)

    def scrub(self) -> None:
        self._db.scrub()

    def close(self) -> None:
        super().close()
        self._db.close()

    @abstractmethod
    def _stored(self, keys: Collection[bytes]) -> Statement:
        """A query for one vector of each of these content hashes, with the hash."""

    @abstractmethod
    def _delete(self, run: Transaction, ids: Sequence[int], owners: Sequence[int] | None = None) -> int:
        """Delete records with their vectors, and note for the copies of their owners that they are gone.

        Returns how many there were. With ``owners`` it need not be right, and only these may have too many notes.
        """

    @abstractmethod
    def _empty(self, run: Transaction) -> None:
        """Delete all records, vectors and notes, and the embedder's name."""
