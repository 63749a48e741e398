"""The page as a web application: addresses, templates, and how failures are told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from hybrid_memory import __version__
from hybrid_memory.apps.inspector.pages import forgetting, knowledge, overview, prompts, search, summaries, timeline
from hybrid_memory.apps.inspector.reading import PageRequest, moment_of, reading, scope_of
from hybrid_memory.apps.inspector.security import HEADERS, Guard, form_token, from_own_form
from hybrid_memory.apps.inspector.text import finished
from hybrid_memory.errors import HybridMemoryError, InvalidInputError, StoreUnavailableError
from hybrid_memory.memory import HybridMemory

_log = logging.getLogger(__name__)

MOST_FORM_BYTES = 100_000

Page = Callable[[PageRequest], Mapping[str, Any]]

PAGES: dict[str, Page] = {
    "timeline": timeline.timeline,
    "event": timeline.event,
    "search": search.search,
    "facts": knowledge.knowledge,
    "summaries": summaries.summaries,
    "stretch": summaries.stretch,
    "prompt": prompts.prompts,
}

NAVIGATION = {
    "timeline": "Timeline",
    "search": "Search",
    "facts": "Profile and facts",
    "summaries": "Summaries",
    "prompt": "Prompt",
}


def application(memory: HybridMemory, *, token: str, writable: bool = False) -> Starlette:
    """The page on a memory, for any ASGI server that listens on loopback alone.

    Looking at it changes nothing in the store, however the memory was opened.

    Args:
        memory: what is looked at.
        token: who has it may look.
        writable: let turns be forgotten; the memory must be open for writing then.
    """
    inspector = _Inspector(memory, token, writable=writable)
    routes = [
        Route("/", inspector.start),
        *(Route(f"/o/{{key}}/{name}", inspector.page(name)) for name in PAGES),
        Route("/o/{key}/forget", inspector.ask_to_forget, methods=["GET"]),
        Route("/o/{key}/forget", inspector.forget, methods=["POST"]),
        Mount("/static", StaticFiles(packages=[("hybrid_memory.apps.inspector", "static")])),
    ]
    handlers: dict[Any, Any] = {
        HybridMemoryError: inspector.failed,
        HTTPException: inspector.refused,
        Exception: inspector.broken,
    }
    return Starlette(routes=routes, middleware=[Middleware(Guard, token=token)], exception_handlers=handlers)


@cache
def _templates() -> Environment:
    pages = Environment(
        loader=PackageLoader("hybrid_memory.apps.inspector"),
        autoescape=True,
        finalize=finished,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.globals |= {"navigation": NAVIGATION, "version": __version__}
    return pages


class _Inspector:
    """The pages of one memory."""

    def __init__(self, memory: HybridMemory, token: str, *, writable: bool) -> None:
        self._memory = memory
        self._reading = reading(memory)
        self._token = token
        self._writable = writable

    def start(self, request: Request) -> Response:
        """The owners."""
        return self._shown("overview", overview.overview(self._reading, dict(request.query_params)), None)

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
        positions = forgetting.positions_of(request.query_params.getlist("position"))
        values = forgetting.asking(self._memory, asked, positions)
        return self._shown("forget", {**values, "form_token": form_token(self._token)}, asked)

    async def forget(self, request: Request) -> Response:
        """Forget, once it was confirmed."""
        self._check_writable()
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_FORM_BYTES:
                raise HTTPException(413)
        fields = parse_qs(body.decode(errors="replace"))
        if not from_own_form(request, fields.get("form_token", [""])[0], self._token):
            raise HTTPException(403, "this form was not sent by this page")
        if fields.get("confirmed") != ["yes"]:
            raise InvalidInputError("nothing was forgotten: the box that confirms it was not ticked")
        return await asyncio.to_thread(self._forget, request, fields)

    def _forget(self, request: Request, fields: Mapping[str, list[str]]) -> Response:
        asked = self._asked(request)
        positions = forgetting.positions_of(fields.get("position", []))
        return self._shown("forgotten", forgetting.forgetting(self._memory, asked, positions), asked)

    def _check_writable(self) -> None:
        if not self._writable:
            raise HTTPException(403, "this page only reads: start it with --write to forget")

    def _asked(self, request: Request) -> PageRequest:
        query = dict(request.query_params)
        scope = scope_of(request.path_params["key"])
        return PageRequest(self._reading, scope, moment_of(query.get("at", "")), query)

    def _shown(self, name: str, values: Mapping[str, Any], asked: PageRequest | None, status: int = 200) -> Response:
        page = {"here": name, "request": asked, "store": self._memory.url, "writable": self._writable}
        return HTMLResponse(_templates().get_template(f"{name}.html.jinja").render(page, **values), status)

    def failed(self, request: Request, error: Exception) -> Response:
        """A failure of the memory, told to who looks."""
        status = HTTPStatus.INTERNAL_SERVER_ERROR
        if isinstance(error, InvalidInputError):
            status = HTTPStatus.BAD_REQUEST
        elif isinstance(error, StoreUnavailableError):
            status = HTTPStatus.SERVICE_UNAVAILABLE
        return self._shown("error", {"status": status, "problem": str(error)}, self._owner_of(request), status)

    def _owner_of(self, request: Request) -> PageRequest | None:
        """The same owner as of now, for the way back."""
        try:
            scope = scope_of(request.path_params.get("key", ""))
        except InvalidInputError:
            return None
        return PageRequest(self._reading, scope, None, {})

    def refused(self, _: Request, error: Exception) -> Response:
        """An address that is none, or a verb that is not allowed."""
        status = HTTPStatus(error.status_code) if isinstance(error, HTTPException) else HTTPStatus.BAD_REQUEST
        problem = error.detail if isinstance(error, HTTPException) else str(error)
        return self._shown("error", {"status": status, "problem": problem}, None, status)

    def broken(self, _: Request, error: Exception) -> Response:
        """A defect: this answer is given outside of the guard, so it brings its own headers."""
        _log.error("a page of the inspector failed", exc_info=error)
        problem = f"{type(error).__name__}: this should not have happened, and the process has logged it"
        answer = self._shown("error", {"status": HTTPStatus.INTERNAL_SERVER_ERROR, "problem": problem}, None, 500)
        answer.headers.update(HEADERS)
        return answer
