"""A Milvus server for tests: Milvus Lite as a process of its own, that can be killed and started again."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import time
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
