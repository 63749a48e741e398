"""What a flow works with."""

from __future__ import annotations

from dataclasses import dataclass, field

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
from hybrid_memory.types import Message

SHOWN_CACHE = 8192


@dataclass(slots=True)
class World:
    """The ports of one memory.

    ``shown`` remembers how a message of the log stands in prompts, and its tokens: by position, limit, and whether it
    is the question.

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
    shown: LruCache[tuple[int, int, bool], tuple[Message, int]] = field(default_factory=lambda: LruCache(SHOWN_CACHE))
