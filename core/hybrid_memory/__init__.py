"""Memory for LLM agents: a durable log, hybrid recall that explains itself, and one API for every framework.

Names are imported when they are first used, so that the import itself stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybrid_memory.build import aopen_memory as aopen_memory
    from hybrid_memory.build import open_memory as open_memory
    from hybrid_memory.compute.tasks import Task as Task
    from hybrid_memory.config import ArchiveConfig as ArchiveConfig
    from hybrid_memory.config import CompactionConfig as CompactionConfig
    from hybrid_memory.config import IndexConfig as IndexConfig
    from hybrid_memory.config import LearningConfig as LearningConfig
    from hybrid_memory.config import MemoryConfig as MemoryConfig
    from hybrid_memory.config import OrchestrationConfig as OrchestrationConfig
    from hybrid_memory.config import PagingConfig as PagingConfig
    from hybrid_memory.config import PromptConfig as PromptConfig
    from hybrid_memory.config import RecallConfig as RecallConfig
    from hybrid_memory.config import RedactionConfig as RedactionConfig
    from hybrid_memory.config import RetentionConfig as RetentionConfig
    from hybrid_memory.memory import HybridMemory as HybridMemory
    from hybrid_memory.memory import ScopedMemory as ScopedMemory
    from hybrid_memory.memory import SpaceMemory as SpaceMemory
    from hybrid_memory.paging import AgentRun as AgentRun
    from hybrid_memory.paging import PagedAgent as PagedAgent
    from hybrid_memory.telemetry import observe as observe
    from hybrid_memory.types import Audit as Audit
    from hybrid_memory.types import Block as Block
    from hybrid_memory.types import Category as Category
    from hybrid_memory.types import Condensed as Condensed
    from hybrid_memory.types import Context as Context
    from hybrid_memory.types import Denial as Denial
    from hybrid_memory.types import Event as Event
    from hybrid_memory.types import EventKind as EventKind
    from hybrid_memory.types import Explanation as Explanation
    from hybrid_memory.types import Fact as Fact
    from hybrid_memory.types import Facts as Facts
    from hybrid_memory.types import FactState as FactState
    from hybrid_memory.types import Grant as Grant
    from hybrid_memory.types import Hit as Hit
    from hybrid_memory.types import Hits as Hits
    from hybrid_memory.types import Intent as Intent
    from hybrid_memory.types import Line as Line
    from hybrid_memory.types import Message as Message
    from hybrid_memory.types import Migration as Migration
    from hybrid_memory.types import Payload as Payload
    from hybrid_memory.types import Plan as Plan
    from hybrid_memory.types import ProfileEntry as ProfileEntry
    from hybrid_memory.types import Receipt as Receipt
    from hybrid_memory.types import Record as Record
    from hybrid_memory.types import RecordKind as RecordKind
    from hybrid_memory.types import Right as Right
    from hybrid_memory.types import Role as Role
    from hybrid_memory.types import Scope as Scope
    from hybrid_memory.types import Scored as Scored
    from hybrid_memory.types import Section as Section
    from hybrid_memory.types import Signals as Signals
    from hybrid_memory.types import Stats as Stats
    from hybrid_memory.types import Summary as Summary
    from hybrid_memory.types import ToolCall as ToolCall
    from hybrid_memory.types import UserProfile as UserProfile
    from hybrid_memory.types import Weights as Weights
    from hybrid_memory.types import WorkStats as WorkStats

__version__ = "0.10.0"

_HOME = {
    "AgentRun": "paging",
    "ArchiveConfig": "config",
    "CompactionConfig": "config",
    "HybridMemory": "memory",
    "IndexConfig": "config",
    "LearningConfig": "config",
    "MemoryConfig": "config",
    "OrchestrationConfig": "config",
    "PagedAgent": "paging",
    "PagingConfig": "config",
    "RecallConfig": "config",
    "RedactionConfig": "config",
    "RetentionConfig": "config",
    "ScopedMemory": "memory",
    "SpaceMemory": "memory",
    "Task": "compute.tasks",
    "aopen_memory": "build",
    "observe": "telemetry",
    "open_memory": "build",
} | dict.fromkeys(
    """Audit Block Category Condensed Context Denial Event EventKind Explanation Fact FactState Facts Grant Hit Hits
    Intent Line Message Migration Payload Plan ProfileEntry Receipt Record RecordKind Right Role Scope Scored Section
    Signals Stats Summary ToolCall UserProfile Weights WorkStats""".split(),
    "types",
)

__all__ = [
    "AgentRun",
    "ArchiveConfig",
    "Audit",
    "Block",
    "Category",
    "CompactionConfig",
    "Condensed",
    "Context",
    "Denial",
    "Event",
    "EventKind",
    "Explanation",
    "Fact",
    "FactState",
    "Facts",
    "Grant",
    "Hit",
    "Hits",
    "HybridMemory",
    "IndexConfig",
    "Intent",
    "LearningConfig",
    "Line",
    "MemoryConfig",
    "Message",
    "Migration",
    "OrchestrationConfig",
    "PagedAgent",
    "PagingConfig",
    "Payload",
    "Plan",
    "ProfileEntry",
    "RecallConfig",
    "Receipt",
    "Record",
    "RecordKind",
    "RedactionConfig",
    "RetentionConfig",
    "Right",
    "Role",
    "Scope",
    "ScopedMemory",
    "Scored",
    "Section",
    "Signals",
    "SpaceMemory",
    "Stats",
    "Summary",
    "Task",
    "ToolCall",
    "UserProfile",
    "Weights",
    "WorkStats",
    "__version__",
    "aopen_memory",
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
