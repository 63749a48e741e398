"""The tool by which an agent's model reads what its prompt has no room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.tools import BaseTool

from hybrid_memory.context.request import Reader
from hybrid_memory.tools.reading import FETCH
from langchain_hybrid_memory.agents.calls import Calls
from langchain_hybrid_memory.agents.models import can_call
from langchain_hybrid_memory.agents.prompts import Prompts
from langchain_hybrid_memory.agents.tools import OURS, as_langchain


class Reading:
    """A reader that is bound to the calls of a model whose prompt names it.

    Args:
        calls: whose memory the tool reads.
    """

    def __init__(self, calls: Calls) -> None:
        self.tool: BaseTool = as_langchain(FETCH, calls)

    def reader(self, tools: Sequence[Any], model: Any, prompts: Prompts) -> Reader | None:
        """The reader that a prompt may name: one that is bound to this call anyway, else our own; None for neither."""
        for tool in tools:
            if (getattr(tool, "metadata", None) or {}).get(OURS) == FETCH.name:
                return Reader(tool.name)
        names = {getattr(tool, "name", None) for tool in tools}
        if not can_call(model) or self.tool.name in names:
            return None
        (schema,) = prompts.schemas([self.tool])
        return Reader(self.tool.name, schema)

    def bound(self, tools: Sequence[Any], name: str) -> list[Any]:
        """The tools of a call whose prompt names this reader; empty for none."""
        own = name == self.tool.name and all(getattr(tool, "name", None) != name for tool in tools)
        return [*tools, self.tool] if own else list(tools)
