"""What of a memory a host can read without a model: the profile, the summary and the blocks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from hybrid_memory.blocks.block import Block
from hybrid_memory.errors import HybridMemoryError
from hybrid_memory.memory import ScopedMemory

MARKDOWN, TEXT = "text/markdown", "text/plain"


def add_resources(server: MCPServer, memory: ScopedMemory) -> None:
    """Give the server the resources of one owner's memory."""

    @server.resource(
        "memory://profile", name="profile", title="Profile", description="What is known of the user.", mime_type=TEXT
    )
    async def profile() -> str:
        async with _told():
            return (await memory.aprofile()).text or "Nothing is known of the user yet."

    @server.resource(
        "memory://summary",
        name="summary",
        title="Summary",
        description="What stands for the turns of the conversation that no longer fit a prompt.",
        mime_type=TEXT,
    )
    async def summary() -> str:
        async with _told():
            return (await memory.asummary()).text or "Nothing was summarised yet."

    @server.resource(
        "memory://blocks",
        name="blocks",
        title="Blocks",
        description="Working context: the labelled texts that stand in every prompt.",
        mime_type=MARKDOWN,
    )
    async def blocks() -> str:
        async with _told():
            there = await memory.ablocks()
            return "\n\n".join(_written(block) for block in there.values()) or "There are no blocks yet."

    @server.resource(
        "memory://blocks/{label}", name="block", title="Block", description="One of the blocks.", mime_type=TEXT
    )
    async def block(label: str) -> str:
        async with _told():
            there = await memory.ablocks()
            if label not in there:
                known = ", ".join(there) or "none yet"
                raise ResourceNotFoundError(f"no block has this label; there are: {known}")
            return there[label].value


def _written(block: Block) -> str:
    about = f"{block.description}\n\n" if block.description else ""
    return f"## {block.label}\n\n{about}{block.value or '(empty)'}"


@asynccontextmanager
async def _told() -> AsyncIterator[None]:
    """What this library raises, as an error of the protocol with the same words."""
    try:
        yield
    except HybridMemoryError as error:
        raise ResourceError(str(error)) from error
