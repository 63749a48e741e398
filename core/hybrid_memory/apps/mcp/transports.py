"""How hosts reach a server: over stdio if they start it themselves, or over streamable HTTP."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from hybrid_memory import HybridMemory
from hybrid_memory.apps.mcp.server import Binding, server
from hybrid_memory.errors import InvalidInputError

PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
TOKEN_BYTES = 32
SECONDS_TO_END = 2
"""For answers that are being written when the server is stopped; streams that clients keep open end then."""


def application(memory: HybridMemory, binding: Binding, *, token: str, hosts: Collection[str] = ()) -> Starlette:
    """The server as an ASGI application, at ``/mcp``.

    A request without the token gets 401, one with another Host or Origin than the loopback's and ``hosts`` 421 or 403.

    Args:
        memory: open.
        binding: whose memory.
        token: see `server`.
        hosts: names under which clients reach it beside the loopback, without a port.
    """
    names = [*LOOPBACK, *hosts]
    schemes = ("http", "https")
    security = TransportSecuritySettings(
        allowed_hosts=[form for name in names for form in (name, f"{name}:*")],
        allowed_origins=[f"{scheme}://{form}" for name in names for form in (name, f"{name}:*") for scheme in schemes],
    )
    made = server(memory, binding, token=token)
    return made.streamable_http_app(streamable_http_path=PATH, transport_security=security)


def serve_http(
    memory: HybridMemory,
    binding: Binding,
    *,
    port: int = 0,
    host: str = "127.0.0.1",
    hosts: Collection[str] = (),
    token: str | None = None,
    ready: Callable[[str, str], None] = lambda _url, _token: None,
) -> None:
    """Serve until the process is interrupted.

    Args:
        memory: open.
        binding: whose memory.
        port: 0 takes a free one.
        host: the address to listen on; by default nobody beyond this machine gets at it.
        hosts: names under which clients reach it beside ``host``.
        token: see `server`; None makes one.
        ready: is given the URL and the token once clients can connect.

    Raises:
        InvalidInputError: the token is no token, or nothing can listen there.
        KeyboardInterrupt: it was interrupted, after open answers were written.
    """
    token = token or secrets.token_urlsafe(TOKEN_BYTES)
    own = () if _anywhere(host) else (_in_url(host),)
    app = application(memory, binding, token=token, hosts=[*own, *hosts])
    config = uvicorn.Config(
        app, host=host, port=port, log_config=None, access_log=False, timeout_graceful_shutdown=SECONDS_TO_END
    )
    with _listening(host, port) as sock:
        name = LOOPBACK[0] if _anywhere(host) else _in_url(host)
        ready(f"http://{name}:{sock.getsockname()[1]}{PATH}", token)
        uvicorn.Server(config).run(sockets=[sock])


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        raise InvalidInputError(f"cannot listen on {_in_url(host)}:{port}: {error}") from None


def _anywhere(host: str) -> bool:
    """Whether it stands for all addresses of the machine."""
    return host in {"0.0.0.0", "::"}  # noqa: S104 - asked, not bound


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


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
