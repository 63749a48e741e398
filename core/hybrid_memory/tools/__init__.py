"""Tools with which a model uses a memory: framework-free, for agents, tool servers and the paging loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.tools.files import FILE
from hybrid_memory.tools.notes import FORGET, REMEMBER, SHARE, UPDATE
from hybrid_memory.tools.reading import FETCH, PROFILE, RECALL, WHY
from hybrid_memory.tools.tool import MAX_TOKENS, Answer, MemoryTool
from hybrid_memory.validation import shown

MEMORY_TOOLS = (REMEMBER, RECALL, UPDATE, FORGET, FETCH)
"""The tools that an agent has by default."""

SERVER_TOOLS = (*MEMORY_TOOLS, WHY, PROFILE, SHARE, FILE)
"""All tools: also those that explain, show the profile, share, and provide the memory as files."""

__all__ = ["FETCH", "FILE", "MAX_TOKENS", "MEMORY_TOOLS", "SERVER_TOOLS", "Answer", "MemoryTool", "tools_named"]


def tools_named(names: Iterable[str] | None, among: Sequence[MemoryTool] = MEMORY_TOOLS) -> list[MemoryTool]:
    """The tools with these names, in this order; None names all except ``memory_file``.

    Raises:
        InvalidInputError: there is no tool of that name.
    """
    if names is None:
        return list(among)
    tools = {tool.name: tool for tool in ((*among, FILE) if among is MEMORY_TOOLS else among)}
    chosen = {names} if isinstance(names, str) else set(names)
    for name in chosen - tools.keys():
        raise InvalidInputError(f"unknown memory tool {shown(name)}: choose from {', '.join(tools)}")
    return [tool for name, tool in tools.items() if name in chosen]
