"""What is not kept: what is too old for recall, and what is never stored."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar, Literal

from pydantic import ConfigDict, Field

from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.validation import CheckedModel


class RetentionConfig(CheckedModel):
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
