"""Who may see the page, and that nothing on it is hidden from who does."""

from __future__ import annotations

import hashlib
import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as ASGIScope

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})

HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}

UNKNOWN = "401: this page needs the token of its session. Open the link that hybrid-memory inspect printed.\n"
ELSEWHERE = "400: this page is served to this machine alone. Open it as http://127.0.0.1.\n"


class Guard:
    """Lets a request through to the page if it is local and has the token; every answer gets `HEADERS`.

    Args:
        page: what is guarded.
        token: that a request must have: in the query once, then in a cookie; or as a bearer token.
    """

    def __init__(self, page: ASGIApp, *, token: str) -> None:
        self._page = page
        self._token = token

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Answer, or let the page answer."""
        if scope["type"] != "http":
            await self._page(scope, receive, send)
            return

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer = self._refusal(scope) or self._page
        await answer(scope, receive, sealed)

    def _refusal(self, scope: ASGIScope) -> Response | None:
        headers = Headers(scope=scope)
        host, _, port = headers.get("host", "").rpartition(":")
        if not port.isdecimal():
            host, port = headers.get("host", ""), "80"
        if host.lower() not in LOOPBACK:
            return PlainTextResponse(ELSEWHERE, 400)
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        cookie = f"hybrid-memory-inspector-{port}"
        if given and scope["method"] == "GET" and self._fits(given[0]):
            return self._admission(scope, cookie, [pair for pair in query if pair[0] != "token"])
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        if (kind.lower() == "bearer" and self._fits(bearer.strip())) or self._fits(_cookie(headers, cookie)):
            return None
        return PlainTextResponse(UNKNOWN, 401, headers={"www-authenticate": "Bearer"})

    def _admission(self, scope: ASGIScope, cookie: str, query: list[tuple[str, str]]) -> Response:
        """To the same page by an address that does not show the token, for it stays in the history."""
        path = scope.get("raw_path") or scope["path"].encode()
        rest = f"?{urlencode(query)}" if query else ""
        # Two slashes, or what a browser takes for them, would name another host.
        clean = path.decode("latin-1").lstrip("/\\")
        answer = RedirectResponse(f"/{clean}{rest}", 303)
        answer.set_cookie(cookie, self._token, httponly=True, samesite="strict", path="/")
        return answer

    def _fits(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(errors="replace"), self._token.encode())


def _cookie(headers: Headers, name: str) -> str:
    try:
        result = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return "" if result is None else result.value


def form_token(token: str) -> str:
    """What a form of the page carries, to tell it from one of another page."""
    return hmac.new(token.encode(), b"form", hashlib.sha256).hexdigest()


def from_own_form(request: Request, given: str, token: str) -> bool:
    """Whether a form was sent by this page."""
    origin = request.headers.get("origin")
    # A page that gives no referrer has the origin null, as others have that hide theirs; browsers say which it is.
    own = request.headers.get("sec-fetch-site") == "same-origin" if origin == "null" else True
    if not own or origin not in {None, "null", f"http://{request.headers['host']}"}:
        return False
    return hmac.compare_digest(given.encode(errors="replace"), form_token(token).encode())
