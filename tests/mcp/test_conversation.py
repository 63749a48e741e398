"""Two agents of Alice and one of Bob, each with a server of its own on one store: what docs/mcp.md shows."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from hybrid_memory import HybridMemory, MemoryConfig, open_memory
from hybrid_memory.apps.mcp import Binding, server

Said = Callable[..., Awaitable[tuple[bool, str]]]
GUIDE = Path(__file__).parents[2] / "docs" / "mcp.md"
PAGE = re.compile(r"<!-- conversation -->\n```text\n(.*?)```", re.DOTALL)

CONVERSATION: list[tuple[str, str, dict[str, Any]]] = [
    ("planner", "remember", {"text": "The launch is on Friday 27 November."}),
    ("planner", "share", {}),
    ("planner", "share", {"space": "team", "handle": "#3"}),
    ("coder", "recall", {"query": "When is the launch?"}),
    ("coder", "why", {"about": "#4", "query": "When is the launch?"}),
    ("coder", "update", {"handle": "#4", "text": "The launch is on Monday 30 November."}),
    ("planner", "recall", {"query": "When is the launch?"}),
    ("bob", "recall", {"query": "When is the launch?"}),
    ("bob", "expand", {"handle": "#4"}),
    ("bob", "share", {"space": "team", "text": "The launch is cancelled."}),
]
ON_PROBATION: list[tuple[str, str, dict[str, Any]]] = [
    ("bob", "share", {"space": "team", "text": "The launch is cancelled."}),
    ("coder", "recall", {"query": "Is the launch cancelled?"}),
]


def written(who: str, tool: str, arguments: dict[str, Any], answer: str) -> str:
    given = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    lines = "\n".join(f"    {line}" for line in answer.splitlines())
    return f"{who}: memory_{tool}({given})\n{lines}\n"


def fixed(transcript: str) -> str:
    """Without the day of the run and the ids that it drew."""
    dated = re.sub(r"\[\d{4}-\d\d-\d\d\]", "[2026-11-22]", transcript)
    return re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}", "01a204d3-…", dated)


async def test_two_agents_share_and_a_third_is_kept_out(
    settings: Path, command: Callable[..., StdioServerParameters], said: Said
) -> None:
    with open_memory(MemoryConfig.from_yaml(settings)) as memory:
        team = memory.scoped(user="alice", agent="planner").space("team").create()
        team.grant(user="alice", agent="coder", right="write")
        transcript = await talk(memory, command, said)
        assert [(denial.who, denial.verb) for denial in team.audit()] == [("user='bob'", "recall")]
        assert [event.message.text for event in team.quarantined()] == ["The launch is cancelled."]
        assert "cancelled" not in " ".join(turn.text for turn in team.history())
    (shown,) = PAGE.findall(GUIDE.read_text(encoding="utf-8"))
    assert transcript == shown, "docs/mcp.md shows another conversation: put this one in its place"


async def talk(memory: HybridMemory, command: Callable[..., StdioServerParameters], said: Said) -> str:
    """The conversation as it went: over stdio with a process for each of Alice's agents, a server here for Bob."""
    parts: list[str] = []
    async with AsyncExitStack() as stack:
        servers: dict[str, Any] = {
            "bob": server(memory, Binding(user="bob", spaces=("team",))),
            **{who: command("--user", "alice", "--agent", who, "--space", "team") for who in ("planner", "coder")},
        }
        clients = {who: await stack.enter_async_context(Client(there)) for who, there in servers.items()}

        async def go_on(steps: list[tuple[str, str, dict[str, Any]]]) -> None:
            for who, tool, arguments in steps:
                parts.append(written(who, tool, arguments, (await said(clients[who], tool, **arguments))[1]))

        await go_on(CONVERSATION)
        memory.scoped(user="alice", agent="planner").space("team").grant(user="bob", right="write", trust=0.2)
        parts.append("(Alice lets Bob write in the space, with a trust of 0.2.)\n")
        await go_on(ON_PROBATION)
    return fixed("\n".join(parts))
