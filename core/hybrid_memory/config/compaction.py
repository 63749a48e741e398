"""How long conversations are compacted, and how prompts are laid out."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal, Protocol, Self, TypeAlias, runtime_checkable

from pydantic import Field, InstanceOf, field_validator, model_validator

from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.validation import Duration, Settings

DEFAULT_TOKENS = 30_000
"""Of a prompt for a model whose window is unknown: room for an agent with twenty tools and a long document."""

PresetName: TypeAlias = Literal["chat", "conversation", "agent", "memgpt"]


@runtime_checkable
class SummaryStrategy(Protocol):
    """A strategy as an object: one of your own behind `hybrid_memory.context.strategies.Strategy`."""

    @property
    def name(self) -> str:
        """By which a summary names it."""
        ...


class CompactionConfig(Settings):
    """When older turns of a session are compacted into its summary, and how the budget of a prompt is shared.

    Attributes:
        strategy: how a summary is made: the name of a strategy, or an object.
        max_tokens: the budget of a prompt, unless `assemble` is given another.
        rounds: compact when the conversation has this many user turns; None ignores their number.
        flush: compact when the prompt needs more than this share of its budget.
        pressure: the share of the budget above which `Context.under_pressure` is true.
        density: compact when the mean importance of the turns to be compacted reaches this; in [0, 1].
        drift: compact when the topic changes by this much between two stretches of turns; in [0, 1], see
            `hybrid_memory.context.triggers.drift`. Needs an embedder.
        keep_rounds: how many rounds stay verbatim if the budget allows; dense rounds keep more of their neighbours.
        keep_least: the fewest rounds to keep when rounds, not tokens, trigger a compaction.
        keep_ratio: the share of the remaining budget that the kept turns may fill.
        summary_ratio: the share of the budget for the summary; rules, names, numbers, dates and decisions may also take
            what artifacts leave of theirs.
        artifact_ratio: the share of the budget for artifacts: files, commands, tests, errors, ids.
        recall_ratio: the share of the budget for recalled memories, over all turns in the prompt.
        offload_tokens: when space is short, a message longer than this is shortened; the log keeps all of it.
        model_timeout: when a language model counts as failed and the summary is made by rules; while a user waits for
            the prompt, ``orchestration.model_timeout`` applies if it is shorter.
    """

    strategy: str | InstanceOf[SummaryStrategy] = "anchored"
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
    model_timeout: Duration = Field(default=timedelta(seconds=30), gt=timedelta(0))

    @model_validator(mode="after")
    def _shares_fit(self) -> Self:
        if self.keep_ratio + self.summary_ratio + self.artifact_ratio + self.recall_ratio > 1:
            raise ValueError("keep_ratio, summary_ratio, artifact_ratio and recall_ratio together must not exceed 1")
        if self.keep_least > self.keep_rounds:
            raise ValueError(f"keep_least ({self.keep_least}) must not exceed keep_rounds ({self.keep_rounds})")
        return self

    @classmethod
    def preset(cls, name: PresetName, **changes: Any) -> Self:
        """A set of settings that go together, with your changes.

        ``chat`` keeps a short window: 5 rounds (10 messages) are compacted to 3. ``conversation`` compacts 140 rounds
        to 20. ``agent`` has 100,000 tokens and keeps 30 %. ``memgpt`` warns at 70 % and flushes half of the
        conversation at 100 %, into a recursive summary.

        Raises:
            InvalidConfigError: the preset does not exist, or a change is invalid.
        """
        if name not in _PRESETS:
            raise InvalidConfigError(f"unknown preset {name!r}: choose one of {', '.join(_PRESETS)}")
        return cls.of({**_PRESETS[name], **changes})


_PRESETS: dict[str, dict[str, Any]] = {
    "chat": {"rounds": 6, "keep_rounds": 3, "keep_least": 3},
    "conversation": {"rounds": 140, "keep_rounds": 20, "max_tokens": 8000},
    "agent": {"rounds": None, "max_tokens": 100_000, "keep_ratio": 0.3},
    "memgpt": {"rounds": None, "strategy": "recursive", "pressure": 0.7, "keep_ratio": 0.5, "recall_ratio": 0.1},
}


class PromptConfig(Settings):
    """How memories are shown in a prompt; see docs/prompts.md.

    Attributes:
        place: where profile, summary and memories go: ``turn`` puts them before the words of the user's turn they
            belong to, ``message`` in separate messages before it.
        memories: the text around recalled memories, with ``{memories}`` as the placeholder.
        min_confidence: recalled turns with a lower `Hit.confidence` are left out; 0 leaves out none.
        memory_tokens: the most tokens for the user's own sentences and the recalled turns together; 0 shows neither.
        media_turns: for how many turns after its own a prompt shows a user's image, sound, video or file; later a line
            stands for it, with a handle. What a tool or the model made is shown once. None shows all media, always.
    """

    place: Literal["turn", "message"] = "turn"
    memories: str = "<memory>\n{memories}\n</memory>"
    min_confidence: float = Field(default=0.0, ge=0, le=1)
    memory_tokens: int = Field(default=870, ge=0)
    media_turns: int | None = Field(default=1, ge=0)

    @field_validator("memories")
    @classmethod
    def _has_a_place(cls, value: str) -> str:
        if value.count("{memories}") != 1 or value.strip() == "{memories}":
            raise ValueError("memories must contain {memories} once, with text around it")
        return value


class PagingConfig(Settings):
    """How a prompt is laid out for a model that pages its own memory, as in MemGPT (arXiv 2310.08560, section 2.2).

    Attributes:
        pressure: the share of the budget at which the model is warned, once until the next flush.
        flush: when the prompt no longer fits, messages leave it until they fill at most ``1 - flush`` of the budget
            that system message and blocks leave; at least one message stays.
        summary: the share of the budget for the recursive summary of flushed messages.
        artifacts: the share of the budget for files, commands, tests, errors and ids.
        blocks: the share of the budget for blocks; longer blocks are cut in the prompt, but not in the store.
    """

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
        """The compaction settings this implies: by tokens alone, into a recursive summary."""
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
