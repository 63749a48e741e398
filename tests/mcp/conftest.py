import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

Said = Callable[..., Awaitable[tuple[bool, str]]]

HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
RUN = "from hybrid_memory.apps.cli.app import mcp; import typer; typer.run(mcp)"


@pytest.fixture
def said() -> Said:
    """Calls a tool: whether it failed, and what it answered."""

    async def call(client: Client, tool: str, **arguments: Any) -> tuple[bool, str]:
        result = await client.call_tool(f"memory_{tool}", arguments)
        (content,) = result.content
        assert content.type == "text"
        return bool(result.is_error), content.text

    return call


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """A file of settings: a store that needs no weights, and in which nothing is learned at moments of its own."""
    path = tmp_path / "memory.yaml"
    path.write_text(
        f"url: sqlite:///{tmp_path / 'memory.db'}\nembedder: hashing\npower_safe: false\n"
        "learning: {background: false}\norchestration: {background: false}\n"
    )
    return path


@pytest.fixture
def command(settings: Path) -> Callable[..., StdioServerParameters]:
    """How a host starts the server, with these options, as a process of its own."""

    def parameters(*options: str) -> StdioServerParameters:
        return StdioServerParameters(command=sys.executable, args=["-c", RUN, str(settings), *options])

    return parameters
