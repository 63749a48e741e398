"""Settings of a memory, from code or from YAML."""

from __future__ import annotations

from hybrid_memory.config.memory import (
    ArchiveConfig,
    CleaningLevel,
    CompactionConfig,
    ConflictRule,
    IndexConfig,
    LearningConfig,
    MemoryConfig,
    OrchestrationConfig,
    PagingConfig,
    PresetName,
    PromptConfig,
    RecallConfig,
    RedactionConfig,
    RetentionConfig,
)

__all__ = [
    "ArchiveConfig", "CleaningLevel", "CompactionConfig", "ConflictRule", "IndexConfig", "LearningConfig",
    "MemoryConfig", "OrchestrationConfig", "PagingConfig", "PresetName", "PromptConfig", "RecallConfig",
    "RedactionConfig", "RetentionConfig",
]  # fmt: skip
