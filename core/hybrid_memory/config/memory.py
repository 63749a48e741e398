"""All settings of a memory."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self, TypeAlias

from pydantic import Field

from hybrid_memory.config.compaction import CompactionConfig, PromptConfig
from hybrid_memory.config.learning import LearningConfig, OrchestrationConfig
from hybrid_memory.config.recall import RecallConfig
from hybrid_memory.config.storage import ArchiveConfig, IndexConfig, RedactionConfig, RetentionConfig
from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.validation import Settings

CleaningLevel: TypeAlias = Literal["off", "light", "strong"]


class MemoryConfig(Settings):
    """Settings of a memory; `to_yaml` and `from_yaml` carry them in a file.

    Attributes:
        url: where the log (L3) is, and the index with it: ``sqlite:///relative.db``, ``sqlite:////absolute.db``,
            ``memory://`` or ``redis://host:6379/0``.
        index: where the index (L2) is instead.
        archive: where old messages go.
        outbox: a file that takes writes while the log cannot be reached, and gives them to it in order once it can;
            None lets such writes fail.
        embedder: ``auto`` is ``local`` if it is installed, else text only; ``local``; ``none`` for text only;
            ``hashing`` for tests. Any other is the name of the model that is given to `open_memory`.
        power_safe: fsync before a write is acknowledged, so that it survives a power cut and not only a crash.
        exact_limit: vectors of one owner that are searched exactly; beyond, FAISS searches approximately.
        cleaning: how much of fillers, stutters and padding is left out of what is indexed and summarised; the log keeps
            all, and prompts show turns as they were said.
        recall: how recall searches and scores.
        compaction: how long conversations are compacted.
        prompt: how prompts are laid out.
        learning: how facts are learned.
        retention: what recall leaves out because of its age.
        redaction: secrets and personal data that are taken out of messages.
        orchestration: where and when work runs.

    Raises:
        InvalidConfigError: an unknown setting or a value out of range.
    """

    url: str = "sqlite:///memory.db"
    index: IndexConfig = IndexConfig()
    archive: ArchiveConfig = ArchiveConfig()
    outbox: str | None = None
    embedder: str = "auto"
    power_safe: bool = True
    exact_limit: int = Field(default=50_000, ge=1)
    cleaning: CleaningLevel = "light"
    recall: RecallConfig = RecallConfig()
    compaction: CompactionConfig = CompactionConfig()
    prompt: PromptConfig = PromptConfig()
    learning: LearningConfig = LearningConfig()
    retention: RetentionConfig = RetentionConfig()
    redaction: RedactionConfig = RedactionConfig()
    orchestration: OrchestrationConfig = OrchestrationConfig()

    @classmethod
    def from_yaml(cls, path: str | Path) -> Self:
        """The settings in a YAML file, which has the fields of this class as keys; see `to_yaml`.

        Every setting may be left out. The sections of versions before 0.10 (under ``memory_system``) are read too, with
        a `DeprecationWarning`.

        Raises:
            InvalidConfigError: the file cannot be read, or is wrong: a line for each mistake, with the file, the line
                and column, the setting, what is allowed and the value.
        """
        from hybrid_memory.config import sections, yaml  # noqa: PLC0415 - only who reads YAML pays for it

        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise InvalidConfigError(f"cannot read {path}: {error}") from error
        return yaml.loaded(cls, content, str(path), translate=sections.translate)

    def to_yaml(self) -> str:
        """All settings, as `from_yaml` reads them; raises `InvalidConfigError` for an object that no file can hold."""
        from hybrid_memory.config import yaml  # noqa: PLC0415 - only who writes YAML pays for it

        return yaml.dumped(self)
