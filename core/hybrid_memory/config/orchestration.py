"""Where and when work runs."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from pydantic import ConfigDict, Field

from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.validation import CheckedModel


class OrchestrationConfig(CheckedModel):
    """Where and when work runs.

    Attributes:
        concurrency: tasks of one kind that run at the same time.
        background: index and learn on threads of the library, once the conversation pauses; and note what was used,
            archive what is old.
        batch: texts that are embedded in one call of the embedder.
        window: how long a batch of background work may wait for more.
        embedding_concurrency: calls of the embedder at the same time.
        cache: embeddings of queries and texts that are kept in memory; 0 keeps none.
        cache_ttl: how long.

    Raises:
        InvalidConfigError: an unknown setting or a value out of range.
    """

    model_config = ConfigDict(extra="forbid")

    invalid_error: ClassVar = InvalidConfigError

    concurrency: int = Field(default=10, ge=1, le=1000)
    background: bool = True
    batch: int = Field(default=32, ge=1, le=4096)
    window: timedelta = Field(default=timedelta(milliseconds=50), ge=timedelta(0), le=timedelta(seconds=10))
    embedding_concurrency: int = Field(default=2, ge=1, le=256)
    cache: int = Field(default=10_000, ge=0)
    cache_ttl: timedelta = Field(default=timedelta(hours=1), gt=timedelta(0))
