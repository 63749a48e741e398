"""Settings of a memory, from code or from YAML."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeAlias

from pydantic import ConfigDict, Field, model_validator

from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.types import Weights
from hybrid_memory.types.validation import CheckedModel


class RecallConfig(CheckedModel):
    """How recall searches and scores.

    Attributes:
        weights: of the signals; see `Weights`.
        candidates: how many records each of the vector and the text path brings in.
        half_life: after this time a record's recency is 0.5.
        diversity: 0 ranks by score alone; towards 1, records that repeat better ones fall back (MMR).
        query_cache: query embeddings kept in memory.

    Raises:
        InvalidConfigError: an unknown setting or a value out of range.
    """

    model_config = ConfigDict(extra="forbid")

    invalid_error: ClassVar = InvalidConfigError

    weights: Weights = Weights()
    candidates: int = Field(default=48, ge=1, le=10_000)
    half_life: timedelta = Field(default=timedelta(days=30), gt=timedelta(0))
    diversity: float = Field(default=0.0, ge=0, le=1)
    query_cache: int = Field(default=10_000, ge=0)


StrategyName: TypeAlias = Literal[
    "anchored", "regenerate", "compact", "recursive", "window", "merging", "importance", "llmlingua"
]

CleaningLevel: TypeAlias = Literal["off", "light", "strong"]

PresetName: TypeAlias = Literal["chat", "conversation", "agent", "memgpt"]


class CompactionConfig(CheckedModel):
    """When the oldest turns of a session are folded into its summary, and how a prompt is shared out.

    Attributes:
        strategy: how a summary is made; see docs/architecture.md.
        max_tokens: of a prompt, where `assemble` is not told.
        rounds: fold when the queue has more turns of the user than this; None never asks.
        flush: fold when the prompt needs more than this share of its budget.
        pressure: a context says that it is under pressure from this share of its budget on.
        density: fold when the mean importance of the turns that would be folded reaches this; in [0, 1].
        drift: fold when the topic changes this clearly between two stretches of turns; in [0, 1], see
            `hybrid_memory.compression.triggers.drift`. Needs an embedder.
        keep_rounds: how many rounds stay verbatim, where the budget allows; the more is in them the more of these.
        keep_least: the fewest of them that stay where rounds, not tokens, call for folding.
        keep_ratio: share that the turns which stay may fill, of what the parts in front of them leave of the budget.
        summary_ratio: share of the budget for the summary.
        artifact_ratio: share of the budget for the artifacts: files, commands, tests, errors, ids.
        recall_ratio: share of the budget for what is recalled for one question.
        offload_tokens: a message longer than this stands in the prompt as a digest; the log has all of it.
        model_timeout: after this time a language model counts as failed.

    Raises:
        InvalidConfigError: an unknown setting or a value out of range.
    """

    model_config = ConfigDict(extra="forbid")

    invalid_error: ClassVar = InvalidConfigError

    strategy: StrategyName = "anchored"
    max_tokens: int = Field(default=2000, ge=100)
    rounds: int | None = Field(default=140, ge=1)
    flush: float = Field(default=1.0, gt=0, le=1)
    pressure: float = Field(default=0.7, gt=0, le=1)
    density: float | None = Field(default=None, ge=0, le=1)
    drift: float | None = Field(default=None, ge=0, le=1)
    keep_rounds: int = Field(default=20, ge=1)
    keep_least: int = Field(default=4, ge=1)
    keep_ratio: float = Field(default=0.25, gt=0, lt=1)
    summary_ratio: float = Field(default=0.15, ge=0, lt=1)
    artifact_ratio: float = Field(default=0.25, ge=0, lt=1)
    recall_ratio: float = Field(default=0.25, ge=0, lt=1)
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

        ``chat`` keeps a short window: more than 5 rounds (10 messages) are folded to 3. ``conversation`` folds after
        140 rounds to 20. ``agent`` has 100,000 tokens and keeps 30 %. ``memgpt`` warns at 70 %, folds half of the
        queue at 100 %, into a recursive summary.

        Raises:
            InvalidConfigError: there is no such preset, or a change is refused.
        """
        if name not in _PRESETS:
            raise InvalidConfigError(f"no preset {name!r}: choose one of {', '.join(_PRESETS)}")
        return cls.of({**_PRESETS[name], **changes})


_PRESETS: dict[str, dict[str, Any]] = {
    "chat": {"rounds": 5, "keep_rounds": 3, "keep_least": 3},
    "conversation": {"rounds": 140, "keep_rounds": 20, "max_tokens": 8000},
    "agent": {"rounds": None, "max_tokens": 100_000, "keep_ratio": 0.3},
    "memgpt": {"rounds": None, "strategy": "recursive", "pressure": 0.7, "keep_ratio": 0.5, "recall_ratio": 0.1},
}


ConflictRule: TypeAlias = Literal["newest", "trusted", "ask"]


class LearningConfig(CheckedModel):
    """How facts are learned.

    Attributes:
        conflicts: who wins where two authors disagree about a thing that has one value: the ``newest`` word, the
            author who is ``trusted`` more, or nobody until it is settled (``ask``). An author's own newer word wins.
        model: let the language model read the turns too, where there is one; rules always do.
        background: learn without being asked, on a thread of its own, once the conversation has been quiet for
            ``delay``; otherwise when facts or the profile are asked for, and with `flush` and `learn`.
        delay: the quiet after a write.

    Raises:
        InvalidConfigError: an unknown setting or a value out of range.
    """

    model_config = ConfigDict(extra="forbid")

    invalid_error: ClassVar = InvalidConfigError

    conflicts: ConflictRule = "newest"
    model: bool = True
    background: bool = True
    delay: timedelta = Field(default=timedelta(seconds=2), ge=timedelta(0))


class RetentionConfig(CheckedModel):
    """What recall leaves out because of its age; nothing is destroyed, `forget(expired=True)` does that.

    Attributes:
        ttl: the longest age by kind (``turn``, ``fact``) or category (``preference``, ``task``, ``knowledge``,
            ``relation``).
        half_life: after this time a record of no importance that was never used is half forgotten; None forgets
            nothing. See `hybrid_memory.scoring.retention`.
        least: records that are retained less than this are left out; in (0, 1).

    Raises:
        InvalidConfigError: an unknown setting or a value out of range.
    """

    model_config = ConfigDict(extra="forbid")

    invalid_error: ClassVar = InvalidConfigError

    ttl: dict[Literal["turn", "fact", "preference", "task", "knowledge", "relation"], timedelta] = Field(
        default_factory=dict
    )
    half_life: timedelta | None = Field(default=None, gt=timedelta(0))
    least: float = Field(default=0.1, gt=0, lt=1)


class RedactionConfig(CheckedModel):
    """What is taken out of messages before they are stored; see `hybrid_memory.text.redaction` for the rules.

    Attributes:
        kinds: of secrets and personal data; none by default.
        keep_original: keep the original in the log, for `history` and prompts; only the index, the facts and the
            profile are without it then.

    Raises:
        InvalidConfigError: an unknown setting or kind.
    """

    model_config = ConfigDict(extra="forbid")

    invalid_error: ClassVar = InvalidConfigError

    kinds: tuple[Literal["api key", "password", "email", "id number", "card", "iban", "phone", "ip"], ...] = ()
    keep_original: bool = False


class MemoryConfig(CheckedModel):
    """Settings of a memory; `to_yaml` and `from_yaml` carry them in a file.

    Attributes:
        url: where the store is: ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or ``memory://``.
        embedder: ``auto`` is ``local`` if it is installed, else text only; ``local``; ``none`` for text only;
            ``hashing`` for tests.
        power_safe: fsync before a write is acknowledged, so that it survives a power cut and not only a crash.
        exact_limit: vectors of one owner that are searched exactly; beyond, FAISS searches approximately.
        cleaning: how much of fillers, stutters and padding is left out of what is indexed and shown; the log keeps all.
        recall: how recall searches and scores.
        compaction: how long conversations are folded.
        learning: how facts are learned.
        retention: what recall leaves out because of its age.
        redaction: secrets and personal data that are taken out of messages.

    Raises:
        InvalidConfigError: an unknown setting or a value out of range.
    """

    model_config = ConfigDict(extra="forbid")

    invalid_error: ClassVar = InvalidConfigError

    url: str = "sqlite:///memory.db"
    embedder: Literal["auto", "local", "none", "hashing"] = "auto"
    power_safe: bool = True
    exact_limit: int = Field(default=50_000, ge=1)
    cleaning: CleaningLevel = "light"
    recall: RecallConfig = RecallConfig()
    compaction: CompactionConfig = CompactionConfig()
    learning: LearningConfig = LearningConfig()
    retention: RetentionConfig = RetentionConfig()
    redaction: RedactionConfig = RedactionConfig()

    @classmethod
    def from_yaml(cls, path: str | Path) -> Self:
        """The settings in a YAML file.

        Raises:
            InvalidConfigError: the file cannot be read, is not YAML, or holds unknown settings.
        """
        import yaml  # noqa: PLC0415 - only who reads YAML pays for it

        try:
            content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise InvalidConfigError(f"cannot read {path}: {error}") from error
        if not isinstance(content, dict | None):
            raise InvalidConfigError(f"{path} must hold settings by name, got {type(content).__name__}")
        return cls.of(content or {})

    def to_yaml(self) -> str:
        """All settings, as `from_yaml` reads them."""
        import yaml  # noqa: PLC0415 - only who writes YAML pays for it

        text: str = yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False)
        return text
