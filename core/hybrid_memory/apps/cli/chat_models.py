"""Chat models by name, as somebody writes them behind an option."""

from __future__ import annotations

import importlib
import os
from typing import Any

from hybrid_memory.errors import InvalidInputError, MissingDependencyError

NO_KEY = "none"
"""A server of one's own asks for no key, but the client insists on one."""


def chat_model(name: str, *, base_url: str | None = None) -> Any:
    """A chat model of LangChain, made by its ``init_chat_model``.

    Args:
        name: ``provider:model``, such as ``anthropic:claude-sonnet-4-5``; of an endpoint just the model.
        base_url: of an endpoint that speaks OpenAI's API; its key is taken from ``OPENAI_API_KEY``.

    Raises:
        MissingDependencyError: LangChain is not installed.
        InvalidInputError: there is no such provider, its package is not installed, or its key is missing.
    """
    try:
        # By name, as the core knows no framework.
        make = importlib.import_module("langchain.chat_models").init_chat_model
    except ImportError as error:
        raise MissingDependencyError("langchain", extra="langchain") from error
    given: dict[str, Any] = {}
    if base_url is not None:
        key = os.environ.get("OPENAI_API_KEY") or NO_KEY
        given = {"model_provider": "openai", "base_url": base_url, "api_key": key}
    elif not all(name.partition(":")):
        raise InvalidInputError(f"the model {name!r} has no provider: give it as provider:model, or give its base URL")
    try:
        return make(name, **given)
    except Exception as error:  # each provider raises what it likes
        said = str(error).partition("\n")[0] or type(error).__name__
        raise InvalidInputError(f"the model {name!r} cannot be used: {said}") from error
