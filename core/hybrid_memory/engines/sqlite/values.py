"""Instants and owners as the file stores them."""

from __future__ import annotations

from functools import lru_cache

from hybrid_memory.scope import Scope


def owner_key(scope: Scope) -> tuple[str, str, str, str]:
    """Tenant, user, agent and space; empty where there is none."""
    return (scope.tenant or "", scope.user or "", scope.agent or "", scope.space or "")


@lru_cache(maxsize=4096)
def owner_scope(tenant: str, user: str, agent: str, space: str, session: str = "") -> Scope:
    """The scope behind the stored strings."""
    return Scope(tenant or None, user or None, agent or None, session or None, space or None)
