"""The memories that a host shows its model before the user's words, and the memory of a run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Any, TypeAlias

from hybrid_memory import ScopedMemory
from hybrid_memory.adapters import TWINS, recollect, shown
from hybrid_memory.errors import InvalidConfigError, ModelError, StoreError

Whose: TypeAlias = ScopedMemory | Callable[[Any], ScopedMemory]
"""A memory, or a function that returns the memory of a run, given the run's context."""

_log = logging.getLogger(__name__)


def memory_of(whose: Whose, context: Any) -> ScopedMemory:
    """The memory of a run with this context.

    Raises:
        InvalidConfigError: it is not the memory of an owner.
    """
    memory = whose if isinstance(whose, ScopedMemory) or not callable(whose) else whose(context)
    if not isinstance(memory, ScopedMemory):
        raise InvalidConfigError(f"give the memory of an owner, as memory.scoped(user=...), got {shown(memory)}")
    return memory


async def recalled(memory: ScopedMemory, question: str, *, among: Collection[str], k: int, max_tokens: int) -> str:
    """What the memory shows before the user's words, each part in a marked place; empty if there is nothing.

    If the store or a model fails, it logs a warning and returns nothing: the agent continues without memory.

    Args:
        memory: the memory of an owner.
        question: the user's words.
        among: texts that are in the prompt already.
        k: how many turns to recall.
        max_tokens: the budget of everything returned.
    """
    try:
        portion = await recollect(TWINS, memory, question, k=k, shown=among, max_tokens=max_tokens)
    except (StoreError, ModelError) as error:
        _log.warning("the agent continues without memory: %s", error)
        return ""
    return portion.within(max_tokens).text
