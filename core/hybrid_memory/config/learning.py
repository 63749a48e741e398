"""How facts are learned, and where and when background work runs."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, TypeAlias

from pydantic import Field

from hybrid_memory.validation import Duration, Settings

ConflictRule: TypeAlias = Literal["newest", "trusted", "ask"]


class LearningConfig(Settings):
    """How facts are learned.

    Attributes:
        conflicts: who wins where two authors disagree about a thing that has one value: the ``newest`` word, the
            author who is ``trusted`` more, or nobody until it is resolved (``ask``). An author's own newer word wins.
        extractor: what reads claims from turns: ``rules``, or the name of an installed one.
        model: let the language model read the turns too, where there is one; rules always do.
        background: learn without being asked, on a thread of its own, once the conversation has been quiet for
            ``delay``; otherwise when facts or the profile are asked for, and with `flush` and `learn`.
        delay: the quiet after a write.

    Raises:
        InvalidConfigError: an unknown setting or a value out of range.
    """

    conflicts: ConflictRule = "newest"
    extractor: str = "rules"
    model: bool = True
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
        cache: embeddings of queries and texts that are kept in memory; 0 keeps none.
        cache_ttl: how long.

    Raises:
        InvalidConfigError: an unknown setting or a value out of range.
    """

    concurrency: int = Field(default=10, ge=1, le=1000)
    background: bool = True
    batch: int = Field(default=32, ge=1, le=4096)
    window: Duration = Field(default=timedelta(milliseconds=50), ge=timedelta(0), le=timedelta(seconds=10))
    embedding_concurrency: int = Field(default=2, ge=1, le=256)
    cache: int = Field(default=10_000, ge=0)
    cache_ttl: Duration = Field(default=timedelta(hours=1), gt=timedelta(0))
