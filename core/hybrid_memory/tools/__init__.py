"""Tools by which a model uses a memory itself: framework-free, for agents, tool servers and the paging loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.tools.files import FILE
from hybrid_memory.tools.knowing import PROFILE, SHARE, WHY
from hybrid_memory.tools.notes import FORGET, REMEMBER, UPDATE
from hybrid_memory.tools.reading import EXPAND, FETCH, RECALL
from hybrid_memory.tools.tool import MAX_TOKENS, Answer, MemoryTool
from hybrid_memory.validation import shown

MEMORY_TOOLS = (REMEMBER, RECALL, UPDATE, FORGET, EXPAND, FETCH)
"""What an agent has by default."""

SERVER_TOOLS = (*MEMORY_TOOLS, WHY, PROFILE, SHARE, FILE)
"""All of them: also what asks where knowledge comes from, what shares it, and the memory as files."""

__all__ = ["FETCH", "FILE", "MAX_TOKENS", "MEMORY_TOOLS", "SERVER_TOOLS", "Answer", "MemoryTool", "tools_named"]


def tools_named(names: Iterable[str] | None, among: Sequence[MemoryTool] = MEMORY_TOOLS) -> list[MemoryTool]:
    """The tools with these names, in the order in which they are given; None names all, but for ``memory_file``.

    Raises:
        InvalidInputError: one of them is no tool's name.
    """
    every = [tool.name for tool in among]
    among = (*among, FILE) if among is MEMORY_TOOLS else among
    known = {tool.name: tool for tool in among}
    wanted = set(every) if names is None else {names} if isinstance(names, str) else set(names)
    for name in wanted - known.keys():
        raise InvalidInputError(f"unknown memory tool {shown(name)}: choose from {', '.join(known)}")
    return [tool for tool in among if tool.name in wanted]
