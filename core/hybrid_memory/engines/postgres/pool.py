"""Connections that threads share, and that are given up when there is no answer in time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import psycopg
from psycopg import OperationalError, errors
from psycopg.abc import PQGen
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

POOL_SECONDS = 10
"""How long a thread waits for a connection that another one has."""

CONNECT_SECONDS = 3

RV = TypeVar("RV")


class NoAnswerError(OperationalError):
    """The server did not answer in time, and may have done its work or not."""


class PatientConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that is closed when the server does not answer in time.

    Attributes:
        patience: seconds that an answer may take; None waits for ever.
    """

    patience: float | None = None

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """What psycopg does with every request: wait for its answer."""
        try:
            return super().wait(gen, interval, self.patience if timeout is None else timeout)
        except errors._WaitTimeout as error:  # noqa: SLF001 - psycopg raises it where it is given a time
            self.pgconn.finish()
            raise NoAnswerError(f"timeout: no answer in {self.patience or timeout} s") from error


class Pool:
    """psycopg's pool, made anew after a connection was lost, as soon as the server answers.

    It connects in threads of its own, again and again with pauses: whoever waited for these would not be told that the
    server is away.

    Args:
        conninfo: of the database.
        most: connections at the same time.
        configure: prepares a new connection.
        ping: raises if the server does not answer.
    """

    def __init__(
        self,
        conninfo: str,
        most: int,
        *,
        configure: Callable[[PatientConnection], None],
        ping: Callable[[], None],
    ) -> None:
        self._made = partial(
            ConnectionPool[PatientConnection],
            conninfo,
            connection_class=PatientConnection,
            kwargs={"autocommit": True, "connect_timeout": CONNECT_SECONDS},
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
        """One that nobody else has meanwhile.

        Raises:
            PoolTimeout: others have them all for too long.
            OperationalError: there is no connection to the server.
        """
        pool = self._opened()
        try:
            with pool.connection(POOL_SECONDS) as connection:
                yield connection
        except errors.QueryCanceled:
            raise
        except PoolTimeout:
            self._ping()
            raise
        except OperationalError:
            self._give_up(pool)  # the other connections were lost with it, perhaps
            raise

    def close(self) -> None:
        """Close all of them; those that are in use when they come back."""
        self._closed = True
        self._give_up(self._pool)

    def _opened(self) -> ConnectionPool[PatientConnection]:
        with self._lock:
            if self._closed:
                raise PoolClosed("the pool is closed")
            if self._pool is None:
                self._ping()
                self._pool = self._made()
            return self._pool

    def _give_up(self, pool: ConnectionPool[PatientConnection] | None) -> None:
        with self._lock:
            if self._pool is pool:
                self._pool = None
        if pool is not None:
            pool.close(CONNECT_SECONDS)
