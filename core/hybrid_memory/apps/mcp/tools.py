"""The tools of a memory as the protocol has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.mcpserver.exceptions import UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, TextContent, ToolAnnotations

from hybrid_memory.errors import HybridMemoryError, InvalidInputError
from hybrid_memory.memory import ScopedMemory
from hybrid_memory.tools import SERVER_TOOLS, Answer, MemoryTool
from hybrid_memory.validation import shown

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
DESTROYS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)

KINDS: Mapping[str, ToolAnnotations] = {
    "memory_remember": ADDS,  # what is known already is not written again
    "memory_recall": READS,
    "memory_update": CHANGES,  # the history keeps the old words
    "memory_forget": DESTROYS,
    "memory_expand": READS,
    "memory_fetch": READS,
    "memory_why": READS,
    "memory_profile": READS,
    "memory_share": ADDS,
}
"""What a host may tell its user, or ask them, before it calls a tool."""


class BoundTool(Tool):
    """A tool that checks its arguments itself, so that what is wrong is told in one line of our own."""

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        """What a client is answered; of what should not happen it learns nothing but that, and the log all of it."""
        try:
            return await self.fn(arguments)
        except Exception as error:
            raise UnexpectedToolError(f"Error: {self.name} failed") from error


def bound_tools(memory: ScopedMemory, spaces: tuple[str, ...]) -> list[Tool]:
    """All tools on one owner's memory, and on the spaces that this owner may use."""
    return [_bound(tool, memory, spaces) for tool in SERVER_TOOLS]


def _bound(tool: MemoryTool, memory: ScopedMemory, spaces: tuple[str, ...]) -> Tool:
    async def call(arguments: dict[str, Any]) -> CallToolResult:
        try:
            answer = await _answer(tool, memory, arguments, spaces)
        except HybridMemoryError as error:
            answer = Answer(f"Error: {error}", failed=True)
        return CallToolResult(content=[TextContent(type="text", text=answer.text)], is_error=answer.failed)

    made = BoundTool.from_function(
        call,
        name=tool.name,
        description=tool.description,
        annotations=KINDS[tool.name],
        structured_output=False,
    )
    made.parameters = _schema(tool)
    return made


async def _answer(
    tool: MemoryTool, memory: ScopedMemory, arguments: Mapping[str, Any], spaces: tuple[str, ...]
) -> Answer:
    known = tool.arguments.model_fields
    # Left out silently, a model that names a user would believe that this is whose memory it has read.
    if other := sorted(arguments.keys() - known):
        raise InvalidInputError(f"{tool.name} takes no {shown(other[0])}, only {', '.join(known)}")
    return await tool.arun(memory, arguments, spaces=spaces)


def _schema(tool: MemoryTool) -> dict[str, Any]:
    """What the arguments are, without the titles that pydantic gives: hosts show models all of it."""
    whole = tool.arguments.model_json_schema()
    parts = {
        name: {key: of for key, of in part.items() if key != "title"} for name, part in whole["properties"].items()
    }
    return {
        "type": "object",
        "properties": parts,
        "required": whole.get("required", []),
        "additionalProperties": False,
    }
