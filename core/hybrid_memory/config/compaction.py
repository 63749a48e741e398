"""How long conversations are folded."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar, Literal, Self, TypeAlias

from pydantic import ConfigDict, Field, model_validator

from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.validation import CheckedModel

DEFAULT_TOKENS = 30_000
"""Of a prompt for a model that does not tell its window: room for an agent with twenty tools and a long document."""

StrategyName: TypeAlias = Literal[
    "anchored", "regenerate", "compact", "recursive", "window", "merging", "importance", "llmlingua"
]

PresetName: TypeAlias = Literal["chat", "conversation", "agent", "memgpt"]


class CompactionConfig(CheckedModel):
    """When the oldest turns of a session are folded into its summary, and how a prompt is shared out.

    Attributes:
        strategy: how a summary is made; see docs/architecture.md.
        max_tokens: of a prompt, where `assemble` is not told.
        rounds: fold when the queue has so many turns of the user; None never asks.
        flush: fold when the prompt needs more than this share of its budget.
        pressure: a context says that it is under pressure from this share of its budget on.
        density: fold when the mean importance of the turns that would be folded reaches this; in [0, 1].
        drift: fold when the topic changes this clearly between two stretches of turns; in [0, 1], see
            `hybrid_memory.context.triggers.drift`. Needs an embedder.
        keep_rounds: how many rounds stay verbatim, where the budget allows; the more is in them the more of these.
        keep_least: the fewest of them that stay where rounds, not tokens, call for folding.
        keep_ratio: share that the turns which stay may fill, of what the parts in front of them leave of the budget.
        summary_ratio: share of the budget for the summary.
        artifact_ratio: share of the budget for the artifacts: files, commands, tests, errors, ids.
        recall_ratio: share of the budget for what was recalled, for all turns that the prompt shows.
        offload_tokens: where room is short, a message longer than this is shortened; the log has all of it.
        model_timeout: after this time a language model counts as failed.

    Raises:
        InvalidConfigError: an unknown setting or a value out of range.
    """

    model_config = ConfigDict(extra="forbid")

    invalid_error: ClassVar = InvalidConfigError

    strategy: StrategyName = "anchored"
    max_tokens: int = Field(default=DEFAULT_TOKENS, ge=100)
    rounds: int | None = Field(default=None, ge=1)
    flush: float = Field(default=1.0, gt=0, le=1)
    pressure: float = Field(default=0.7, gt=0, le=1)
    density: float | None = Field(default=None, ge=0, le=1)
    drift: float | None = Field(default=None, ge=0, le=1)
    keep_rounds: int = Field(default=20, ge=1)
    keep_least: int = Field(default=4, ge=1)
    keep_ratio: float = Field(default=0.25, gt=0, lt=1)
    summary_ratio: float = Field(default=0.15, ge=0, lt=1)
    artifact_ratio: float = Field(default=0.2, ge=0, lt=1)
    recall_ratio: float = Field(default=0.35, ge=0, lt=1)
    offload_tokens: int = Field(default=1000, ge=50)
    model_timeout: timedelta = Field(default=timedelta(seconds=30), gt=timedelta(0))

    @model_validator(mode="after")
    def _shares_fit(self) -> Self:
        if self.keep_ratio + self.summary_ratio + self.artifact_ratio + self.recall_ratio > 1:
            raise ValueError("keep_ratio, summary_ratio, artifact_ratio and recall_ratio together must not exceed 1")
        if self.keep_least > self.keep_rounds:
            raise ValueError(f"keep_least ({self.keep_least}) must not exceed keep_rounds ({self.keep_rounds})")
        return self

    @classmethod
    def preset(cls, name: PresetName, **changes: Any) -> Self:
        """Settings that belong together, with these changed.

        ``chat`` keeps a short window: 5 rounds (10 messages) are folded to 3. ``conversation`` folds 140 rounds
        to 20. ``agent`` has 100,000 tokens and keeps 30 %. ``memgpt`` warns at 70 %, folds half of the
        queue at 100 %, into a recursive summary.

        Raises:
            InvalidConfigError: there is no such preset, or a change is refused.
        """
        if name not in _PRESETS:
            raise InvalidConfigError(f"no preset {name!r}: choose one of {', '.join(_PRESETS)}")
        return cls.of({**_PRESETS[name], **changes})


_PRESETS: dict[str, dict[str, Any]] = {
    "chat": {"rounds": 6, "keep_rounds": 3, "keep_least": 3},
    "conversation": {"rounds": 140, "keep_rounds": 20, "max_tokens": 8000},
    "agent": {"rounds": None, "max_tokens": 100_000, "keep_ratio": 0.3},
    "memgpt": {"rounds": None, "strategy": "recursive", "pressure": 0.7, "keep_ratio": 0.5, "recall_ratio": 0.1},
}
