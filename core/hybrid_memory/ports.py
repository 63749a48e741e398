"""The interfaces that engines and models implement, for packages that bring their own.

Methods block, may be called from any thread, and return lists or arrays, never lazy iterators. A port may also offer
an async twin of a method, named with a leading ``a``; the async runner prefers it. Vectors are float32 unit rows.
`hybrid_memory.testing` has the contract suites, `hybrid_memory.sockets` the entry point groups.
"""

from __future__ import annotations

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.context.lines import SummaryRoom
from hybrid_memory.context.strategies import Strategy, SummaryJob
from hybrid_memory.display import Progress
from hybrid_memory.facts.fact import Claim, FactExtractor
from hybrid_memory.index.port import (
    Entry,
    IndexSize,
    Matches,
    Move,
    Query,
    RecordColumns,
    SemanticIndex,
    Snapshot,
    Status,
    Use,
)
from hybrid_memory.log.port import Appended, Archive, Clock, Draft, EventLog, IdSource, Key, LogSize, Reading, Selection
from hybrid_memory.models.port import Embedder, LanguageModel, TextCompressor
from hybrid_memory.store.engine import Engine, Finding
from hybrid_memory.text.tokens import TokenCounter

__all__ = [
    "Appended", "Archive", "Claim", "Clock", "Draft", "Embedder", "Engine", "Entry", "EventLog", "FactExtractor",
    "Finding", "Floats", "IdSource", "Ids", "IndexSize", "Key", "LanguageModel", "LogSize",
    "Matches", "Move", "Progress", "Query", "Reading", "RecordColumns", "Selection", "SemanticIndex",
    "Snapshot", "Status", "Strategy", "SummaryJob", "SummaryRoom", "TextCompressor", "TokenCounter", "Use",
]  # fmt: skip
