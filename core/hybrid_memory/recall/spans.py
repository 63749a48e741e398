"""The attributes of a recall's span."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_memory.log.event import Tier
from hybrid_memory.recall.hit import Hit
from hybrid_memory.runtime.tracing import Span
from hybrid_memory.scope import Scope


def asks(span: Span, query: str, k: int, scope: Scope) -> None:
    """Set the attributes known at the beginning."""
    span.attributes |= {"k": k, "tier": Tier.SEMANTIC.value, "cached": False}
    span.content |= {"query": query, "scope": scope}


def finds(span: Span, hits: Sequence[Hit]) -> None:
    """Set the attributes known at the end."""
    best = {"top_score": max(hit.score for hit in hits)} if hits else {}
    span.attributes |= {"count": len(hits), **best}
    span.content["hits"] = hits
