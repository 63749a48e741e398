"""What we ask of the world; engines and models implement these.

Methods block, may be called from any thread, and return lists or arrays, never lazy iterators. A port may also offer
an async twin of a method under the same name with a leading ``a``; the async runner prefers it.
Vectors are float32 unit rows. Contract suites are in `hybrid_memory.testing`.
"""

from __future__ import annotations

from hybrid_memory.ports.index import UNUSED, Entry, Floats, Ids, IndexSize, Matches, Places, SemanticIndex, Use
from hybrid_memory.ports.log import Appended, Archive, Draft, EventLog, Expiring, Key, LogSize
from hybrid_memory.ports.models import (
    Clock,
    Embedder,
    FactExtractor,
    IdSource,
    LanguageModel,
    MediaEmbedder,
    Progress,
    TextCompressor,
    TokenCounter,
)

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
    "IndexSize",
    "Key",
    "LanguageModel",
    "LogSize",
    "Matches",
    "MediaEmbedder",
    "Places",
    "Progress",
    "SemanticIndex",
    "TextCompressor",
    "TokenCounter",
    "Use",
]
