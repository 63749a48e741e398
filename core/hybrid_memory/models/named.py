"""Models by name: our own, ``provider:model``, and those that installed packages register."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from hybrid_memory.errors import (
    HybridMemoryError,
    InvalidConfigError,
    InvalidInputError,
    MissingDependencyError,
    TextOnlyWarning,
)
from hybrid_memory.models.embedders import HashingEmbedder, LocalEmbedder, WrappedEmbedder, as_embedder, name_of
from hybrid_memory.models.port import Embedder
from hybrid_memory.sockets import GROUPS, load, registered

OURS = {"auto", "local", "none", "hashing"}
"""Embedders of this library by name."""

RUN_HERE = {"fastembed", "sentence-transformers"}
"""Providers that run an embedder in this process, without a framework."""

FRAMEWORK = "langchain"
"""The module for providers that no package registers."""


def any_embedder(wanted: Any) -> Embedder:
    """The given embedder, or the one of this name; raises `InvalidInputError` if it cannot be created."""
    if not isinstance(wanted, str):
        return as_embedder(wanted)
    try:
        model = embedder_of(wanted)
    except InvalidConfigError as error:
        raise InvalidInputError(str(error)) from error
    if model is None:
        raise InvalidInputError(f"the embedder {wanted!r} makes no vectors: name another embedder, or give a model")
    return model


def embedder_of(wanted: str) -> Embedder | None:
    """The embedder of this name; None if recall uses words alone.

    Raises:
        InvalidConfigError: the name is unknown, or the embedder cannot be created, for example without its API key.
        MissingDependencyError: a package that it needs is not installed.
    """
    if wanted not in OURS:
        return _other(wanted)
    if wanted == "none":
        return None
    if wanted == "hashing":
        return HashingEmbedder()
    try:
        return LocalEmbedder()
    except MissingDependencyError as error:
        if wanted == "local":
            raise
        warnings.warn(
            f"recall works with words alone: {error}; or give open_memory(embedder=...) a LangChain Embeddings, a "
            "LlamaIndex BaseEmbedding or a callable; or silence this with MemoryConfig(embedder='none')",
            TextOnlyWarning,
            stacklevel=3,
        )
        return None


def given_embedder(embedder: Any, name: str) -> Embedder:
    """The given embedder, under the name in the configuration."""
    model = as_embedder(embedder)
    if name in OURS or name == model.name or name in getattr(model, "also", ()):
        return model
    # Somebody may have opened the store by this name alone, and so under the model's own.
    return WrappedEmbedder(embedder, name=name, also={model.name} if ":" in name else ())


def language_model_of(wanted: Any) -> Any:
    """The model itself, or the one named ``provider:model``; raises the same errors as `embedder_of`."""
    if not isinstance(wanted, str):
        return wanted
    provider, _, model = wanted.partition(":")
    if not (provider and model):
        raise InvalidConfigError(f"language_model must be provider:model, such as ollama:qwen3, got {wanted!r}")
    return _asked(provider, "language_model", provider, model)


def _other(name: str) -> Embedder:
    if name in registered("embedder"):
        offered = load("embedder", name, {})
        return as_embedder(offered() if callable(offered) else offered)
    provider, _, model = name.partition(":")
    if not (provider and model):
        raise InvalidConfigError(
            f"the embedder {name!r} is none of ours: give the model to open_memory(embedder=...), use auto, local, "
            "none, hashing or provider:model, such as openai:text-embedding-3-small, or install a package that "
            f"registers it under {GROUPS['embedder']}"
        )
    if provider in RUN_HERE:
        made: Embedder = import_module("hybrid_memory.models.run_here").embedder(provider, model)
        return made
    from hybrid_memory.models.prefixes import prefixed, wants_prefixes  # noqa: PLC0415 - only with a provider

    offered = _asked(provider, "embedder", provider, model)
    if wants_prefixes(model):
        return WrappedEmbedder(prefixed(offered), name=f"{name_of(offered)}+prefixes")
    return WrappedEmbedder(offered, also={name})


def _asked(provider: str, what: str, *given: str) -> Any:
    """The model that a provider creates; any failure is a configuration error."""
    others = registered("model provider")
    make = getattr(load("model provider", provider if provider in others else FRAMEWORK, {}), what)
    try:
        return make(*given)
    except HybridMemoryError:
        raise
    except Exception as error:  # each provider raises what it likes
        said = " ".join(str(error).split())[:400] or type(error).__name__
        raise InvalidConfigError(f"{what} {':'.join(given)!r} cannot be used: {said}") from error
