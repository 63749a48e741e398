"""Settings of a memory, from code or from YAML."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import ConfigDict, Field

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


class MemoryConfig(CheckedModel):
    """Settings of a memory; `to_yaml` and `from_yaml` carry them in a file.

    Attributes:
        url: where the store is: ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or ``memory://``.
        embedder: ``auto`` is ``local`` if it is installed, else text only; ``local``; ``none`` for text only;
            ``hashing`` for tests.
        power_safe: fsync before a write is acknowledged, so that it survives a power cut and not only a crash.
        exact_limit: vectors of one owner that are searched exactly; beyond, FAISS searches approximately.
        recall: how recall searches and scores.

    Raises:
        InvalidConfigError: an unknown setting or a value out of range.
    """

    model_config = ConfigDict(extra="forbid")

    invalid_error: ClassVar = InvalidConfigError

    url: str = "sqlite:///memory.db"
    embedder: Literal["auto", "local", "none", "hashing"] = "auto"
    power_safe: bool = True
    exact_limit: int = Field(default=50_000, ge=1)
    recall: RecallConfig = RecallConfig()

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
