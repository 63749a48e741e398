"""The entries of the semantic index, and what a search may return."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

from hybrid_memory.arrays import Floats
from hybrid_memory.log.message import Origin
from hybrid_memory.scope import Scope

Scalar: TypeAlias = str | int | float | bool | None
"""A JSON value other than a list or an object."""

Keys: TypeAlias = Mapping[int, bytes]  # hashes of what was embedded, by record id
Vectors: TypeAlias = Mapping[bytes, Floats]  # vectors by these hashes


class RecordKind(StrEnum):
    """What an entry of the semantic index represents."""

    TURN = "turn"
    FACT = "fact"
    ITEM = "item"


@dataclass(frozen=True, slots=True)
class Record:
    """An entry of the semantic index (L2).

    Attributes:
        id: the log position of its event.
        text: the words; characters that an index cannot hold are replaced by spaces, the log keeps the original.
        speaker: who said it.
        sources: ids of the events it came from.
        turn: log position of the turn it came from; for a turn its own.
        segment: id of the first record of its segment, a stretch of one session without a long pause.
        ordinal: its index in the segment, from 0.
        importance: in [0, 1], the message's own or estimated from its length; uses, last_used: how often and when it
            was recalled.
        valid_from, valid_to: when the statement was true; None is open.
        metadata: your own values.
        author: who wrote it, in a shared space; empty if the owner did.
        origin: whose words these are; ``imported``, the lowest, if unknown.
    """

    id: int
    scope: Scope
    text: str
    at: datetime
    sources: tuple[str, ...]
    segment: int
    ordinal: int
    kind: RecordKind = RecordKind.TURN
    speaker: str = ""
    category: str | None = None
    importance: float = 0.5
    uses: int = 0
    last_used: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    turn: int = 0
    author: str = ""
    origin: Origin = Origin.IMPORTED

    def __post_init__(self) -> None:
        if not self.turn:
            object.__setattr__(self, "turn", self.id)

    def copied(self) -> Record:
        """The record, with metadata that a caller may change."""
        return replace(self, metadata=deepcopy(self.metadata)) if self.metadata else self


@dataclass(frozen=True, slots=True)
class Where:
    """What a search may return; enforced inside the engine.

    Attributes:
        scope: the owner, and the session too if it names one.
        kinds, categories, origins: one of these; empty means any.
        since, until: ``since <= at < until``; None is open.
        metadata: every key has exactly this value (a JSON scalar); types are kept apart (1, 1.0, true and "1" are four
            values), and text is compared whole, also beyond a NUL.
        hidden: stretches of the log, first and last position each, whose turns and what came from them are left out.
        fresh: of these kinds or categories only what was said at this instant or later.
    """

    scope: Scope
    kinds: frozenset[RecordKind] = frozenset()
    categories: frozenset[str] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    hidden: tuple[tuple[int, int], ...] = ()
    fresh: Mapping[str, datetime] = field(default_factory=dict)
    origins: frozenset[Origin] = frozenset()

    def allows(self, record: Record) -> bool:
        """Whether the search may return this record."""
        return (
            self.scope.owner == record.scope.owner
            and self.scope.session in (None, record.scope.session)
            and (not self.kinds or record.kind in self.kinds)
            and (not self.categories or record.category in self.categories)
            and (not self.origins or record.origin in self.origins)
            and (self.since is None or record.at >= self.since)
            and (self.until is None or record.at < self.until)
            and not any(first <= record.turn <= last for first, last in self.hidden)
            and all(
                record.at >= instant or name not in (record.kind, record.category)
                for name, instant in self.fresh.items()
            )
            and all(
                key in record.metadata and json.dumps(record.metadata[key]) == json.dumps(value)
                for key, value in self.metadata.items()
            )
        )
