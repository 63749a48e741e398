"""Models that LangChain creates by name, for ``open_memory(embedder="provider:model", language_model=...)``."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from hybrid_memory.errors import MissingDependencyError

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

ALIASES = {"google": "google_genai", "mistral": "mistralai", "voyage": "voyageai"}
"""Short names of providers."""

_INSTALL = re.compile(r"pip install ([\w-]+)")


def embedder(provider: str, model: str) -> Embeddings:
    """The embedder made by ``init_embeddings``, for all its providers, and for Voyage, which it does not know.

    Raises:
        MissingDependencyError: LangChain or the provider's package is not installed.
        ValueError: there is no such provider. For a missing key, the provider's own error is raised.
    """
    provider = _known(provider)
    if provider == "voyageai":
        return cast("Embeddings", _made("langchain_voyageai", "VoyageAIEmbeddings", model=model))
    # What comes fits. Without its own cutting, for which it downloads a tokenizer and sends numbers in place of words,
    # it speaks to other servers of this protocol too.
    settings = {"check_embedding_ctx_length": False} if provider == "openai" else {}
    made = _made("langchain.embeddings", "init_embeddings", model, provider=provider, **settings)
    return cast("Embeddings", made)


def language_model(provider: str, model: str) -> BaseChatModel:
    """The chat model made by ``init_chat_model``; raises the same errors as `embedder`."""
    made = _made("langchain.chat_models", "init_chat_model", model, model_provider=_known(provider))
    return cast("BaseChatModel", made)


def _known(provider: str) -> str:
    name = provider.strip().lower().replace("-", "_")
    return ALIASES.get(name, name)


def _made(module: str, name: str, *args: Any, **settings: Any) -> Any:
    try:
        make: Callable[..., Any] = getattr(import_module(module), name)
    except ImportError as error:
        package = module.partition(".")[0]
        extra = "langchain" if package == "langchain" else None
        raise MissingDependencyError(package.replace("_", "-"), extra) from error
    try:
        return make(*args, **settings)
    except ImportError as error:
        wanted = _INSTALL.search(str(error))
        raise MissingDependencyError(wanted[1] if wanted else error.name or str(error)) from error
