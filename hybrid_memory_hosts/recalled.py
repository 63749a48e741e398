"""What a host shows its model of a memory before the user's words, and whose memory a run works on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Any, TypeAlias

from hybrid_memory import ScopedMemory
from hybrid_memory.adapters import TWINS, Portion, estimate_tokens, recollect, shown
from hybrid_memory.errors import InvalidConfigError, ModelError, StoreError

Whose: TypeAlias = ScopedMemory | Callable[[Any], ScopedMemory]
"""A memory, or a function that gives the one for a run, of what the host hands to it as its context."""

PROFILE_RATIO = 0.2
"""Share of the tokens for what was learned of the user."""

_log = logging.getLogger(__name__)


def memory_of(whose: Whose, context: Any) -> ScopedMemory:
    """The memory of a run with this context.

    Raises:
        InvalidConfigError: it is none.
    """
    memory = whose if isinstance(whose, ScopedMemory) or not callable(whose) else whose(context)
    if not isinstance(memory, ScopedMemory):
        raise InvalidConfigError(f"give the memory of an owner, as memory.scoped(user=...), got {shown(memory)}")
    return memory


async def recalled(memory: ScopedMemory, question: str, *, among: Collection[str], k: int, max_tokens: int) -> str:
    """Profile and what is recalled for the user's words, each in a marked place; empty if there is nothing.

    If the store or a model fails, that is logged, and nothing is shown: the agent goes on without memory.

    Args:
        memory: whose.
        question: the user's words.
        among: texts that stand in the prompt anyway.
        k: how many turns are recalled at most.
        max_tokens: of all of it.
    """
    try:
        profile = (await memory.aprofile()).render(int(PROFILE_RATIO * max_tokens), estimate_tokens)
        hits = await recollect(TWINS, memory, question, k=k, shown={text.strip() for text in among})
    except (StoreError, ModelError) as error:
        _log.warning("the agent goes on without memory: %s", error)
        return ""
    return Portion(query=question, profile=profile, hits=hits).within(max_tokens, estimate_tokens).text
