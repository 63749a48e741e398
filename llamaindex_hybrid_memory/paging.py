"""MemGPT paging: prompts for a model that manages its own memory, and what its tools know about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from hybrid_memory import Context, Message, PagingConfig, Role, Scope, ScopedMemory
from hybrid_memory.adapters import LruCache, Runner
from hybrid_memory.errors import InvalidConfigError
from hybrid_memory_paging import MEMORY

READER = "fetch"
"""The function that reads the text behind a handle."""

LEAST_PAGED = 450
"""The smallest budget in which instructions and full blocks leave a quarter to the conversation."""

SESSIONS = 1000
"""How many sessions this process remembers, with what their models saw."""

_shown: LruCache[tuple[str, Scope], Mapping[str, Any]] = LruCache(SESSIONS)


def settings(paging: bool | PagingConfig, *, k: int | None, token_limit: Any, profile: str | None) -> dict[str, Any]:
    """The fields of a chat memory; raises `InvalidConfigError` if the budget is too small for paging."""
    config = PagingConfig() if paging is True else None if paging is False else paging
    given = {"k": k, "token_limit": token_limit, "profile": profile, "paging": config}
    if config is None:
        return given
    if isinstance(token_limit, int) and token_limit < LEAST_PAGED:
        raise InvalidConfigError(f"paging needs a token_limit of at least {LEAST_PAGED}, got {token_limit}")
    return {**given, "k": 0 if k is None else k}


async def assembled(
    run: Runner, memory: ScopedMemory, query: str | None, config: PagingConfig, url: str, **asked: Any
) -> Context:
    """The prompt with instructions and blocks, for a model that pages its own memory.

    The session's tools find by the URL what the model saw.
    """
    blocks = await run.call(memory.blocks)
    context = await run.call(
        memory.assemble,
        query,
        instructions=MEMORY,
        blocks=blocks,
        layout="queue",
        paging=config,
        **asked,
    )
    revisions = {label: block.revision for label, block in blocks.items()}
    _shown.put((url, memory.scope), {"blocks": revisions, "because": _asking(context.messages)})
    return context


def shown_to(url: str, session: Scope) -> Mapping[str, Any]:
    """What is known about a call by a session's model, as fields of `hybrid_memory.tools.tool.Call`.

    The revisions of the blocks it saw last, and the turns it answers; empty if its prompt came from another process.
    """
    return _shown.get((url, session)) or {}


def _asking(messages: Sequence[Message]) -> tuple[str, ...]:
    """The ids of the user turns at the end; texts of the memory appear there as user messages too."""
    last = takewhile(lambda message: message.role is Role.USER, reversed(messages))
    return tuple(message.id for message in last if message.id and "event" not in message.extra)
