"""How the context window of an agent that manages its own memory is used."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import ConfigDict, Field, model_validator

from hybrid_memory.config.compaction import CompactionConfig
from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.validation import CheckedModel


class PagingConfig(CheckedModel):
    """How a prompt is laid out where the model pages its memory itself, as in MemGPT (arXiv 2310.08560, section 2.2).

    Attributes:
        pressure: the model is warned, once until the next flush, when the prompt fills this share of its budget.
        flush: when the prompt no longer fits, messages leave it until they fill at most ``1 - flush`` of what system
            message and blocks leave of the budget; at least one stays.
        summary: share of the budget for the recursive summary of what was flushed.
        artifacts: share of the budget for its files, commands, tests, errors and ids.
        blocks: share of the budget that the blocks may fill; what is beyond it is cut in the prompt, not in the block.

    Raises:
        InvalidConfigError: an unknown setting or a value out of range.
    """

    model_config = ConfigDict(extra="forbid")

    invalid_error: ClassVar = InvalidConfigError

    pressure: float = Field(default=0.7, gt=0, lt=1)
    flush: float = Field(default=0.5, gt=0, lt=1)
    summary: float = Field(default=0.15, ge=0, lt=1)
    artifacts: float = Field(default=0.05, ge=0, lt=1)
    blocks: float = Field(default=0.3, gt=0, lt=1)

    @model_validator(mode="after")
    def _shares_fit(self) -> Self:
        if self.summary + self.artifacts + self.blocks > MOST_FIXED:
            raise ValueError(f"summary, artifacts and blocks together must not exceed {MOST_FIXED}")
        return self

    def applied(self, compaction: CompactionConfig) -> CompactionConfig:
        """The settings of compaction that this comes to: by tokens alone, into a recursive summary."""
        changed: dict[str, Any] = {
            "strategy": "recursive",
            "rounds": None,
            "density": None,
            "drift": None,
            "flush": 1.0,
            "pressure": self.pressure,
            "keep_ratio": 1 - self.flush,
            "summary_ratio": self.summary,
            "artifact_ratio": self.artifacts,
            "recall_ratio": 0.1,
        }
        return compaction.model_copy(update=changed)


MOST_FIXED = 0.7
"""Of a budget, so that there is room for a conversation."""
