"""How a prompt is laid out."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import ConfigDict, field_validator

from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.validation import CheckedModel


class PromptConfig(CheckedModel):
    """How a prompt is laid out; see docs/prompts.md.

    Attributes:
        place: of what was learned, summarised and recalled: ``turn`` in front of the words of the user's turn that it
            belongs to, ``message`` as messages of their own before it.
        memories: what recalled memories stand in, with ``{memories}`` where they come.

    Raises:
        InvalidConfigError: an unknown setting or a value out of range.
    """

    model_config = ConfigDict(extra="forbid")

    invalid_error: ClassVar = InvalidConfigError

    place: Literal["turn", "message"] = "turn"
    memories: str = "<memory>\n{memories}\n</memory>"

    @field_validator("memories")
    @classmethod
    def _has_a_place(cls, value: str) -> str:
        if value.count("{memories}") != 1 or value.strip() == "{memories}":
            raise ValueError("memories must hold {memories} once, with a mark around it")
        return value
