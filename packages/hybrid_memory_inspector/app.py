"""The page as a web application on a port of this machine: addresses, templates, and how failures are told."""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

import uvicorn
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from hybrid_memory import HybridMemory, Scope, __version__
from hybrid_memory.display import finished
from hybrid_memory.errors import HybridMemoryError, InvalidInputError, StoreUnavailableError
from hybrid_memory_inspector import knowledge, log, prompts, search
from hybrid_memory_inspector.guard import HEADERS, Guard, form_token, from_own_form
from hybrid_memory_inspector.reading import KINDS, SIGNALS, TIERS, PageRequest, key_of, moment_of, scope_of, split

_log = logging.getLogger(__name__)

MOST_FORM_BYTES = 100_000

Page = Callable[[PageRequest], Mapping[str, Any]]

PAGES: dict[str, Page] = {
    "prompt": prompts.prompts,
    "timeline": log.timeline,
    "event": log.event,
    "search": search.search,
    "facts": knowledge.knowledge,
    "summaries": knowledge.summaries,
    "figures": prompts.figures,
}

NAVIGATION = ("prompt", "timeline", "search", "facts", "summaries", "figures")


def application(memory: HybridMemory, *, token: str, writable: bool = False) -> Starlette:
    """The page on a memory, for any ASGI server that listens on loopback alone.

    Looking at it changes nothing in the store, however the memory was opened.

    Args:
        memory: what is looked at.
        token: who has it may look.
        writable: let facts be reviewed and turns be forgotten; the memory must be open for writing then.
    """
    inspector = _Inspector(memory, token, writable=writable)
    routes = [
        Route("/", inspector.start),
        *(Route(f"/o/{{key}}/{name}", inspector.page(name), methods=["GET"]) for name in PAGES),
        Route("/o/{key}/facts", inspector.decide, methods=["POST"]),
        Route("/o/{key}/forget", inspector.ask_to_forget, methods=["GET"]),
        Route("/o/{key}/forget", inspector.forget, methods=["POST"]),
        Mount("/static", StaticFiles(packages=[("hybrid_memory_inspector", "static")])),
    ]
    handlers: dict[Any, Any] = dict.fromkeys((HybridMemoryError, HTTPException, Exception), inspector.failed)
    return Starlette(routes=routes, middleware=[Middleware(Guard, token=token)], exception_handlers=handlers)


@cache
def _templates() -> Environment:
    pages = Environment(
        loader=PackageLoader("hybrid_memory_inspector"),
        autoescape=True,
        finalize=finished,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.globals |= {
        "navigation": NAVIGATION, "version": __version__, "kind_names": KINDS, "tier_names": TIERS,
        "signal_names": SIGNALS, "split": split,
    }  # fmt: skip
    return pages


class _Inspector:
    """The pages of one memory."""

    def __init__(self, memory: HybridMemory, token: str, *, writable: bool) -> None:
        self._memory = memory
        self._reading = memory.as_read_only()
        self._token = token
        self._writable = writable

    def start(self, request: Request) -> Response:
        """The owners."""
        return self._shown("overview", overview(self._reading, dict(request.query_params)), None)

    def page(self, name: str) -> Callable[[Request], Response]:
        """A page of an owner."""

        def answer(request: Request) -> Response:
            asked = self._asked(request)
            return self._shown(name, PAGES[name](asked), asked)

        return answer

    def ask_to_forget(self, request: Request) -> Response:
        """What would be forgotten."""
        self._check_writable()
        asked = self._asked(request)
        return self._shown("forget", log.asking(self._memory, asked), asked)

    async def forget(self, request: Request) -> Response:
        """Forget, once it was confirmed."""
        fields = await self._form(request)
        if fields.get("confirmed") != "yes":
            raise InvalidInputError("nothing was forgotten: tick the box to confirm")
        asked = self._asked(request)
        name = f"#{fields.get('position', '').removeprefix('#')}"
        await asyncio.to_thread(self._memory.for_scope(asked.scope.owner).forget, ids=name)
        return RedirectResponse(asked.url("timeline"), HTTPStatus.SEE_OTHER)

    async def decide(self, request: Request) -> Response:
        """Approve, correct or reject a fact, and show the facts again."""
        fields = await self._form(request)
        asked = self._asked(request)
        await asyncio.to_thread(knowledge.decide, self._memory.for_scope(asked.scope.owner), fields)
        shown = {name: request.query_params.get(name, "") for name in ("q", "history")}
        return RedirectResponse(asked.url("facts", **shown), HTTPStatus.SEE_OTHER)

    async def _form(self, request: Request) -> dict[str, str]:
        """The fields of a form of this page that may change something."""
        self._check_writable()
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_FORM_BYTES:
                raise HTTPException(413)
        fields = {name: values[0] for name, values in parse_qs(body.decode(errors="replace")).items()}
        if not from_own_form(request, fields.get("form_token", ""), self._token):
            raise HTTPException(403, "this form was not sent by this page")
        return fields

    def _check_writable(self) -> None:
        if not self._writable:
            raise HTTPException(403, "this page only reads: start it with --write to change something")

    def _asked(self, request: Request) -> PageRequest:
        query = dict(request.query_params)
        scope = scope_of(request.path_params["key"])
        if not self._reading.for_scope(scope.owner).events(limit=1):
            raise HTTPException(404, f"This store remembers nothing of {scope.owner}.")
        request.state.scope = scope
        return PageRequest(self._reading, scope, moment_of(query.get("at", "")), query)

    def _shown(self, name: str, values: Mapping[str, Any], asked: PageRequest | None, status: int = 200) -> Response:
        page = {"here": name, "request": asked, "store": self._memory.url, "writable": self._writable}
        page["form_token"] = form_token(self._token) if self._writable else ""
        return HTMLResponse(_templates().get_template(f"{name}.html.jinja").render(page, **values), status)

    def failed(self, request: Request, error: Exception) -> Response:
        """Says what went wrong, or that there is no such page."""
        status, problem = HTTPStatus.INTERNAL_SERVER_ERROR, str(error)
        if isinstance(error, HTTPException):
            status = HTTPStatus(error.status_code)
            problem = error.detail if error.detail != status.phrase else ""
        elif isinstance(error, InvalidInputError):
            status = HTTPStatus.BAD_REQUEST
        elif isinstance(error, StoreUnavailableError):
            status = HTTPStatus.SERVICE_UNAVAILABLE
        elif not isinstance(error, HybridMemoryError):
            _log.error("a page of the inspector failed", exc_info=error)
            problem = f"{type(error).__name__}: this should not have happened, and the process has logged it"
        scope = getattr(request.state, "scope", None)  # of an owner that exists, for the way back
        asked = scope and PageRequest(self._reading, scope, None, {})
        answer = self._shown("error", {"status": status, "problem": problem}, asked, status)
        answer.headers.update(HEADERS)  # a defect is answered outside of the guard
        return answer


HOST = "127.0.0.1"
TOKEN_BYTES = 32
LAST_ANSWERS = 2
"""Seconds that requests have to end in, after Ctrl-C."""


def serve(
    memory: HybridMemory,
    *,
    port: int = 0,
    writable: bool = False,
    scope: Scope | None = None,
    ready: Callable[[str], None],
) -> None:
    """Serve the page on loopback until Ctrl-C; to be called in the main thread.

    Args:
        memory: what is looked at; it stays open.
        port: 0 takes a free one.
        writable: let the page review facts and forget turns.
        scope: whose prompts the address shows; by default the only owner's, or the list of owners.
        ready: called with the address, token included, once a browser can connect.

    Raises:
        InvalidInputError: the port is taken or may not be used.
    """
    token = secrets.token_urlsafe(TOKEN_BYTES)
    # Named as TCP, or asyncio lets small answers wait for more.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
            listening.listen()
        except (OSError, OverflowError) as error:
            raise InvalidInputError(f"cannot listen on {HOST}:{port}: {error}; use --port 0 for a free port") from error
        owners = memory.owners() if scope is None else [scope]
        path = f"o/{key_of(owners[0])}/prompt" if len(owners) == 1 else ""
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

        with suppress(KeyboardInterrupt):  # uvicorn passes on the signal that it has ended on
            ready(address)
            uvicorn.Server(config).run(sockets=[listening])


OWNERS = 100
"""Listed at once; the others are found by name."""


def overview(memory: HybridMemory, query: dict[str, str]) -> dict[str, Any]:
    """The owners whose name contains the query, those with the newest events first."""
    words = query.get("q", "").strip()
    heads = memory.heads()
    owners = [owner for owner in memory.owners() if words.lower() in str(owner).lower()]
    owners.sort(key=lambda owner: -heads.get(owner, 0))
    rows = []
    for owner in owners[:OWNERS]:
        newest = memory.for_scope(owner).events(limit=1)
        rows.append({"scope": owner, "key": key_of(owner), "last": newest[0].at if newest else None})
    return {
        "q": words,
        "more": max(len(owners) - OWNERS, 0),
        "owners": rows,
        "stats": memory.stats(),
    }
