"""Settings of a memory, from code or from YAML."""

from __future__ import annotations

from hybrid_memory.config.compaction import CompactionConfig, PresetName, StrategyName
from hybrid_memory.config.engines import ArchiveConfig, IndexConfig
from hybrid_memory.config.keeping import RedactionConfig, RetentionConfig
from hybrid_memory.config.learning import ConflictRule, LearningConfig
from hybrid_memory.config.memory import CleaningLevel, MemoryConfig
from hybrid_memory.config.orchestration import OrchestrationConfig
from hybrid_memory.config.paging import PagingConfig
from hybrid_memory.config.prompt import PromptConfig
from hybrid_memory.config.recall import RecallConfig

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
    "StrategyName",
]
