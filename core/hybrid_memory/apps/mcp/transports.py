"""How hosts connect to a server: over stdio if they start it themselves, or over streamable HTTP."""

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
"""The time to finish answers when the server is stopped; then streams that clients keep open are closed."""


def application(memory: HybridMemory, binding: Binding, *, token: str, hosts: Collection[str] = ()) -> Starlette:
    """The server as an ASGI application, at ``/mcp``.

    A request without the token gets 401; one whose Host or Origin is neither the loopback nor in ``hosts`` gets 421 or
    403.

    Args:
        memory: an open memory.
        binding: the owner.
        token: see `server`.
        hosts: host names, without a port, by which clients reach it in addition to the loopback.
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
        memory: an open memory.
        binding: the owner.
        port: the port; 0 chooses a free one.
        host: the address to listen on; by default only this machine can connect.
        hosts: host names by which clients reach it in addition to ``host``.
        token: see `server`; None generates one.
        ready: called with the URL and the token as soon as clients can connect.

    Raises:
        InvalidInputError: the token is invalid, or the server cannot listen at this address.
        KeyboardInterrupt: it was interrupted, after finishing open answers.
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
    """Whether this means all addresses of the machine."""
    return host in {"0.0.0.0", "::"}  # noqa: S104 - asked, not bound


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


STDIN = 0
CHUNK_BYTES = 65536
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve_stdio(memory: HybridMemory, binding: Binding) -> None:
    """Serve this process's stdin and stdout until stdin ends; other output goes to stderr meanwhile.

    Call it in the main thread.

    Args:
        memory: an open memory.
        binding: the owner.

    Raises:
        KeyboardInterrupt: it was interrupted or terminated.
    """
    made = server(memory, binding)
    with _ending_when_interrupted() as interrupted:
        made.run("stdio")
    if interrupted.is_set():
        raise KeyboardInterrupt


@contextmanager
def _ending_when_interrupted() -> Iterator[threading.Event]:
    """End stdin at a signal: the SDK reads it in a thread, which only input or the end of input wakes."""
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
    """Let the reader see the end; the descriptor stays reserved, so that late writers hit no other file."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
