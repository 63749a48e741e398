"""All settings of a memory, from code or from YAML."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import timedelta
from math import isfinite
from pathlib import Path
from typing import Any, Literal, Protocol, Self, TypeAlias, runtime_checkable

from pydantic import Field, InstanceOf, field_validator, model_validator

from hybrid_memory.errors import InvalidConfigError, InvalidInputError
from hybrid_memory.validation import Duration, Settings, shown

DEFAULT_TOKENS = 30_000
"""Of a prompt for a model whose window is unknown: room for an agent with twenty tools and a long document."""


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
        strategy: what makes a summary: a name, or an object.
        max_tokens: the budget of a prompt; `assemble` takes another.
        rounds: compact at this many user turns.
        flush: compact when the prompt needs more than this share of its budget.
        pressure: share above which `Context.under_pressure` is true.
        density: compact when the turns to be compacted have this mean importance.
        drift: compact when the topic changes by this much. Needs an embedder.
        keep_rounds: rounds that stay verbatim if the budget allows.
        keep_least: fewest rounds to keep when rounds, not tokens, trigger.
        keep_ratio: share of the remaining budget for kept turns.
        summary_ratio: share for the summary; rules, names, numbers, dates and decisions may also take what artifacts
            leave.
        artifact_ratio: share for files, commands, tests, errors, ids.
        recall_ratio: share for recalled memories of all turns in the prompt.
        offload_tokens: when space is short, a longer message is shortened in the prompt.
        model_timeout: then rules make the summary; while a user waits, ``orchestration.model_timeout`` if shorter.
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
    def preset(cls, name: Literal["chat", "conversation", "agent", "memgpt"], **changes: Any) -> Self:
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
        memories: the text around recalled memories, with the placeholder ``{memories}``.
        min_confidence: recalled turns with less are left out.
        memory_tokens: most for the user's own sentences and recalled turns together; 0 shows neither.
        media_turns: turns after its own in which a user's image, sound, video or file is shown; then a line with a
            handle, if the model has a tool that shows it again. None: always.
    """

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
        pressure: share of the budget at which the model is warned.
        flush: when the prompt no longer fits, messages leave it until they fill at most ``1 - flush`` of what system
            message and blocks leave.
        summary: share for the recursive summary of flushed messages.
        artifacts: share for files, commands, tests, errors and ids.
        blocks: share for blocks; longer ones are cut in the prompt, but not in the store.
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
        return compaction.model_copy(
            update={
                "strategy": "recursive",
                **dict.fromkeys(("rounds", "density", "drift")),
                "flush": 1.0,
                "pressure": self.pressure,
                "keep_ratio": 1 - self.flush,
                "summary_ratio": self.summary,
                "artifact_ratio": self.artifacts,
                "recall_ratio": 0.1,
            }
        )


MOST_FIXED = 0.7  # of a budget, so that there is room for a conversation

CleaningLevel: TypeAlias = Literal["off", "light"]

OriginName: TypeAlias = Literal["operator", "user", "person", "assistant", "tool", "web", "imported"]
"""A value of `hybrid_memory.log.message.Origin`."""


class IndexConfig(Settings):
    """Where the semantic index (L2) is, if not with the log, and how its vectors are searched.

    Attributes:
        url: ``redis://host:6379/0``, ``milvus://host:19530``, ``milvus:///folder.db`` (Milvus Lite),
            ``sqlite:///file.db`` or ``memory://``; None uses the engine of the log.
        algorithm: for Milvus, by default ``ivf_flat``; Postgres and Redis take only ``flat``.
        nlist: inverted lists of ``ivf_flat``.
    """

    url: str | None = None
    algorithm: Literal["flat", "hnsw", "ivf_flat"] | None = None
    nlist: int = Field(default=1024, ge=1, le=65_536)


class ArchiveConfig(Settings):
    """Where old messages move when they leave the log (L3); they stay readable.

    Attributes:
        url: ``clickhouse://host:8123/database`` or ``chdb:///folder`` (embedded); None keeps all in the log.
        after: the age at which messages are archived.
    """

    url: str | None = None
    after: Duration = Field(default=timedelta(days=30), gt=timedelta(0))

    @model_validator(mode="after")
    def _moves_somewhere(self) -> Self:
        if self.url is None and self.after != type(self).model_fields["after"].default:
            raise ValueError("after does nothing without an archive: give its url too, such as chdb:///memory.archive")
        return self


class RetentionConfig(Settings):
    """What recall ignores because of its age. Nothing is destroyed; `forget(expired=True)` does that.

    Attributes:
        ttl: the maximum age by kind (``turn``, ``fact``) or category.
        half_life: age at which retention of an unimportant, unused record halves; None disables forgetting.
        least: records with a lower retention are ignored.
    """

    ttl: dict[Literal["turn", "fact", "preference", "task", "knowledge", "relation"], Duration] = Field(
        default_factory=dict
    )
    half_life: Duration | None = Field(default=None, gt=timedelta(0))
    least: float = Field(default=0.1, gt=0, lt=1)


class RedactionConfig(Settings):
    """What is removed from messages before they are stored; see `hybrid_memory.text.redaction` for the rules.

    Attributes:
        kinds: kinds of secrets and personal data to remove.
    """

    kinds: tuple[Literal["api key", "password", "email", "id number", "card", "iban", "phone", "ip"], ...] = ()


class LearningConfig(Settings):
    """How facts are learned.

    Attributes:
        extractor: ``statements`` takes the user's own sentences; or an installed extractor.
        model: let the language model extract facts too, if there is one.
        origins: whose words teach facts; a ``person`` only about themselves. With ``assistant`` also notes that a model
            writes with the memory tools; without it, only if the user's own turns say the same. Notes never instruct.
            Tools, web pages, imports and the assistant's turns never teach facts.
        background: learn in pauses; otherwise when facts or the profile are requested, and with `flush` and `learn`.
        delay: how long a pause is.
    """

    extractor: str = "statements"
    model: bool = True
    origins: tuple[Literal["user", "person", "assistant"], ...] = ("user", "person")
    background: bool = True
    delay: Duration = Field(default=timedelta(seconds=2), ge=timedelta(0))


class OrchestrationConfig(Settings):
    """Concurrency, batching, time limits and caches.

    Attributes:
        concurrency: tasks of one kind at the same time; work of a language model has threads of its own up to this
            number.
        background: index, learn, count uses and archive in pauses.
        batch: texts per call of the embedder.
        window: how long a batch of background work waits for more texts.
        embedding_concurrency: calls of the embedder at the same time.
        model_timeout: how long recall waits for your embedder, reranker, compressor or extractor, and a prompt for a
            language model, before going on without it. Background work, `flush` and `rebuild` wait six times as long.
        engine_timeout: how long recall waits for a server before going on without it, with a note; writes and other
            work wait 8 to 10 seconds.
        cache: embeddings kept in memory; 0 keeps none.
        cache_ttl: how long an embedding is kept.
    """

    concurrency: int = Field(default=10, ge=1, le=1000)
    background: bool = True
    batch: int = Field(default=32, ge=1, le=4096)
    window: Duration = Field(default=timedelta(milliseconds=50), ge=timedelta(0), le=timedelta(seconds=10))
    embedding_concurrency: int = Field(default=2, ge=1, le=256)
    model_timeout: Duration = Field(default=timedelta(seconds=10), gt=timedelta(0), le=timedelta(days=1))
    engine_timeout: Duration = Field(default=timedelta(seconds=2.5), gt=timedelta(0), le=timedelta(days=1))
    cache: int = Field(default=10_000, ge=0)
    cache_ttl: Duration = Field(default=timedelta(hours=1), gt=timedelta(0))


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each signal counts; the same field names as `Signals`.

    ``score = sum(weight * signal) / sum(weights)``, so a score lies in [0, 1]. With every adjustment at 0 it is exactly
    ``0.7 * vector + 0.3 * text`` for every hit. The defaults are learned. Neighbours, segment
    and importance count less for long turns; exact counts only if the query has a quotation, path or id, temporal only
    if it names a time. A hit carries the weights as applied. Recency and use are
    off by default, since no labelled data shows a benefit.

    Raises:
        InvalidInputError: a weight is negative or not finite, or all are 0.
    """

    vector: float = 0.7
    text: float = 0.3
    coverage: float = 0.43
    neighbours: float = 0.71
    segment: float = 0.3
    statement: float = 0.9
    speaker: float = 1.7
    kind: float = 0.55
    recency: float = 0.0
    importance: float = 0.39
    use: float = 0.0
    exact: float = 0.4
    temporal: float = 0.79

    def __post_init__(self) -> None:
        values = [*map(self.__getattribute__, self.__dataclass_fields__)]
        numbers = all(isinstance(value, int | float) and isfinite(value) and value >= 0 for value in values)
        if not numbers or not any(values):
            raise InvalidInputError(f"weights must be 0 or more, finite, and not all 0: {shown(self)}")

    @classmethod
    def plain(cls) -> Self:
        """Only ``0.7 * vector + 0.3 * text``."""
        return cls(**{part.name: 0.0 for part in fields(cls)} | {"vector": 0.7, "text": 0.3})

    @classmethod
    def routed(cls) -> Self:
        """Only ``0.5 * vector + 0.15 * text + 0.15 * exact + 0.2 * temporal``.

        Meaning has 0.5, time 0.2, and words 0.3: half of it for ``exact``, which counts only for quotations, paths and
        ids in the query, and half for ``text``, which counts plain keywords.
        """
        return replace(cls.plain(), vector=0.5, text=0.15, exact=0.15, temporal=0.2)

    @classmethod
    def heat(cls) -> Self:
        """Only ``0.3 * use + 0.7 * recency``: the most used and most recent of all candidates."""
        return replace(cls.plain(), vector=0.0, text=0.0, use=0.3, recency=0.7)


class RecallConfig(Settings):
    """How recall searches and scores.

    Attributes:
        weights: weights of the signals; None uses the learned ones.
        candidates: records from the vector search and from the text search, each.
        half_life: age at which a record's recency is 0.5.
        diversity: towards 1, records that repeat better ones rank lower (MMR).
        synonyms: groups of words; a query with one also matches the others.
        cache_ttl: how long an answer is reused while nothing is written; 0 disables the cache.
        ranker: the name of an installed reranker, which scores the best hits again.
        rerank_candidates: best hits that a reranker scores again; the others follow in order.
        origins: whose words recall and prompts may contain; empty means anybody's.
        min_confidence: recall leaves out hits with less. Prompts use ``prompt.min_confidence``.
        count_uses: record which records were recalled.
    """

    weights: Weights | None = None
    candidates: int = Field(default=48, ge=1, le=10_000)
    half_life: Duration = Field(default=timedelta(days=30), gt=timedelta(0))
    diversity: float = Field(default=0.0, ge=0, le=1)
    synonyms: tuple[tuple[str, ...], ...] = ()
    cache_ttl: Duration = Field(default=timedelta(seconds=300), ge=timedelta(0))
    ranker: str | None = None
    rerank_candidates: int = Field(default=30, ge=1, le=1000)
    origins: tuple[OriginName, ...] = ()
    min_confidence: float = Field(default=0.0, ge=0, le=1)
    count_uses: bool = True


class MemoryConfig(Settings):
    """All settings of a memory; `to_yaml` and `from_yaml` write and read them as a file.

    Attributes:
        url: of the log (L3) and by default the index: ``sqlite:///relative.db``, ``sqlite:////absolute.db``,
            ``postgresql://user@host/database``, ``redis://host:6379/0`` or ``memory://``.
        index: where the index (L2) is, if elsewhere.
        archive: where old messages move.
        outbox: a file that takes writes while the log is unreachable, and delivers them later; None lets them fail.
        embedder: ``auto`` is ``local`` if installed, else ``none``: words alone; ``hashing`` for tests;
            ``provider:model``, such as ``openai:text-embedding-3-small``; an installed one. Where a model is given to
            `open_memory`, its name in the store.
        language_model: what writes summaries and reads facts, such as ``ollama:qwen3``; without one, all is
            deterministic.
        power_safe: fsync before a write is acknowledged: it survives a power cut, not only a crash.
        cache_megabytes: for vectors, columns and words of recently used owners; the current one may take more.
        cleaning: ``off`` leaves fillers and stutters in what is indexed and summarised.
        recall: how recall searches and scores.
        compaction: how long conversations are compacted.
        prompt: how prompts are laid out.
        learning: how facts are learned.
        retention: what recall ignores because of its age.
        redaction: which secrets and personal data are removed from messages.
        orchestration: concurrency, batching, time limits and caches.
        trace_content: messages, queries and hits in traces, not only counts, scores and handles.

    Raises:
        InvalidConfigError: a setting is unknown or out of range.
    """

    url: str = "sqlite:///memory.db"
    index: IndexConfig = IndexConfig()
    archive: ArchiveConfig = ArchiveConfig()
    outbox: str | None = None
    embedder: str = "auto"
    language_model: str | None = None
    power_safe: bool = True
    cache_megabytes: int = Field(default=512, ge=0)
    cleaning: CleaningLevel = "light"
    recall: RecallConfig = RecallConfig()
    compaction: CompactionConfig = CompactionConfig()
    prompt: PromptConfig = PromptConfig()
    learning: LearningConfig = LearningConfig()
    retention: RetentionConfig = RetentionConfig()
    redaction: RedactionConfig = RedactionConfig()
    orchestration: OrchestrationConfig = OrchestrationConfig()
    trace_content: bool = False

    @classmethod
    def from_yaml(cls, path: str | Path) -> Self:
        """Read settings from a YAML file whose keys are the fields of this class; see `to_yaml`.

        Every setting is optional.

        Raises:
            InvalidConfigError: the file cannot be read or has mistakes; one line for each, with the setting,
                its value and what is allowed, or the place of what is no YAML.
        """
        from hybrid_memory.config import yaml  # noqa: PLC0415 - only who reads YAML pays for it

        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise InvalidConfigError(f"cannot read {path}: {error}") from error
        return yaml.loaded(cls, content, str(path))

    def to_yaml(self, *, passwords: bool = False) -> str:
        """All settings as YAML for `from_yaml`; raises `InvalidConfigError` for a setting that is an object.

        Args:
            passwords: include the passwords of URLs; otherwise ``***`` replaces user and password.
        """
        from hybrid_memory.config import yaml  # noqa: PLC0415 - only who writes YAML pays for it

        return yaml.dumped(self, passwords=passwords)
