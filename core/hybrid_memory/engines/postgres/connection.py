"""A Postgres database behind one URL: connection pool, transactions, and database failures as the library's errors."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import psycopg
from psycopg import Connection, OperationalError, errors
from psycopg_pool import PoolTimeout

from hybrid_memory.engines.postgres.pool import (
    CONNECT_SECONDS,
    CONNECTING,
    NoAnswerError,
    PatientConnection,
    Pool,
    Run,
    Script,
)
from hybrid_memory.engines.postgres.schema import APPEND, OWNED, POLICY, SCHEMA, VERSION
from hybrid_memory.engines.remote import Remote
from hybrid_memory.engines.sql import EVERYBODY, Row, SqlDatabase, Statement
from hybrid_memory.engines.stored import owner_key
from hybrid_memory.errors import InvalidConfigError, OutdatedError, StoreUnavailableError, StoreVersionError
from hybrid_memory.runtime.tasks import ENGINE_SECONDS, hurried
from hybrid_memory.scope import Scope
from hybrid_memory.urls import ENCODE, shown_url

PROBE_SECONDS = 2
CALL_SECONDS = 60
GRACE_SECONDS = 0.3
"""Seconds to wait for an answer beyond the statement's timeout, as the server itself ends it if it can."""

MAX_CONNECTIONS = 16  # the most connections of one process if the URL has no ``pool``; a thread uses one at a time

REWRITTEN_BYTES = 64_000_000
"""Tables up to this total size are rewritten after an erasure; that takes a second, during which nobody can read."""

KEPT_AFTER = 3  # how often a session runs a search before it keeps its plan: to plan one takes longer than to run it
FULL_PAUSES = (0.1, 0.3, 1.0)  # seconds after which to try again if the server has no free connection
ATTEMPTS = 5  # how often to try a transaction that conflicts with others

POSITIONS_BEHIND = "HM002"
"""The error code raised by `append` where the sequence of positions was not replicated with the events."""

_SCHEMES = ("postgresql", "postgres")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,40}")
_MOVE_ON = "SELECT main.move_on(?)"

_BYTES = """
SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c, pg_class e
WHERE e.oid = 'main.events'::regclass AND c.relnamespace = e.relnamespace AND c.relkind = 'r'
"""

T = TypeVar("T")

_log = logging.getLogger(__name__)


class PostgresConnection(Remote, SqlDatabase):
    """A pool of connections to a database, shared by log and index; usable from any thread.

    Args:
        url: a libpq URL, ``postgresql://[user:password@]host[:port][,host...]/database``. Besides libpq's options, such
            as ``sslmode`` and ``target_session_attrs``, it takes ``schema`` (of the library's tables; default
            ``hybrid_memory``) and ``pool`` (the most connections).
        power_safe: whether a commit waits for the disk. Without it, a server crash loses the last moments, but never a
            part of a transaction.
        read_only: nothing is written, so that a replica is sufficient.

    Attributes:
        schema: the schema of the tables.
        index: the index in these tables that is in use, whose state is sent with that of the log; None if none is.

    Raises:
        InvalidConfigError: the URL is malformed.
        StoreUnavailableError: the server does not answer, or refuses.
        StoreVersionError: another version of this library wrote the store.
    """

    failures = (psycopg.Error, OSError)
    among = "= ANY(?)"
    rows = "SELECT unnest(?::{kind}[]) AS {name}"
    # Other joins may read all of the table's rows, as the planner has no statistics of a new one.
    each = "CROSS JOIN LATERAL (SELECT * FROM main.{table} {name} WHERE {condition} OFFSET 0) {name}"

    def __init__(
        self, url: str, *, engine_timeout: float = ENGINE_SECONDS, power_safe: bool = True, read_only: bool = False
    ) -> None:
        address = parsed(url)
        SqlDatabase.__init__(self, array=list)
        Remote.__init__(self, f"Postgres at {address.place}", "", address.secrets, engine_timeout=engine_timeout)
        self.schema, self._conninfo = address.schema, address.conninfo
        self.read_only = read_only
        self.index: Any = None
        self._whole = True
        self._settings = _SETTINGS if power_safe else f"{_SETTINGS}, set_config('synchronous_commit', 'off', true)"
        self._direct = False
        self._pool = Pool(address.conninfo, address.pool, configure=self._configure, ping=self._probe)
        self._tried("connect to", self._check_schema)

    @staticmethod
    def expect(run: Run, statement: Statement) -> None:
        """See `SqlDatabase.expect`; the server fails by itself, so that nobody has to wait for its answer."""
        text, values = statement
        run.execute(f"WITH there AS ({text}) SELECT 1 / count(*) FROM there".encode(), values)

    def queries(
        self, statements: Sequence[Statement], *, owner: int = EVERYBODY, keep: bool = False
    ) -> list[list[Row]]:
        """The rows of each statement, in one round trip; a later one may see what was written since an earlier one.

        With ``keep``, sessions keep their plans, unless a pooler shares the sessions out.
        """
        return self.attempt(lambda connection, _: self.together(connection, statements, owner=owner, keep=keep))

    def together(
        self, run: Run, statements: Sequence[Statement], *, owner: int = EVERYBODY, keep: bool = False
    ) -> list[list[Row]]:
        """The rows of each statement, in one round trip and one transaction, in which the settings hold."""
        with self._batch(run) as batch:
            self._set(batch, owner)
            answers = [
                batch.execute(text.encode(), list(values), prepare=None if keep else False)
                for text, values in statements
            ]
        return [answer.fetchall() for answer in answers]

    @contextmanager
    def _batch(self, run: Run) -> Iterator[Run]:
        """Inside the block, statements are sent together, and only fetching rows waits for the server."""
        if isinstance(run, PatientConnection) and self._direct:
            with run.pipeline():
                yield run
        else:
            script = run if isinstance(run, Script) else Script(run)
            yield script
            script.send()

    def write(self, work: Callable[[Run, int], T], *, owner: int = EVERYBODY) -> T:
        """Run the work in one transaction and return its result; an exception rolls back.

        Only fetching rows waits for the server. It may be repeated, see `attempt`.
        """

        def whole(connection: PatientConnection, tried: int) -> T:
            with self._batch(connection) as run:
                run.execute("BEGIN")
                self._set(run, owner)
                result = work(run, tried)
                run.execute("COMMIT")  # the pool rolls back if anything raises
            return result

        return self.attempt(whole)

    def write_for(self, owner: Scope, work: Callable[[Run, int, int], T], *, alone: bool = True) -> T:
        number = self.owner_id_for_writing(owner)
        return self.write(lambda run, tried: work(run, number, tried), owner=number if alone else EVERYBODY)

    def patiently(self, statement: str) -> None:
        """Run a statement such as VACUUM, which may take minutes and cannot run in a transaction."""

        def run(connection: PatientConnection, _: int) -> None:
            def warn(notice: errors.Diagnostic) -> None:
                if notice.severity_nonlocalized == "WARNING":
                    _log.warning(
                        "%s: %s; let the owner of the tables of %s do it, or grant its role",
                        *(self.place, notice.message_primary, self.schema),
                    )

            connection.patience = None
            connection.add_notice_handler(warn)
            try:
                connection.execute(statement.encode())
            finally:
                connection.remove_notice_handler(warn)

        self.attempt(run)

    def scrub(self) -> None:
        """Remove deleted data from the files of the tables, those of log and index alike, as they share a database.

        Large tables are not rewritten, as that would lock them for minutes: their space is only marked as free.
        """
        sizes = "SELECT named, pg_total_relation_size(('main.' || named)::regclass) FROM unnest(?::text[]) named"
        large = [name for name, size in self.query(sizes, [list(OWNED)]) if size > REWRITTEN_BYTES]
        if small := [name for name in OWNED if name not in large]:  # without a table, it is about the whole database
            self.patiently(f"VACUUM (FULL) {', '.join(f'main.{name}' for name in small)}")
        if not large:
            return
        self.patiently(f"VACUUM {', '.join(f'main.{name}' for name in large)}")
        if self._whole:
            self._whole = False
            _log.warning(
                "%s of the store %s on Postgres are too large to be rewritten each time: erased data may stay readable "
                "in free space of their files until it is overwritten; VACUUM FULL destroys it",
                *(", ".join(large), self.schema),
            )

    def size_bytes(self) -> int:
        return int(self.query(_BYTES)[0][0])

    def owner_id_for_writing(self, scope: Scope) -> int:
        """The number of the scope's owner; assigns one if it is new."""
        known = self.owner_id(scope)
        if known is None:
            new = "SELECT main.new_owner(?, ?, ?, ?)"
            rows = self.write(lambda connection, _: connection.execute(new, owner_key(scope)).fetchall())
            known = self._owners[scope.owner] = int(rows[0][0])
        return known

    def close(self) -> None:
        self._closed = True
        self._pool.close()

    def _set(self, run: Run, owner: int) -> None:
        """The settings of this transaction: whoever gets the session after it sees none of them."""
        values = ["*" if owner == EVERYBODY else str(owner), str(int(self._seconds() * 1000))]
        run.execute(self._settings, values)

    def _seconds(self) -> float:
        return self._engine_timeout if hurried() else CALL_SECONDS

    def attempt(self, work: Callable[[PatientConnection, int], T]) -> T:
        """Call the work with a connection and the number of earlier attempts; return its result.

        Repeats the work if the connection was lost or another transaction interfered. A commit may have reached the
        server even though its answer was lost.
        """

        def pooled() -> T:
            for tried in range(ATTEMPTS):
                try:
                    with self._pool.connection() as connection:
                        connection.patience = self._seconds() + GRACE_SECONDS
                        return work(connection, tried)
                except errors.DivisionByZero as error:  # see `expect`
                    raise OutdatedError from error
                except (errors.DeadlockDetected, errors.SerializationFailure):
                    if tried + 1 == ATTEMPTS:
                        raise
                except OperationalError as error:
                    self.check_open()
                    if tried or isinstance(error, (errors.QueryCanceled, PoolTimeout, NoAnswerError)):
                        raise
                    if error.sqlstate == POSITIONS_BEHIND:
                        with self._pool.connection() as connection:
                            connection.execute(_MOVE_ON, [0])
            raise AssertionError("unreachable")

        return self.ask("use", pooled)

    def _reason(self, error: Exception) -> str:
        reason = str(error).strip().partition("\n")[0]
        if _is_full(error):
            return (
                f"{reason}; raise its max_connections, lower ?pool= in the URL, or put a pooler such as PgBouncer "
                "in front of it"
            )
        if isinstance(error, PoolTimeout):
            return f"{reason}: all connections are busy; more may be allowed with ?pool= in the URL"
        if isinstance(error, OperationalError) and error.sqlstate is None:
            return f"{reason}; see that the server runs, and that host, port, user, password and database are right"
        return reason

    def _is_answer(self, error: BaseException) -> bool:
        return not isinstance(error, OperationalError) or isinstance(error, PoolTimeout)

    def _probe(self) -> None:
        with self._fresh(PROBE_SECONDS) as connection:
            connection.execute("SELECT 1")

    def _fresh(self, seconds: int) -> PatientConnection:
        """A new connection with this timeout for connecting and for answers."""
        for pause in (*FULL_PAUSES, None):
            try:
                connection = PatientConnection.connect(self._conninfo, connect_timeout=seconds, **CONNECTING)
                break
            except OperationalError as error:
                if pause is None or not _is_full(error):
                    raise
                time.sleep(pause)
        self._configure(connection)
        connection.patience = seconds
        return connection

    def _configure(self, connection: PatientConnection) -> None:
        """Prepare a connection without asking the server: behind a pooler, its sessions are shared with others."""
        connection.patience = CONNECT_SECONDS
        connection.schema = self.schema
        connection.prepare_threshold = KEPT_AFTER if self._direct else None

    def _check_schema(self) -> None:
        with self._fresh(CONNECT_SECONDS) as connection:
            connection.patience = None  # another process may be making the tables
            version = _version(connection, self.schema)
            if not version:
                if self.read_only:
                    raise StoreUnavailableError(
                        f"there is no store {self.schema!r} on {self.place}: open it once where it can "
                        "be written, then read it here"
                    )
                version = self._create(connection)
            if version != VERSION:
                raise StoreVersionError(f"the store {self.schema!r} on {self.place}", version, VERSION)
            behind = "SELECT last_value < (SELECT max(head) FROM main.owners) FROM main.positions"
            if not self.read_only and connection.execute(behind).fetchone() == (True,):
                connection.execute(_MOVE_ON, [0])
            # A pooler answers with a process of its own, and may run each transaction in another session.
            process = connection.execute("SELECT pg_backend_pid()").fetchone()
            self._direct = process == (connection.info.backend_pid,)
            rows = connection.execute(
                "SELECT current_setting('fsync'), rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
            ).fetchall()
        for fsync, above in rows:
            if fsync == "off":
                _log.warning("%s runs with fsync = off: a crash may lose everything", self.place)
            if above:
                _log.warning(
                    "the role at %s bypasses row-level security: only the conditions of each query keep "
                    "owners apart; give the library a role that is not a superuser",
                    self.place,
                )

    def _create(self, connection: PatientConnection) -> int:
        """Make the tables, unless another process has; returns their version."""
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(?))", [f"hybrid_memory {self.schema}"])
            if not connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = ?", [self.schema]).fetchone():
                connection.execute(f'CREATE SCHEMA "{self.schema}"'.encode())
            connection.execute(
                "CREATE TABLE IF NOT EXISTS main.store"
                "(one integer PRIMARY KEY CHECK (one = 1), version integer NOT NULL)"
            )
            if version := _version(connection, self.schema):
                return version
            for script in (SCHEMA, *(POLICY.format(table=table) for table in OWNED), APPEND):
                connection.execute(script.encode())
            connection.execute("INSERT INTO main.store VALUES (1, ?)", [VERSION])
            return VERSION


_SETTINGS = (
    "SELECT set_config('hybrid_memory.owner', ?, true), set_config('statement_timeout', ?, true), "
    "set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)"
)


def _is_full(error: Exception) -> bool:
    """Whether the server has no free connection; failed connections have no error code."""
    return bool(re.search("too many (clients|connections)|connection slots|no more connections", str(error)))


def _version(connection: Connection[Row], schema: str) -> int:
    """The version of the stored schema; 0 if there is none."""
    if connection.execute("SELECT to_regclass(?)", [f'"{schema}".store']).fetchall()[0][0] is None:
        return 0
    row = connection.execute("SELECT version FROM main.store").fetchone()
    return int(row[0]) if row else 0


@dataclass(frozen=True, slots=True)
class _Address:
    conninfo: str = field(repr=False)
    place: str
    schema: str
    pool: int
    secrets: tuple[str | None, ...] = field(repr=False)


def parsed(url: str) -> _Address:
    """The parts of a Postgres URL; no error shows its password."""
    scheme, found, rest = url.partition("://")
    if scheme not in _SCHEMES or not found:
        raise InvalidConfigError(f"a Postgres URL begins with postgresql://, got {shown_url(url)!r}")
    named, _, query = rest.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    schema, pool = options.pop("schema", "hybrid_memory"), options.pop("pool", str(MAX_CONNECTIONS))
    options.setdefault("application_name", "hybrid-memory")
    if not _SCHEMA.fullmatch(schema):
        raise InvalidConfigError(
            f"the schema of a Postgres URL is up to 40 lower-case letters, digits or underscores, got {schema!r}"
        )
    if not pool.isdecimal() or not int(pool):
        raise InvalidConfigError(f"the pool of a Postgres URL is a number of connections, got {pool!r}")
    conninfo = f"postgresql://{named}?{urlencode(options, quote_via=quote)}"
    known: dict[str, Any] | None = None
    if not re.search("(?s)[@/#].*@|#", named):  # libpq takes the rest of such a password for the host
        with suppress(psycopg.Error):  # raised outside: it quotes the URL
            known = psycopg.conninfo.conninfo_to_dict(conninfo)
    if known is None or not (known.get("port") or "0").replace(",", "").isdecimal():
        raise InvalidConfigError(f"{shown_url(url)!r} is not a Postgres URL: {ENCODE}")
    host, port = known.get("host") or "localhost", known.get("port") or "5432"
    secrets = (
        known.get("password") or known.get("user"),
        options.get("password"),
        urlsplit(f"//{named}").password if "@" in named else None,
    )
    texts = tuple(str(secret) for secret in secrets if secret)
    return _Address(conninfo, f"{host}:{port}", schema, int(pool), (*texts, *map(unquote, texts)))
