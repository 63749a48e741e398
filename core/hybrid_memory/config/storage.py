"""Where records are kept, and what is not kept."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import Field

from hybrid_memory.validation import Duration, Settings


class IndexConfig(Settings):
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

    url: str | None = None
    algorithm: Literal["flat", "hnsw", "ivf_flat"] | None = None
    nlist: int = Field(default=1024, ge=1, le=65_536)


class ArchiveConfig(Settings):
    """Where messages go when they leave the log (L3) for their age; they stay readable.

    Attributes:
        url: ``clickhouse://host:8123/database`` or ``chdb:///folder`` (the embedded engine); None keeps all in the log.
        after: the age from which on they go.

    Raises:
        InvalidConfigError: an unknown setting or a value out of range.
    """

    url: str | None = None
    after: Duration = Field(default=timedelta(days=30), gt=timedelta(0))


class RetentionConfig(Settings):
    """What recall leaves out because of its age; nothing is destroyed, `forget(expired=True)` does that.

    Attributes:
        ttl: the longest age by kind (``turn``, ``fact``) or category (``preference``, ``task``, ``knowledge``,
            ``relation``).
        half_life: after this time a record of no importance that was never used is half forgotten; None forgets
            nothing. See `hybrid_memory.store.retention`.
        least: records that are retained less than this are left out; in (0, 1).

    Raises:
        InvalidConfigError: an unknown setting or a value out of range.
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

    Raises:
        InvalidConfigError: an unknown setting or kind.
    """

    kinds: tuple[Literal["api key", "password", "email", "id number", "card", "iban", "phone", "ip"], ...] = ()
    keep_original: bool = False
