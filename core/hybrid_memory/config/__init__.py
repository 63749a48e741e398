"""Settings of a memory, from code or from YAML."""

from __future__ import annotations

from hybrid_memory.config.compaction import CompactionConfig, PagingConfig, PresetName, PromptConfig
from hybrid_memory.config.learning import ConflictRule, LearningConfig, OrchestrationConfig
from hybrid_memory.config.memory import CleaningLevel, MemoryConfig
from hybrid_memory.config.recall import RecallConfig
from hybrid_memory.config.storage import ArchiveConfig, IndexConfig, RedactionConfig, RetentionConfig

__all__ = [
    "ArchiveConfig",
    "CleaningLevel",
    "CompactionConfig",
    "ConflictRule",
    "IndexConfig",
    "LearningConfig",
    "MemoryConfig",
    "OrchestrationConfig",
    "PagingConfig",
    "PresetName",
    "PromptConfig",
    "RecallConfig",
    "RedactionConfig",
    "RetentionConfig",
]
