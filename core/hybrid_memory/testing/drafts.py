"""Events for the suite of the log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hybrid_memory.log.event import EventKind
from hybrid_memory.log.port import Draft
from hybrid_memory.scope import Scope

NOON = datetime(2024, 5, 1, 12, 0, 0, 123456, tzinfo=UTC)
ALICE = Scope(user="alice")
OWNERS = [
    ALICE,
    Scope(user="bob"),
    Scope(user="Alice"),
    Scope(user="alice "),
    Scope(tenant="alice"),
    Scope(agent="alice"),
    Scope(tenant="acme", user="alice"),
    Scope(user="alice", agent="coach"),
    Scope(tenant="acme", user="alice", agent="coach"),
    Scope(space="alice"),
    Scope(tenant="acme", space="alice"),
    Scope(user="caf\u00e9"),
    Scope(user="cafe\u0301"),
]
"""Owners that a careless engine would mix up."""


def draft(number: int, *, session: str | None = None, fixed: bool = True, **fields: Any) -> Draft:
    """A draft with the id ``e<number>``, said that many minutes after noon."""
    values: dict[str, Any] = {"at": NOON + timedelta(minutes=number), "payload": {"content": f"text {number}"}}
    values["kind"] = EventKind.MESSAGE
    return Draft(id=f"e{number}", fixed_id=fixed, session=session, **{**values, **fields})
