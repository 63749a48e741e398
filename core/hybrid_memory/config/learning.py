"""How facts are learned."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Field

from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.validation import CheckedModel

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
