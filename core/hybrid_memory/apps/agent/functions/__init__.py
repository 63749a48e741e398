"""The functions by which a model manages its own memory, as MemGPT names them (arXiv 2310.08560)."""

from __future__ import annotations

from collections.abc import Iterable

from hybrid_memory.apps.agent.functions.archive import ARCHIVE, SEARCH_ARCHIVE
from hybrid_memory.apps.agent.functions.conversation import EXPAND, FETCH, SEARCH, SEARCH_DATE
from hybrid_memory.apps.agent.functions.core import APPEND, REPLACE, RETHINK
from hybrid_memory.apps.agent.functions.sending import SEND
from hybrid_memory.tools import MemoryTool, tools_named

PAGING_FUNCTIONS = (
    APPEND, REPLACE, RETHINK, ARCHIVE, SEARCH_ARCHIVE, SEARCH, SEARCH_DATE, EXPAND, FETCH, SEND
)  # fmt: skip
"""All of them."""

__all__ = ["FETCH", "PAGING_FUNCTIONS", "SEND", "functions_named"]


def functions_named(names: Iterable[str] | None) -> list[MemoryTool]:
    """The functions with these names, in the order of `PAGING_FUNCTIONS`; None names all.

    Raises:
        InvalidInputError: one of them is no function's name.
    """
    return tools_named(names, PAGING_FUNCTIONS)
