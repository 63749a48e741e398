"""Streamable HTTP: for hosts that connect to a server instead of starting one."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Collection

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from hybrid_memory.apps.mcp.binding import Binding
from hybrid_memory.apps.mcp.serving import server
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.memory import HybridMemory

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
