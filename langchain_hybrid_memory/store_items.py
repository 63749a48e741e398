"""The items of `HybridMemoryStore` for a recall, in a namespace that may contain the run's user, agent or session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybrid_memory import HybridMemory, Scope
from hybrid_memory.errors import InvalidScopeError
from langchain_hybrid_memory.store import AGENT, namespace

_PARTS = {"{user_id}": "user", "{agent_id}": "agent", "{session_id}": "session"}
"""Labels that are replaced by a part of the scope."""


def items_of(memory: HybridMemory, labels: Sequence[str], scope: Scope) -> Any:
    """The items under these labels, for `ScopedMemory.recall`; raises `InvalidScopeError` if a label has no value."""
    return memory.items(AGENT, tenant=scope.tenant).under(*(_label(label, scope) for label in labels))


def _label(label: str, scope: Scope) -> str:
    part = _PARTS.get(label)
    if part is None:
        return label
    name = getattr(scope, part)
    if name is None:
        raise InvalidScopeError(f"{label} in items needs the {part}, but neither the retriever nor the run names one")
    return namespace("-", name)[1]
