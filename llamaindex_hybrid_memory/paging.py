"""MemGPT paging: prompts for a model that manages its own memory, and what its tools know about them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from hybrid_memory import Context, PagingConfig, Role, Scope, ScopedMemory
from hybrid_memory.adapters import LruCache, Runner
from hybrid_memory_paging import MEMORY

READER = "fetch"
"""The function that reads the text behind a handle."""

LEAST_PAGED = 450
"""The smallest budget in which instructions and full blocks leave a quarter to the conversation."""

SESSIONS = 1000
"""How many sessions this process remembers, with what their models saw."""

_shown: LruCache[tuple[str, Scope], Mapping[str, Any]] = LruCache(SESSIONS)


async def assembled(
    run: Runner, memory: ScopedMemory, query: str | None, config: PagingConfig, url: str, **asked: Any
) -> Context:
    """The prompt with instructions and blocks, for a model that pages its own memory.

    The session's tools find by the URL what the model saw.
    """
    blocks = await run.call(memory.blocks)
    layout: dict[str, Any] = {"instructions": MEMORY, "blocks": blocks, "layout": "queue", "paging": config}
    context = await run.call(memory.assemble, query, **layout, **asked)
    revisions = {label: block.revision for label, block in blocks.items()}
    # The user turns at the end, where texts of the memory appear as user messages too.
    last = takewhile(lambda message: message.role is Role.USER, reversed(context.messages))
    asking = tuple(message.id for message in last if message.id and "event" not in message.extra)
    _shown.put((url, memory.scope), {"blocks": revisions, "because": asking})
    return context


def shown_to(url: str, session: Scope) -> Mapping[str, Any]:
    """What is known about a call by a session's model, as fields of `hybrid_memory.tools.tool.Call`.

    The revisions of the blocks it saw last, and the turns it answers; empty if its prompt came from another process.
    """
    return _shown.get((url, session)) or {}
