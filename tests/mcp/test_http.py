"""Streamable HTTP: the token, the names that it answers to, and a server that is stopped."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from hybrid_memory import HybridMemory
from hybrid_memory.apps.mcp import application, serve_http, server
from hybrid_memory.errors import InvalidInputError
from tests.mcp.conftest import HELLO, Said
from tests.world import cases

TOKEN = "correct-horse-battery-staple"  # noqa: S105 - of these tests
URL = "http://127.0.0.1:8000/mcp"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
ACCEPTED = {"Accept": "application/json, text/event-stream"}


@asynccontextmanager
async def served(memory: HybridMemory, *hosts: str, **headers: str) -> AsyncIterator[httpx2.AsyncClient]:
    """An HTTP client of the application, without a socket."""
    app = application(memory.scoped(user="alice"), token=TOKEN, hosts=hosts)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), headers={**ACCEPTED, **headers}) as client,
    ):
        yield client


async def test_with_the_token_a_client_remembers_and_recalls(memory: HybridMemory, said: Said) -> None:
    async with served(memory, **BEARER) as http, Client(streamable_http_client(URL, http_client=http)) as client:
        assert len((await client.list_tools()).tools) == 9
        memory.scoped(user="alice", session="s").remember("Please note that I like tea.")
        assert (await said(client, "remember", text="I like tea."))[1].startswith("Remembered as #")
        assert "I like tea." in (await said(client, "recall", query="tea"))[1]


@pytest.mark.parametrize(
    "header", [None, "", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN.upper()}", f"Basic {TOKEN}", TOKEN, "Bearer é"]
)
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_without_the_token_nothing_is_answered(memory: HybridMemory, method: str, header: str | None) -> None:
    headers = [] if header is None else [(b"Authorization", header.encode("latin-1"))]
    async with served(memory) as http:
        answer = await http.request(method, URL, json=HELLO, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert TOKEN not in answer.text
        assert (await http.request(method, URL.removesuffix("mcp"), headers=headers)).status_code == 404


@pytest.mark.parametrize(("headers", "status"), cases("mcp/http.json", "hosts"))
async def test_only_its_own_names_are_answered(memory: HybridMemory, headers: dict[str, str], status: int) -> None:
    async with served(memory, "memory.example.org", **BEARER) as http:
        assert (await http.post(URL, json=HELLO, headers=headers)).status_code == status


@pytest.mark.parametrize("token", ["", "short", "a" * 15, "fifteen and more", "törichter-schlüssel", "a" * 20 + "\n"])
def test_a_weak_token_is_refused(memory: HybridMemory, token: str) -> None:
    with pytest.raises(InvalidInputError, match="the token must have at least 16"):
        server(memory.scoped(user="alice"), token=token)


def test_a_port_that_is_taken_is_told(memory: HybridMemory) -> None:
    ports: list[int] = []

    def try_the_same(url: str, token: str) -> None:
        assert len(token) >= 43
        ports.append(int(url.split(":")[2].split("/", maxsplit=1)[0]))
        with pytest.raises(InvalidInputError, match="cannot listen on 127"):
            serve_http(memory.scoped(user="alice"), port=ports[0])
        raise InterruptedError

    with pytest.raises(InterruptedError):
        serve_http(memory.scoped(user="alice"), ready=try_the_same)
    assert ports[0] > 0
