"""The start page: whose memory there is, what the store holds, and what was worked."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from hybrid_memory.apps.inspector.reading import key_of, services_of
from hybrid_memory.memory import HybridMemory

OWNERS = 50
"""On one page; each is counted."""


def overview(memory: HybridMemory, query: dict[str, str]) -> dict[str, Any]:
    """The owners whose name holds what is looked for, with how much there is of each; and the figures of the store."""
    wanted = query.get("q", "").strip()
    owners = [owner for owner in memory.owners() if wanted.lower() in str(owner).lower()]
    text = query.get("page", "")
    page = min(int(text) if text.isdecimal() and len(text) < 10 else 1, len(owners) // OWNERS + 1)  # noqa: PLR2004
    chosen = owners[(max(page, 1) - 1) * OWNERS : max(page, 1) * OWNERS]
    services = services_of(memory)
    work = memory.work
    return {
        "q": wanted,
        "page": max(page, 1),
        "pages": max(1, -(-len(owners) // OWNERS)),
        "found": len(owners),
        "owners": [
            {
                "scope": owner,
                "key": key_of(owner),
                "events": services.log.count(owner),
                "head": services.log.heads(owner),
            }
            for owner in chosen
        ],
        "stats": memory.stats(),
        "kinds": [(kind, asdict(figures)) for kind, figures in sorted(work.kinds.items())],
        "caches": sorted(work.caches.items()),
        "work": work,
    }
