"""All settings of a memory; those of prompts have a module of their own."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import timedelta
from math import isfinite
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field

from hybrid_memory.config.compaction import CompactionConfig, PromptConfig
from hybrid_memory.errors import InvalidConfigError, InvalidInputError
from hybrid_memory.validation import Duration, Settings, shown, storable

CleaningLevel: TypeAlias = Literal["off", "light", "strong"]


OriginName: TypeAlias = Literal["operator", "user", "person", "assistant", "tool", "web", "imported"]
"""A value of `hybrid_memory.log.origin.Origin`."""


ConflictRule: TypeAlias = Literal["newest", "trusted", "ask"]


def _clean_url(url: str) -> str:
    if len(url) > MAX_URL_CHARS or "\x00" in url:
        raise ValueError(f"a URL has no NUL, and at most {MAX_URL_CHARS:,} characters")
    return str(storable(url))


MAX_URL_CHARS = 4096

StoreUrl: TypeAlias = Annotated[str, AfterValidator(_clean_url)]
"""Where an engine is."""


class IndexConfig(Settings):
    """Where the semantic index (L2) is, if it is not beside the log, and how its vectors are searched.

    Attributes:
        url: ``redis://host:6379/0``, ``milvus://host:19530``, ``milvus:///folder.db`` (Milvus Lite),
            ``sqlite:///file.db`` or ``memory://``; None is the engine of the log.
        algorithm: of Redis (``flat``, ``hnsw``) or Milvus (``flat``, ``ivf_flat``, ``hnsw``); None is the engine's own
            default, exact in Redis and ``ivf_flat`` in Milvus. The embedded index chooses by itself.
        nlist: inverted lists of ``ivf_flat``.
    """

    url: StoreUrl | None = None
    algorithm: Literal["flat", "hnsw", "ivf_flat"] | None = None
    nlist: int = Field(default=1024, ge=1, le=65_536)


class ArchiveConfig(Settings):
    """Where messages go when they leave the log (L3) for their age; they stay readable.

    Attributes:
        url: ``clickhouse://host:8123/database`` or ``chdb:///folder`` (the embedded engine); None keeps all in the log.
        after: the age from which on they go.
    """

    url: StoreUrl | None = None
    after: Duration = Field(default=timedelta(days=30), gt=timedelta(0))


class RetentionConfig(Settings):
    """What recall leaves out because of its age; nothing is destroyed, `forget(expired=True)` does that.

    Attributes:
        ttl: the longest age by kind (``turn``, ``fact``) or category (``preference``, ``task``, ``knowledge``,
            ``relation``).
        half_life: after this time a record of no importance that was never used is half forgotten; None forgets
            nothing. See `hybrid_memory.store.forget`.
        least: records that are retained less than this are left out; in (0, 1).
    """

    ttl: dict[Literal["turn", "fact", "preference", "task", "knowledge", "relation"], Duration] = Field(
        default_factory=dict
    )
    half_life: Duration | None = Field(default=None, gt=timedelta(0))
    least: float = Field(default=0.1, gt=0, lt=1)


class RedactionConfig(Settings):
    """What is taken out of messages before they are stored; see `hybrid_memory.text.redaction` for the rules.

    Attributes:
        kinds: of secrets and personal data; none by default.
        keep_original: keep the original in the log, for `history` and prompts; only the index, the facts and the
            profile are without it then.
    """

    kinds: tuple[Literal["api key", "password", "email", "id number", "card", "iban", "phone", "ip"], ...] = ()
    keep_original: bool = False


class LearningConfig(Settings):
    """How facts are learned.

    Attributes:
        conflicts: who wins where two authors disagree about a thing that has one value: the ``newest`` word, the
            author who is ``trusted`` more, or nobody until it is resolved (``ask``). An author's own newer word wins.
        extractor: what reads claims from turns: ``sentences`` by their meaning, with the local embedder, ``rules`` by
            wording alone, or the name of an installed one.
        model: let the language model read the turns too, where there is one.
        origins: whose words facts are read from: the ``user``'s, and those of a ``person`` who speaks under a name of
            their own, who can say things about themselves and give no instructions. With ``assistant`` the notes that a
            model makes for the user with the memory's tools count as the user's facts, as where nothing else is ever
            said; without it only what the user's own turns say as well. Notes never instruct. Nothing that a tool, a
            page of the web or an import says, nor the assistant's own turns, is ever read as a fact.
        background: learn without being asked, on a thread of its own, once the conversation has been quiet for
            ``delay``; otherwise when facts or the profile are asked for, and with `flush` and `learn`.
        delay: the quiet after a write.
    """

    conflicts: ConflictRule = "newest"
    extractor: str = "sentences"
    model: bool = True
    origins: tuple[Literal["user", "person", "assistant"], ...] = ("user", "person")
    background: bool = True
    delay: Duration = Field(default=timedelta(seconds=2), ge=timedelta(0))


class OrchestrationConfig(Settings):
    """Where and when work runs.

    Attributes:
        concurrency: tasks of one kind that run at the same time.
        background: index and learn on threads of the library once the conversation pauses, record what was used, and
            archive what is old.
        batch: texts that are embedded in one call of the embedder.
        window: how long a batch of background work may wait for more.
        embedding_concurrency: calls of the embedder at the same time.
        model_timeout: how long recall waits for one answer of a model that was given (embedder, ranker, compressor,
            extractor), and a prompt for one of a language model, and then does without; work in the background, `flush`
            and `rebuild` wait six times as long. For a language model that nobody waits for it is
            ``compaction.model_timeout``. A model that hangs is asked again only now and then.
        engine_timeout: how long recall waits for one answer of a server (of log, index or archive), and then makes do
            with what else there is, with a note; writes and all other work wait 8 to 10 seconds. A server that is
            silent is asked again only now and then.
        cache: embeddings of queries and texts that are kept in memory; 0 keeps none.
        cache_ttl: how long.
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

    ``score = sum(weight * signal) / sum(weights)``, so it stays in [0, 1]; with every adjustment at 0 it is exactly
    ``0.7 * vector + 0.3 * text``. An adjustment at 0 is off. The defaults are those of the ranker ``learned-1``, and
    `fixed` those of ``weighted-mean``. Neighbours, segment and importance fade where turns are long; current counts
    only where something that was found is out of date, exact where the query quotes something or has a path or an id,
    temporal where it names a time. A hit carries the weights as they were applied. Recency and use are off by default:
    no labelled set at hand shows what they are worth.

    Raises:
        InvalidInputError: a weight is negative or not finite, or all are 0.
    """

    vector: float = 0.7
    text: float = 0.3
    closeness: float = 0.17
    coverage: float = 0.43
    neighbours: float = 0.71
    segment: float = 0.3
    alike: float = 0.11
    statement: float = 0.9
    speaker: float = 1.7
    kind: float = 0.55
    recency: float = 0.0
    importance: float = 0.39
    use: float = 0.0
    current: float = 1.0
    exact: float = 0.4
    temporal: float = 0.79

    def __post_init__(self) -> None:
        values = [getattr(self, part.name) for part in fields(self)]
        numbers = all(isinstance(value, int | float) and isfinite(value) and value >= 0 for value in values)
        if not numbers or not any(values):
            raise InvalidInputError(f"weights must be 0 or more, finite, and not all 0: {shown(self)}")

    @classmethod
    def plain(cls) -> Self:
        """``0.7 * vector + 0.3 * text`` and nothing else."""
        return cls(**{part.name: 0.0 for part in fields(cls)} | {"vector": 0.7, "text": 0.3})

    @classmethod
    def fixed(cls) -> Self:
        """Those of the ranker ``weighted-mean``: vector, text and six adjustments whose signals were not learned."""
        adjusted = {"neighbours": 0.3, "segment": 0.4, "importance": 0.3, "current": 1.0, "exact": 0.4, "temporal": 0.4}
        return replace(cls.plain(), **adjusted)

    @classmethod
    def routed(cls) -> Self:
        """``0.5 * vector + 0.15 * text + 0.15 * exact + 0.2 * temporal`` and nothing else.

        By meaning 0.5, by time 0.2, and word for word 0.3: shared by ``exact``, which counts only where the query
        quotes something or has a path or an id, and ``text``, by which plain keywords count.
        """
        return replace(cls.plain(), vector=0.5, text=0.15, exact=0.15, temporal=0.2)

    @classmethod
    def heat(cls) -> Self:
        """``0.3 * use + 0.7 * recency`` and nothing else: what is in use and new, among what the paths found."""
        return replace(cls.plain(), vector=0.0, text=0.0, use=0.3, recency=0.7)


class RecallConfig(Settings):
    """How recall searches and scores.

    Attributes:
        weights: of the signals; None are the ranker's own, see `Weights`.
        candidates: how many records each of the vector and the text path brings in.
        half_life: after this time a record's recency is 0.5.
        diversity: 0 ranks by score alone; towards 1, records that repeat better ones fall back (MMR).
        synonyms: groups of words that mean the same; where a query has one, the others are looked for too.
        cache_ttl: an answer is given again within this time, if nothing was written since; 0 finds each one anew.
        ranker: what scores the candidates: ``learned-1``, the weighted mean of signals that were learned;
            ``weighted-mean``, that of signals as they are; or the name of an installed one.
        rerank_candidates: how many of the best a reranker scores anew; the others stay behind, in our order.
        origins: whose words recall may return, and prompts with it, of those in `Origin`; empty means anybody's.
        min_confidence: what recall leaves out is less sure than this to answer, see `Hit.confidence`; 0 leaves out
            nothing. Of prompts ``prompt.min_confidence`` is.
        count_uses: record in the log which records were recalled, in batches; see `Record.uses`.
    """

    weights: Weights | None = None
    candidates: int = Field(default=48, ge=1, le=10_000)
    half_life: Duration = Field(default=timedelta(days=30), gt=timedelta(0))
    diversity: float = Field(default=0.0, ge=0, le=1)
    synonyms: tuple[tuple[str, ...], ...] = ()
    cache_ttl: Duration = Field(default=timedelta(seconds=300), ge=timedelta(0))
    ranker: str = "learned-1"
    rerank_candidates: int = Field(default=30, ge=1, le=1000)
    origins: tuple[OriginName, ...] = ()
    min_confidence: float = Field(default=0.0, ge=0, le=1)
    count_uses: bool = True


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
        exact_limit: vectors of one owner that are searched exactly; beyond, the embedded store keeps a byte a dimension
            in a file that it maps, finds candidates there, and scores them exactly.
        cache_megabytes: memory for the vectors and columns of the owners used last, on the embedded store; mapped files
            do not count, and the owner in use may take more.
        cleaning: how much of fillers, stutters and padding is left out of what is indexed and summarised; the log keeps
            all, and prompts show turns as they were said.
        recall: how recall searches and scores.
        compaction: how long conversations are compacted.
        prompt: how prompts are laid out.
        learning: how facts are learned.
        retention: what recall leaves out because of its age.
        redaction: secrets and personal data that are taken out of messages.
        orchestration: where and when work runs.
        trace_content: whether traces show what was said, asked and recalled; without it they have counts, scores and
            handles only.

    Raises:
        InvalidConfigError: an unknown setting or a value out of range.
    """

    url: StoreUrl = "sqlite:///memory.db"
    index: IndexConfig = IndexConfig()
    archive: ArchiveConfig = ArchiveConfig()
    outbox: str | None = None
    embedder: str = "auto"
    power_safe: bool = True
    exact_limit: int = Field(default=50_000, ge=1)
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

    def to_yaml(self, *, passwords: bool = False) -> str:
        """All settings, as `from_yaml` reads them; raises `InvalidConfigError` for an object that no file can hold.

        Args:
            passwords: with those of URLs; without, ``***`` stands for user and password.
        """
        from hybrid_memory.config import yaml  # noqa: PLC0415 - only who writes YAML pays for it

        return yaml.dumped(self, passwords=passwords)
