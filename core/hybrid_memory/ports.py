"""What the library asks of engines and models.

Methods block, may be called from any thread, and return lists or arrays, never lazy iterators. A port may also offer
an async twin of a method under the same name with a leading ``a``; the async runner prefers it.
Vectors are float32 unit rows. Contract suites are in `hybrid_memory.testing`.
"""

from __future__ import annotations

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.display import Progress
from hybrid_memory.facts.port import FactExtractor
from hybrid_memory.index.port import UNUSED, Entry, IndexEngine, IndexSize, Matches, Query, RecordColumns, Status, Use
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.log.port import Appended, Archive, Clock, Draft, EventLog, Expiring, IdSource, Key, LogSize
from hybrid_memory.models.port import Embedder, LanguageModel, MediaEmbedder, Ranker, TextCompressor
from hybrid_memory.text.tokens import TokenCounter

__all__ = [
    "UNUSED",
    "Appended",
    "Archive",
    "Clock",
    "Draft",
    "Embedder",
    "Entry",
    "EventLog",
    "Expiring",
    "FactExtractor",
    "Floats",
    "IdSource",
    "Ids",
    "IndexEngine",
    "IndexSize",
    "Key",
    "LanguageModel",
    "LogSize",
    "Matches",
    "MediaEmbedder",
    "Places",
    "Progress",
    "Query",
    "Ranker",
    "RecordColumns",
    "SemanticIndex",
    "Status",
    "TextCompressor",
    "TokenCounter",
    "Use",
]

Places = RecordColumns
"""The old name of `RecordColumns`, deprecated: it goes with the next version."""
