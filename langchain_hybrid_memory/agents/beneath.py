"""Agents inside the tools of other agents: each works in a thread beneath that of the one that called it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from hybrid_memory import HybridMemory, ScopedMemory

MAX_NAME_CHARS = 400
"""Of a thread; longer chains of agents share the last thread of this length."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The agent whose tool is running.

    Attributes:
        memory: that it has.
        root: the session that the run names; agents inside the tool find it in their configuration too.
        session: its own; ``thread`` that of an agent inside the tool.
    """

    memory: HybridMemory
    root: str
    session: str
    thread: str


_CALLER: ContextVar[Caller | None] = ContextVar("hybrid_memory_caller", default=None)


def caller_of(memory: HybridMemory, scoped: ScopedMemory) -> Caller | None:
    """The agent in whose tool this code runs, if it has the same memory and the run names the same session."""
    caller = _CALLER.get()
    same = caller is not None and caller.memory is memory and caller.root == scoped.scope.session
    return caller if same else None


def in_session(memory: HybridMemory, scoped: ScopedMemory, session: str) -> ScopedMemory:
    """The memory of the same owner in this session."""
    scope = scoped.scope
    return memory.scoped(tenant=scope.tenant, user=scope.user, agent=scope.agent, session=session)


@contextmanager
def calling(memory: HybridMemory, root: str, session: str, call: Mapping[str, Any]) -> Iterator[None]:
    """Within it runs a tool that the agent of this session called."""
    thread = f"{session}/{call['name']}:{call['id']}"[:MAX_NAME_CHARS]
    token = _CALLER.set(Caller(memory, root, session, thread))
    try:
        yield
    finally:
        _CALLER.reset(token)
