"""Where the semantic index and the archive are."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar, Literal

from pydantic import ConfigDict, Field

from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.validation import CheckedModel


class IndexConfig(CheckedModel):
    """Where the semantic index (L2) is, if it is not beside the log, and how its vectors are searched.

    Attributes:
        url: ``redis://host:6379/0``, ``milvus://host:19530``, ``milvus:///folder.db`` (Milvus Lite),
            ``sqlite:///file.db`` or ``memory://``; None is the engine of the log.
        algorithm: of Redis (``flat``, ``hnsw``) or Milvus (``flat``, ``ivf_flat``, ``hnsw``); None is the engine's own
            default, exact in Redis and ``ivf_flat`` in Milvus. The embedded index chooses by itself.
        nlist: inverted lists of ``ivf_flat``.

    Raises:
        InvalidConfigError: an unknown setting or a value out of range.
    """

    model_config = ConfigDict(extra="forbid")

    invalid_error: ClassVar = InvalidConfigError

    url: str | None = None
    algorithm: Literal["flat", "hnsw", "ivf_flat"] | None = None
    nlist: int = Field(default=1024, ge=1, le=65_536)


class ArchiveConfig(CheckedModel):
    """Where messages go when they leave the log (L3) for their age; they stay readable.

    Attributes:
        url: ``clickhouse://host:8123/database`` or ``chdb:///folder`` (the embedded engine); None keeps all in the log.
        after: the age from which on they go.

    Raises:
        InvalidConfigError: an unknown setting or a value out of range.
    """

    model_config = ConfigDict(extra="forbid")

    invalid_error: ClassVar = InvalidConfigError

    url: str | None = None
    after: timedelta = Field(default=timedelta(days=30), gt=timedelta(0))
