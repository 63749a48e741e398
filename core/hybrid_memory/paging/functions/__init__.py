"""The functions by which a model manages its own memory, as MemGPT names them (arXiv 2310.08560)."""

from __future__ import annotations

from collections.abc import Iterable

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.paging.functions.archive import ARCHIVE, SEARCH_ARCHIVE
from hybrid_memory.paging.functions.conversation import EXPAND, FETCH, SEARCH, SEARCH_DATE
from hybrid_memory.paging.functions.core import APPEND, REPLACE, RETHINK
from hybrid_memory.paging.functions.sending import SEND
from hybrid_memory.tools.tool import MemoryTool
from hybrid_memory.types.validation import shown

PAGING_FUNCTIONS = (
    APPEND, REPLACE, RETHINK, ARCHIVE, SEARCH_ARCHIVE, SEARCH, SEARCH_DATE, EXPAND, FETCH, SEND
)  # fmt: skip
"""All of them."""

__all__ = ["PAGING_FUNCTIONS", "SEND", "functions_named"]


def functions_named(names: Iterable[str] | None) -> list[MemoryTool]:
    """The functions with these names, in the order of `PAGING_FUNCTIONS`; None names all.

    Raises:
        InvalidInputError: one of them is no function's name.
    """
    known = {function.name: function for function in PAGING_FUNCTIONS}
    wanted = set(known) if names is None else {names} if isinstance(names, str) else set(names)
    for name in wanted - known.keys():
        raise InvalidInputError(f"no paging function {shown(name)}: choose from {', '.join(known)}")
    return [function for function in PAGING_FUNCTIONS if function.name in wanted]
