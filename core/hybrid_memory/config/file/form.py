"""The sections of a file, and the names in them."""

from __future__ import annotations

from hybrid_memory.config.compaction import CompactionConfig
from hybrid_memory.config.engines import ArchiveConfig, IndexConfig
from hybrid_memory.config.file.bounds import Bounds
from hybrid_memory.config.file.engines import ARCHIVES, INDEXES, LOGS
from hybrid_memory.config.file.keys import WEIGHTS, Keys, keys_of, kind_of, renamed
from hybrid_memory.config.file.kinds import Choice, Number, Switch, Text
from hybrid_memory.config.keeping import RedactionConfig, RetentionConfig
from hybrid_memory.config.learning import LearningConfig
from hybrid_memory.config.memory import MemoryConfig
from hybrid_memory.config.orchestration import OrchestrationConfig
from hybrid_memory.config.prompt import PromptConfig
from hybrid_memory.config.recall import RecallConfig
from hybrid_memory.config.weights import Weights

TOP = "memory_system"

STRATEGIES = {"hybrid": Weights(), "vector": Weights(vector=1.0, text=0.0), "text": Weights(vector=0.0, text=1.0)}
"""The weights that `default_strategy` names."""

MEMORY_L2 = {"embedding_model": "embedder", "exact_limit": "exact_limit", "cleaning": "cleaning"}
MEMORY_L3 = {"outbox": "outbox", "power_safe": "power_safe"}
RECALL = {
    "cache_ttl_seconds": "cache_ttl",
    "candidates": "candidates",
    "half_life_days": "half_life",
    "diversity": "diversity",
    "synonyms": "synonyms",
    "count_uses": "count_uses",
}
ORCHESTRATION = {
    "max_concurrent_tasks": "concurrency",
    "embedding_batch_size": "batch",
    "embedding_window_ms": "window",
    "embedding_concurrency": "embedding_concurrency",
    "background": "background",
}
CACHE = {"max_size": "cache", "ttl_seconds": "cache_ttl"}
"""Each of these: names in a file, and the fields that they are."""

ROUTED = {"exact_match": "exact", "semantic": "vector"}
"""Other names of two weights; where one is used, weights that are not named are 0."""

_L1: Keys = {
    "max_tokens": kind_of(CompactionConfig, "max_tokens", "tokens"),
    "compression_threshold": Number(whole=True, unit="tokens", bounds=Bounds(ge=1)),
    "keep_ratio": kind_of(CompactionConfig, "keep_ratio"),
    **keys_of(
        CompactionConfig,
        max_tokens="tokens",
        rounds="rounds",
        keep_rounds="rounds",
        keep_least="rounds",
        offload_tokens="tokens",
    ),
}

_L2: Keys = {
    "vector_store": Choice(names=tuple(INDEXES), null=True),
    "url": Text(null=True),
    "index_type": Choice(names=("FLAT", "HNSW", "IVF_FLAT"), null=True),
    "nlist": kind_of(IndexConfig, "nlist", "lists"),
    **renamed(MemoryConfig, MEMORY_L2, exact_limit="vectors"),
}

_L3: Keys = {
    "kv_store": Choice(names=tuple(LOGS)),
    "url": Text(null=True),
    "ttl_days": kind_of(ArchiveConfig, "after", time="days"),
    "backup": Choice(names=tuple(ARCHIVES), null=True),
    "backup_url": Text(null=True),
    **renamed(MemoryConfig, MEMORY_L3),
}

_ORCHESTRATION: Keys = {
    **renamed(OrchestrationConfig, ORCHESTRATION, concurrency="tasks", batch="texts", embedding_concurrency="calls"),
    "embedding_window_ms": kind_of(OrchestrationConfig, "window", time="milliseconds"),
    "cache": {"enabled": Switch(), **renamed(OrchestrationConfig, CACHE, cache="embeddings")},
}

_RETRIEVAL: Keys = {
    "default_strategy": Choice(names=tuple(STRATEGIES)),
    "weights": {**dict.fromkeys(("exact_match", "semantic", "temporal"), WEIGHTS["temporal"]), **WEIGHTS},
    **renamed(RecallConfig, RECALL, candidates="records"),
    "half_life_days": kind_of(RecallConfig, "half_life", time="days"),
}

SECTIONS: Keys = {
    "tiers": {"l1_context": _L1, "l2_semantic": _L2, "l3_episodic": _L3},
    "orchestration": _ORCHESTRATION,
    "retrieval": _RETRIEVAL,
    "prompt": keys_of(PromptConfig),
    "learning": keys_of(LearningConfig),
    "retention": keys_of(RetentionConfig),
    "redaction": keys_of(RedactionConfig),
}

FLAT: Keys = {
    **keys_of(MemoryConfig, exact_limit="vectors"),
    "recall": {
        **keys_of(RecallConfig, candidates="records"),
        "query_cache": kind_of(OrchestrationConfig, "cache", "embeddings"),
    },
}
"""The names of the fields themselves, as `to_yaml` wrote them until 0.5.0."""
