"""Memory for LLM agents: a durable log, hybrid recall that explains itself, and one API for every framework.

Names are imported when they are first used, so that the import itself stays fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_memory.sockets import on_first_use

if TYPE_CHECKING:
    from hybrid_memory.config import (
        CompactionConfig,
        LearningConfig,
        MemoryConfig,
        PagingConfig,
        RecallConfig,
        RetentionConfig,
        Weights,
    )
    from hybrid_memory.context.context import Context
    from hybrid_memory.context.layout import Host, Reader
    from hybrid_memory.context.shortening import Condensed
    from hybrid_memory.context.summary import Line, Section, Summary
    from hybrid_memory.documents.document import Block
    from hybrid_memory.facts.fact import Category, Explanation, Fact, Facts, FactState
    from hybrid_memory.facts.profile import ProfileEntry, UserProfile
    from hybrid_memory.index.record import Record, RecordKind
    from hybrid_memory.log.event import Event, EventKind, Tier
    from hybrid_memory.log.message import Message, Origin, Role, ToolCall
    from hybrid_memory.log.port import Receipt
    from hybrid_memory.memory import HybridMemory, ScopedMemory, SpaceMemory
    from hybrid_memory.memory.opening import aopen_memory, check_store, open_memory
    from hybrid_memory.memory.store import Stats
    from hybrid_memory.recall.hit import Hit, Hits, Signals
    from hybrid_memory.recall.plan import Intent
    from hybrid_memory.runtime.tasks import Task
    from hybrid_memory.scope import Scope
    from hybrid_memory.sharing import Right
    from hybrid_memory.store.remember import as_messages
    from hybrid_memory.telemetry import observe

__version__ = "0.11.0"


_NAMES = {
    "config": "CompactionConfig LearningConfig MemoryConfig PagingConfig RecallConfig RetentionConfig Weights",
    "context.context": "Context",
    "context.layout": "Host Reader",
    "context.shortening": "Condensed",
    "context.summary": "Line Section Summary",
    "documents.document": "Block",
    "facts.fact": "Category Explanation Fact FactState Facts",
    "facts.profile": "ProfileEntry UserProfile",
    "index.record": "Record RecordKind",
    "log.event": "Event EventKind Tier",
    "log.message": "Message Origin Role ToolCall",
    "log.port": "Receipt",
    "memory": "HybridMemory ScopedMemory SpaceMemory",
    "memory.opening": "check_store aopen_memory open_memory",
    "memory.store": "Stats",
    "recall.hit": "Hit Hits Signals",
    "recall.plan": "Intent",
    "runtime.tasks": "Task",
    "scope": "Scope",
    "sharing": "Right",
    "store.remember": "as_messages",
    "telemetry": "observe",
}
"""The names that each module has, by the module."""

__all__ = [
    "Block", "Category", "CompactionConfig", "Condensed", "Context", "Event", "EventKind", "Explanation", "Fact",
    "FactState", "Facts", "Hit", "Hits", "Host", "HybridMemory", "Intent", "LearningConfig", "Line", "MemoryConfig",
    "Message", "Origin", "PagingConfig", "ProfileEntry", "Reader", "RecallConfig", "Receipt", "Record", "RecordKind",
    "RetentionConfig", "Right", "Role", "Scope", "ScopedMemory", "Section", "Signals", "SpaceMemory", "Stats",
    "Summary", "Task", "Tier", "ToolCall", "UserProfile", "Weights", "__version__", "aopen_memory", "as_messages",
    "check_store", "observe", "open_memory",
]  # fmt: skip


if not TYPE_CHECKING:  # type checkers know the names above, and no others
    __getattr__ = on_first_use(__name__, {f"{__name__}.{module}": names for module, names in _NAMES.items()})


def __dir__() -> list[str]:
    return sorted(__all__)
