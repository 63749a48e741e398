"""The server in the client's own process: what a client is offered, told, and kept from."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from mcp import Client

from hybrid_memory import HybridMemory, ScopedMemory
from hybrid_memory.apps.mcp import server
from hybrid_memory.apps.mcp.server import KINDS
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.tools import SERVER_TOOLS
from tests.mcp.conftest import Said

SECRET = "The vault code is 4711"  # noqa: S105 - nobody's


async def test_all_tools_are_offered_with_schemas_and_hints_and_no_argument_names_an_owner(
    memory: HybridMemory,
) -> None:
    async with Client(server(memory.scoped(user="alice"))) as client:
        offered = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(offered) == [tool.name for tool in SERVER_TOOLS]
    assert offered.keys() == KINDS.keys()
    for name, tool in offered.items():
        Draft202012Validator.check_schema(tool.input_schema)
        assert tool.input_schema["additionalProperties"] is False
        assert all(part["description"] for part in tool.input_schema["properties"].values()), name
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.open_world_hint is False
    named = {part for tool in offered.values() for part in tool.input_schema["properties"]}
    assert not named & {"user", "tenant", "agent", "session", "scope", "owner", "id", "ids", "url", "store"}
    hints = {name.removeprefix("memory_"): tool.annotations for name, tool in offered.items() if tool.annotations}
    assert {name for name, hint in hints.items() if hint.read_only_hint} == {"recall", "fetch", "why", "profile"}
    assert [name for name, hint in hints.items() if hint.destructive_hint] == ["forget"]


@pytest.mark.parametrize("part", ["user", "tenant", "agent", "session", "spaces", "scope", "memory", "call"])
async def test_an_argument_that_is_none_is_refused(memory: HybridMemory, said: Said, part: str) -> None:
    memory.scoped(user="bob").remember(SECRET)
    async with Client(server(memory.scoped(user="alice"))) as client:
        failed, text = await said(client, "recall", query="vault code", **{part: "bob"})
    assert failed
    assert text == f"Error: memory_recall has no argument '{part}', only query, k, since, until, min_confidence"


@pytest.mark.parametrize("written", ["#{0}", "{0}", "[#{0}]", "#1-{0}", "#{0}-{0}", "# {0}", "{1}", "#{1}", "-{0}"])
async def test_handles_and_ids_of_another_owner_lead_nowhere(memory: HybridMemory, said: Said, written: str) -> None:
    receipt = memory.scoped(user="bob", session="s1").remember(SECRET)
    about = written.format(receipt.positions[0], receipt.ids[0])
    memory.scoped(user="alice").remember("I like tea.")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("fetch", {"handle": about}), ("fetch", {"handle": about, "pattern": "."}),
        ("why", {"about": about}), ("why", {"about": about, "query": "vault code"}),
        ("update", {"handle": about, "text": "The vault code is 1"}), ("forget", {"handles": [about]}),
        ("forget", {"handles": [about], "code": "4f2a1b"}), ("share", {"space": "team", "handle": about}),
    ]  # fmt: skip
    alice = memory.scoped(user="alice")
    alice.space("team").create()
    async with Client(server(memory.scoped(user="alice"), spaces=("team",))) as client:
        for tool, arguments in calls:
            failed, text = await said(client, tool, **arguments)
            assert "4711" not in text, (tool, text)
            assert failed or written == "#1-{0}", (tool, text)
    assert [turn.text for turn in memory.scoped(user="bob").history()] == [SECRET]


async def test_a_handle_that_is_somebodys_and_one_that_is_nobodys_are_told_alike(
    memory: HybridMemory, said: Said
) -> None:
    place = memory.scoped(user="bob").remember(SECRET).positions[0]
    async with Client(server(memory.scoped(user="alice"))) as client:
        _, there = await said(client, "fetch", handle=f"#{place}")
        _, nowhere = await said(client, "fetch", handle="#99999")
        assert there.replace(f"#{place}", "#99999") == nowhere


@pytest.mark.parametrize("name", ["private", "team ", "TEAM", "all", "*", "te%", "team' OR '1'='1"])
async def test_a_space_that_is_not_bound_is_closed_even_to_who_may_read_it(
    memory: HybridMemory, said: Said, name: str
) -> None:
    alice = memory.scoped(user="alice")
    alice.space("team").create()
    place = alice.space("private").create().remember(SECRET).positions[0]
    async with Client(server(memory.scoped(user="alice"), spaces=("team",))) as client:
        failed, text = await said(client, "share", space=name, text="hello")
        assert (failed, "is not open here: choose one of team" in text) == (True, True)
        assert await said(client, "share") == (False, "Shared spaces: team.")
        assert await said(client, "recall", query="vault code") == (False, "Nothing is remembered about that.")
        assert (await said(client, "fetch", handle=f"#{place}"))[0]
    assert len(alice.space("private").history()) == 1


async def test_what_is_not_certain_is_said_to_be_so(memory: HybridMemory, said: Said) -> None:
    memory.scoped(user="alice").remember([SECRET, "My boat lies in Porto.", "It rains.", "The dentist moved to noon."])
    async with Client(server(memory.scoped(user="alice"))) as client:
        answer = await said(client, "recall", query="What is the capital of Mongolia?", min_confidence=0.5)
        assert answer == (False, "Nothing certain is remembered about that.")
        assert "Porto" in (await said(client, "recall", query="Where does my boat lie?", min_confidence=0.5))[1]


async def test_a_closed_memory_is_told_as_a_tool_error(memory: HybridMemory, said: Said) -> None:
    async with Client(server(memory.scoped(user="alice"))) as client:
        memory.close()
        failed, text = await said(client, "recall", query="tea")
        assert (failed, "this memory is closed" in text) == (True, True)


async def test_of_what_should_not_happen_a_client_learns_nothing_and_the_log_all(
    memory: HybridMemory, said: Said, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(ScopedMemory, "arecall", broken)
    async with Client(server(memory.scoped(user="alice"))) as client:
        assert await said(client, "recall", query="tea") == (True, "Error: memory_recall failed")
    assert SECRET in caplog.text


@pytest.mark.parametrize(
    ("owner", "spaces", "problem"),
    [
        ({"tenant": "acme"}, ("team",), "user"),
        ({"user": "alice"}, "team", "spaces must be"),
        ({"user": "alice"}, ("te\x00am",), "NUL"),
    ],
)
def test_spaces_that_cannot_be_opened_are_refused_at_once(
    memory: HybridMemory, owner: dict[str, Any], spaces: Any, problem: str
) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        server(memory.scoped(**owner), spaces=spaces)
