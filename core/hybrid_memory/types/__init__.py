"""The vocabulary: frozen values that cross the boundaries of the house.

Instants are aware UTC datetimes, scores lie in [0, 1] and higher is better.
"""

from __future__ import annotations

from hybrid_memory.types.artifacts import (
    FileState,
    Ledger,
    Mention,
    Operation,
    Origin,
    Script,
    ScriptEffect,
    Sweep,
    SweepKind,
    TestRun,
)
from hybrid_memory.types.block import Block
from hybrid_memory.types.condensed import Condensed
from hybrid_memory.types.context import Context, Dropped, Payload, Piece
from hybrid_memory.types.event import Event, EventKind, Migration, Receipt, Stats, Tier
from hybrid_memory.types.explanation import Explanation
from hybrid_memory.types.fact import USER, Category, Claim, Fact, Facts, FactState, Stance
from hybrid_memory.types.grant import QUARANTINE, Denial, Grant, Right
from hybrid_memory.types.hit import Hit, Hits, Scored, Signals, Weights
from hybrid_memory.types.item import (
    FindItems,
    GetItem,
    Item,
    ItemOperation,
    ItemResult,
    ListNamespaces,
    Namespace,
    PutItem,
)
from hybrid_memory.types.message import PRESSURE, RESERVED, STOPPED, Message, Role, ToolCall
from hybrid_memory.types.plan import Entity, EntityKind, Intent, Plan, TimeSpan
from hybrid_memory.types.profile import ProfileEntry, UserProfile
from hybrid_memory.types.record import Record, RecordKind, Where
from hybrid_memory.types.scope import MAX_NAME_CHARS, Scope
from hybrid_memory.types.summary import Audit, Line, Section, Summary, handle, written
from hybrid_memory.types.work import CacheStats, KindStats, WorkStats

__all__ = [
    "MAX_NAME_CHARS",
    "PRESSURE",
    "QUARANTINE",
    "RESERVED",
    "STOPPED",
    "USER",
    "Audit",
    "Block",
    "CacheStats",
    "Category",
    "Claim",
    "Condensed",
    "Context",
    "Denial",
    "Dropped",
    "Entity",
    "EntityKind",
    "Event",
    "EventKind",
    "Explanation",
    "Fact",
    "FactState",
    "Facts",
    "FileState",
    "FindItems",
    "GetItem",
    "Grant",
    "Hit",
    "Hits",
    "Intent",
    "Item",
    "ItemOperation",
    "ItemResult",
    "KindStats",
    "Ledger",
    "Line",
    "ListNamespaces",
    "Mention",
    "Message",
    "Migration",
    "Namespace",
    "Operation",
    "Origin",
    "Payload",
    "Piece",
    "Plan",
    "ProfileEntry",
    "PutItem",
    "Receipt",
    "Record",
    "RecordKind",
    "Right",
    "Role",
    "Scope",
    "Scored",
    "Script",
    "ScriptEffect",
    "Section",
    "Signals",
    "Stance",
    "Stats",
    "Summary",
    "Sweep",
    "SweepKind",
    "TestRun",
    "Tier",
    "TimeSpan",
    "ToolCall",
    "UserProfile",
    "Weights",
    "Where",
    "WorkStats",
    "handle",
    "written",
]
