"""A connection pool for threads that gives up connections whose server does not answer in time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeAlias, TypeVar, cast

import psycopg
from psycopg import OperationalError, errors
from psycopg.abc import PQGen
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

POOL_SECONDS = 10  # seconds that a thread waits for a connection used by another

CONNECT_SECONDS = 3

RV = TypeVar("RV")


class NoAnswerError(OperationalError):
    """The server did not answer in time; it may have done the work or not."""


class QualifyingCursor(psycopg.Cursor[tuple[Any, ...]]):
    """A cursor that admits the statements of `hybrid_memory.engines.sql`, as no session has a search path of ours."""

    def execute(
        self, query: Any, params: Any = None, *, prepare: bool | None = None, binary: bool | None = None
    ) -> Self:
        # The answer to a script cannot be binary, and it has no values.
        binary = params is not None if binary is None else binary
        return super().execute(_qualified(self.connection, query), params, prepare=prepare, binary=binary)

    def executemany(self, query: Any, params_seq: Iterable[Any], *, returning: bool = False) -> None:
        super().executemany(_qualified(self.connection, query), params_seq, returning=returning)


def _qualified(connection: psycopg.Connection[Any], query: str | bytes) -> bytes:
    query = query if isinstance(query, bytes) else query.encode()
    schema = cast("PatientConnection", connection).schema.encode()
    return query.replace(b"?", b"%s").replace(b"main.", b'"%s".' % schema)


CONNECTING: dict[str, Any] = {"autocommit": True, "cursor_factory": QualifyingCursor, "prepare_threshold": None}
"""Arguments of every connection; see `PostgresConnection.queries` for what is prepared where no pooler is between."""


class PatientConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that closes itself when the server does not answer in time.

    Attributes:
        patience: seconds to wait for an answer; None waits forever.
        schema: the schema of the tables, which statements call ``main.``.
    """

    patience: float | None = None
    schema: str = "hybrid_memory"

    def executemany(self, query: str, params_seq: Iterable[Sequence[Any]]) -> None:
        """Run a statement with each of these values."""
        self.cursor().executemany(query.encode(), params_seq)

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """Wait for the answer; psycopg calls this for every request."""
        try:
            return super().wait(gen, interval, self.patience if timeout is None else timeout)
        except errors._WaitTimeout as error:  # noqa: SLF001 - psycopg raises it where it is given a time
            self.pgconn.finish()
            raise NoAnswerError(f"timeout: no answer in {self.patience or timeout} s") from error


class Script:
    """Statements for a session behind a pooler, sent as one text as soon as somebody waits for rows.

    Not in a pipeline: PgBouncer 1.18 sometimes loses count of the answers, and keeps its session for ever. What is sent
    at once is one transaction.
    """

    def __init__(self, connection: PatientConnection) -> None:
        self._connection = connection
        self._merging = psycopg.ClientCursor(connection)
        self._waiting: list[tuple[str, Answer]] = []

    def execute(self, query: str | bytes, params: Sequence[Any] = (), *, prepare: bool | None = None) -> Answer:
        """Send a statement, or have it wait for others; ``prepare`` is ignored, as a text is not prepared."""
        answer = Answer(self)
        text = self._merging.mogrify(_qualified(self._connection, query), params or None)
        self._waiting.append((text, answer))
        return answer

    def executemany(self, query: str, params_seq: Iterable[Sequence[Any]]) -> None:
        """Run a statement with each of these values."""
        for params in params_seq:
            self.execute(query, params)

    def send(self) -> None:
        """Send what is waiting, and read the answers."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        cursor = psycopg.Cursor(self._connection)
        cursor.execute(";".join(text for text, _ in waiting).encode())
        for _, answer in waiting:
            answer.rows = cursor.fetchall() if cursor.description else []
            cursor.nextset()


@dataclass(slots=True)
class Answer:
    """The rows of a statement of a script."""

    script: Script
    rows: list[tuple[Any, ...]] | None = None

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows; sends the script if it was not sent yet."""
        if self.rows is None:
            self.script.send()
        return self.rows or []


Run: TypeAlias = PatientConnection | Script  # what statements of a transaction run on


class Pool:
    """psycopg's pool, recreated after a lost connection as soon as the server answers.

    psycopg's pool reconnects in its own threads with increasing pauses; waiting for these would not report that the
    server is unreachable.
    """

    def __init__(
        self, conninfo: str, most: int, *, configure: Callable[[PatientConnection], None], ping: Callable[[], None]
    ) -> None:
        self._made = partial(
            ConnectionPool[PatientConnection],
            conninfo,
            connection_class=PatientConnection,
            kwargs={**CONNECTING, "connect_timeout": CONNECT_SECONDS},
            configure=configure,
            min_size=1,
            max_size=most,
            num_workers=1,
            reconnect_timeout=CONNECT_SECONDS,
            open=True,
        )
        self._ping = ping
        self._lock = threading.Lock()
        self._pool: ConnectionPool[PatientConnection] | None = None
        self._closed = False

    @contextmanager
    def connection(self) -> Iterator[PatientConnection]:
        """A connection for exclusive use; raises `PoolTimeout` if all were in use for too long."""
        with self._lock:
            if self._closed:
                raise PoolClosed("the pool is closed")
            if self._pool is None:
                self._ping()
                self._pool = self._made()
            pool = self._pool
        try:
            with pool.connection(POOL_SECONDS) as connection:
                yield connection
        except OperationalError as error:
            ours = (error.sqlstate or "").startswith("HM")  # raised by our own function
            if isinstance(error, PoolTimeout):
                self._ping()
            elif not ours and not isinstance(error, errors.QueryCanceled):
                self._give_up(pool)  # the other connections were lost with it, perhaps
            raise

    def close(self) -> None:
        """Close all connections; those in use are closed when they are returned."""
        self._closed = True
        self._give_up(self._pool)

    def _give_up(self, pool: ConnectionPool[PatientConnection] | None) -> None:
        with self._lock:
            if self._pool is pool:
                self._pool = None
        if pool is not None:
            pool.close(CONNECT_SECONDS)
