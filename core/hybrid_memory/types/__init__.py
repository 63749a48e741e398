"""The vocabulary: frozen values that cross the boundaries of the house.

Instants are aware UTC datetimes, scores lie in [0, 1] and higher is better.
"""

from __future__ import annotations

from hybrid_memory.types.event import Event, EventKind, Receipt, Stats, Tier
from hybrid_memory.types.hit import Hit, Signals, Weights
from hybrid_memory.types.message import Message, Role, ToolCall
from hybrid_memory.types.record import Record, RecordKind, Where
from hybrid_memory.types.scope import MAX_NAME_CHARS, Scope

__all__ = [
    "MAX_NAME_CHARS",
    "Event",
    "EventKind",
    "Hit",
    "Message",
    "Receipt",
    "Record",
    "RecordKind",
    "Role",
    "Scope",
    "Signals",
    "Stats",
    "Tier",
    "ToolCall",
    "Weights",
    "Where",
]
