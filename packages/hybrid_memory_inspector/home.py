"""The front page: the owners, and the figures of the store."""

from __future__ import annotations

from typing import Any

from hybrid_memory import HybridMemory, Scope
from hybrid_memory_inspector.reading import key_of

OWNERS = 100
"""Listed at once; the others are found by name."""


def overview(memory: HybridMemory, query: dict[str, str]) -> dict[str, Any]:
    """The owners whose name contains the query, those with the newest events first."""
    words = query.get("q", "").strip()
    heads = memory.heads()
    owners = [owner for owner in memory.owners() if words.lower() in str(owner).lower()]
    owners.sort(key=lambda owner: -heads.get(owner, 0))
    return {
        "q": words,
        "more": max(len(owners) - OWNERS, 0),
        "owners": [_row(memory, owner) for owner in owners[:OWNERS]],
        "stats": memory.stats(),
    }


def _row(memory: HybridMemory, owner: Scope) -> dict[str, Any]:
    scoped = memory.for_scope(owner)
    newest = scoped.events(limit=1)
    return {
        "scope": owner,
        "key": key_of(owner),
        "last": newest[0].at if newest else None,
    }
