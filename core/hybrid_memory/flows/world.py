"""What a flow works with."""

from __future__ import annotations

from dataclasses import dataclass

from hybrid_memory.compute.caches import LruCache
from hybrid_memory.config import MemoryConfig
from hybrid_memory.ports import (
    Clock,
    Embedder,
    EventLog,
    Floats,
    IdSource,
    LanguageModel,
    SemanticIndex,
    TextCompressor,
    TokenCounter,
)


@dataclass(slots=True)
class World:
    """The ports of one memory.

    Without an embedder recall works on words alone; without a language model and a compressor every summary is
    deterministic.
    """

    log: EventLog
    index: SemanticIndex
    embedder: Embedder | None
    clock: Clock
    new_id: IdSource
    config: MemoryConfig
    queries: LruCache[str, Floats]
    count: TokenCounter
    language_model: LanguageModel | None = None
    compressor: TextCompressor | None = None
