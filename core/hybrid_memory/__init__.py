"""Memory for LLM agents: a durable log, hybrid recall that explains itself, and one API for every framework.

Names are imported when they are first used, so that the import itself stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybrid_memory.config import (
        ArchiveConfig,
        CompactionConfig,
        IndexConfig,
        LearningConfig,
        MemoryConfig,
        OrchestrationConfig,
        PagingConfig,
        RecallConfig,
        RedactionConfig,
        RetentionConfig,
    )
    from hybrid_memory.config.memory import Weights
    from hybrid_memory.context.condense import Condensed
    from hybrid_memory.context.context import Context, Piece
    from hybrid_memory.context.explain import Payload
    from hybrid_memory.context.request import Host, Reader
    from hybrid_memory.context.summary import Audit, Line, Section, Summary
    from hybrid_memory.documents.document import Block, File, FileMatch, FileRevision
    from hybrid_memory.facts.fact import Category, Explanation, Fact, Facts, FactScope, FactState
    from hybrid_memory.facts.profile import ProfileEntry, UserProfile
    from hybrid_memory.index.record import Record, RecordKind
    from hybrid_memory.log.event import Event, EventKind, Tier
    from hybrid_memory.log.message import Message, Origin, Role, ToolCall
    from hybrid_memory.log.port import Receipt
    from hybrid_memory.memory import HybridMemory, ScopedMemory, SpaceMemory
    from hybrid_memory.memory.faces import BlockHandle
    from hybrid_memory.memory.files import MemoryFiles
    from hybrid_memory.memory.opening import aopen_memory, check_store, open_memory
    from hybrid_memory.memory.store import Stats
    from hybrid_memory.recall.hit import Hit, Hits, Scored, Signals
    from hybrid_memory.recall.plan import Intent, Plan
    from hybrid_memory.runtime.runners import InlineRunner, Runner, drive
    from hybrid_memory.runtime.statistics import WorkStats
    from hybrid_memory.runtime.tasks import Task
    from hybrid_memory.scope import Scope
    from hybrid_memory.sharing.grant import Denial, Grant, Right
    from hybrid_memory.store.engine import Finding
    from hybrid_memory.store.migrate import Migration
    from hybrid_memory.store.remember import Content, as_messages
    from hybrid_memory.telemetry import observe

__version__ = "0.11.0"


_HOME = {
    "ArchiveConfig": "config",
    "Audit": "context.summary",
    "Block": "documents.document",
    "BlockHandle": "memory.faces",
    "Category": "facts.fact",
    "CompactionConfig": "config",
    "Condensed": "context.condense",
    "Content": "store.remember",
    "Context": "context.context",
    "Denial": "sharing.grant",
    "Event": "log.event",
    "EventKind": "log.event",
    "Explanation": "facts.fact",
    "Fact": "facts.fact",
    "FactScope": "facts.fact",
    "FactState": "facts.fact",
    "Facts": "facts.fact",
    "File": "documents.document",
    "FileMatch": "documents.document",
    "FileRevision": "documents.document",
    "Finding": "store.engine",
    "Grant": "sharing.grant",
    "Hit": "recall.hit",
    "Hits": "recall.hit",
    "Host": "context.request",
    "HybridMemory": "memory",
    "IndexConfig": "config",
    "InlineRunner": "runtime.runners",
    "Intent": "recall.plan",
    "LearningConfig": "config",
    "Line": "context.summary",
    "MemoryConfig": "config",
    "MemoryFiles": "memory.files",
    "Message": "log.message",
    "Migration": "store.migrate",
    "OrchestrationConfig": "config",
    "Origin": "log.message",
    "PagingConfig": "config",
    "Payload": "context.explain",
    "Piece": "context.context",
    "Plan": "recall.plan",
    "ProfileEntry": "facts.profile",
    "Reader": "context.request",
    "RecallConfig": "config",
    "Receipt": "log.port",
    "Record": "index.record",
    "RecordKind": "index.record",
    "RedactionConfig": "config",
    "RetentionConfig": "config",
    "Right": "sharing.grant",
    "Role": "log.message",
    "Runner": "runtime.runners",
    "Scope": "scope",
    "ScopedMemory": "memory",
    "Scored": "recall.hit",
    "Section": "context.summary",
    "Signals": "recall.hit",
    "SpaceMemory": "memory",
    "Stats": "memory.store",
    "Summary": "context.summary",
    "Task": "runtime.tasks",
    "Tier": "log.event",
    "ToolCall": "log.message",
    "UserProfile": "facts.profile",
    "Weights": "config.memory",
    "WorkStats": "runtime.statistics",
    "as_messages": "store.remember",
    "check_store": "memory.opening",
    "aopen_memory": "memory.opening",
    "drive": "runtime.runners",
    "observe": "telemetry",
    "open_memory": "memory.opening",
}

__all__ = [
    "ArchiveConfig",
    "Audit",
    "Block",
    "BlockHandle",
    "Category",
    "CompactionConfig",
    "Condensed",
    "Content",
    "Context",
    "Denial",
    "Event",
    "EventKind",
    "Explanation",
    "Fact",
    "FactScope",
    "FactState",
    "Facts",
    "File",
    "FileMatch",
    "FileRevision",
    "Finding",
    "Grant",
    "Hit",
    "Hits",
    "Host",
    "HybridMemory",
    "IndexConfig",
    "InlineRunner",
    "Intent",
    "LearningConfig",
    "Line",
    "MemoryConfig",
    "MemoryFiles",
    "Message",
    "Migration",
    "OrchestrationConfig",
    "Origin",
    "PagingConfig",
    "Payload",
    "Piece",
    "Plan",
    "ProfileEntry",
    "Reader",
    "RecallConfig",
    "Receipt",
    "Record",
    "RecordKind",
    "RedactionConfig",
    "RetentionConfig",
    "Right",
    "Role",
    "Runner",
    "Scope",
    "ScopedMemory",
    "Scored",
    "Section",
    "Signals",
    "SpaceMemory",
    "Stats",
    "Summary",
    "Task",
    "Tier",
    "ToolCall",
    "UserProfile",
    "Weights",
    "WorkStats",
    "__version__",
    "aopen_memory",
    "as_messages",
    "check_store",
    "drive",
    "observe",
    "open_memory",
]


if not TYPE_CHECKING:  # type checkers know the names above, and no others

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
