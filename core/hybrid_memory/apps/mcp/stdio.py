"""Stdio: for hosts that start the server as a process of their own."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hybrid_memory.apps.mcp.binding import Binding
from hybrid_memory.apps.mcp.serving import server
from hybrid_memory.memory import HybridMemory

STDIN = 0
CHUNK_BYTES = 65536
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve_stdio(memory: HybridMemory, binding: Binding) -> None:
    """Serve this process's stdin and stdout until stdin ends; what else is printed meanwhile goes to stderr.

    To be called in the main thread.

    Args:
        memory: open.
        binding: whose memory.

    Raises:
        KeyboardInterrupt: it was interrupted or told to terminate.
    """
    made = server(memory, binding)
    with _ending_when_interrupted() as interrupted:
        made.run("stdio")
    if interrupted.is_set():
        raise KeyboardInterrupt


@contextmanager
def _ending_when_interrupted() -> Iterator[threading.Event]:
    """Let stdin end at a signal: the SDK reads it in a thread, which nothing but more input or its end wakes."""
    interrupted = threading.Event()
    stdin, (reading, writing) = os.dup(STDIN), os.pipe()
    os.dup2(reading, STDIN)
    os.close(reading)

    def end(*_: object) -> None:
        interrupted.set()
        _close(writing)

    before = {number: signal.signal(number, end) for number in SIGNALS}
    threading.Thread(target=_pass_on, args=(stdin, writing), daemon=True).start()
    try:
        yield interrupted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.dup2(stdin, STDIN)


def _pass_on(source: int, target: int) -> None:
    with suppress(OSError):
        while chunk := os.read(source, CHUNK_BYTES):
            while chunk:
                chunk = chunk[os.write(target, chunk) :]
    _close(target)


def _close(descriptor: int) -> None:
    """Let the reader see the end; the number stays taken, so that whoever still writes hits no other file."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
