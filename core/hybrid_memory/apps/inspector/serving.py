"""The page on a port of this machine."""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Callable

import uvicorn

from hybrid_memory.apps.inspector.app import application
from hybrid_memory.apps.inspector.reading import key_of, warm_up
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.memory import HybridMemory
from hybrid_memory.scope import Scope

HOST = "127.0.0.1"
TOKEN_BYTES = 32
WARM_UP_AFTER = 0.5
"""Seconds; the first page comes first."""

LAST_ANSWERS = 2
"""Seconds that requests have to end in, after Ctrl-C."""


def serve(
    memory: HybridMemory,
    *,
    port: int = 0,
    token: str | None = None,
    writable: bool = False,
    scope: Scope | None = None,
    ready: Callable[[str], None],
) -> None:
    """Serve the page on loopback until Ctrl-C; to be called in the main thread.

    Args:
        memory: what is looked at; it stays open.
        port: 0 takes a free one.
        token: that lets in; by default a new one that nobody can guess.
        writable: let the page forget turns.
        scope: whose timeline the address shows; by default the list of owners.
        ready: called with the address, token included, once it is answered.

    Raises:
        InvalidInputError: the port is taken or may not be used.
    """
    token = token or secrets.token_urlsafe(TOKEN_BYTES)
    # Named as TCP, or asyncio lets small answers wait for more.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise InvalidInputError(f"cannot listen on {HOST}:{port}: {error}; --port 0 takes a free one") from error
        path = "" if scope is None else f"o/{key_of(scope)}/timeline"
        address = f"http://{HOST}:{listening.getsockname()[1]}/{path}?token={token}"
        config = uvicorn.Config(
            application(memory, token=token, writable=writable),
            log_level="critical",
            access_log=False,
            lifespan="off",
            ws="none",
            http="h11",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=LAST_ANSWERS,
        )

        warming = threading.Timer(WARM_UP_AFTER, warm_up, (memory,))

        def answered() -> None:
            ready(address)
            warming.start()

        try:
            _Server(config, answered).run(sockets=[listening])
        except KeyboardInterrupt:
            pass  # uvicorn passes on the signal that it has ended on
        finally:
            warming.cancel()
            if warming.is_alive():
                warming.join()  # before the memory is closed


class _Server(uvicorn.Server):
    """Says when it answers."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()
