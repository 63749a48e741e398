"""What the model of an agent tells of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel

from hybrid_memory import CompactionConfig
from hybrid_memory.context.view import budget_of


def budget_for(model: Any, config: CompactionConfig) -> int:
    """Tokens of a prompt: as configured, else by the window in the model's profile, else by default."""
    profile = getattr(model, "profile", None)
    window = profile.get("max_input_tokens") if isinstance(profile, Mapping) else None
    if "max_tokens" in config.model_fields_set or not isinstance(window, int) or window <= 0:
        return config.max_tokens
    answer = profile.get("max_output_tokens") if isinstance(profile, Mapping) else None
    return budget_of(window, answer if isinstance(answer, int) and answer > 0 else None)


def can_call(model: Any) -> bool:
    """Whether tools can be bound to the model."""
    return not isinstance(model, BaseChatModel) or type(model).bind_tools is not BaseChatModel.bind_tools
