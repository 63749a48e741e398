"""Models by name: our own, ``provider:model``, and those that installed packages register."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from hybrid_memory.errors import (
    HybridMemoryError,
    InvalidConfigError,
    InvalidInputError,
    MissingDependencyError,
    TextOnlyWarning,
)
from hybrid_memory.models.embedders import (
    LOCAL_MODEL,
    HashingEmbedder,
    LocalEmbedder,
    WrappedEmbedder,
    as_embedder,
    name_of,
    passages_in_script,
    query_in_script,
)
from hybrid_memory.models.port import Embedder
from hybrid_memory.sockets import GROUPS, load, registered

OURS = {"auto", "local", "none", "hashing"}  # embedders of this library by name


def any_embedder(choice: Any) -> Embedder:
    """The given embedder, or the one of this name; raises `InvalidInputError` if it cannot be created."""
    if not isinstance(choice, str):
        return as_embedder(choice)
    if (model := embedder_of(choice)) is None:
        raise InvalidInputError(f"the embedder {choice!r} makes no vectors: name another embedder, or give a model")
    return model


def embedder_of(name: str) -> Embedder | None:  # noqa: PLR0911 - one for each kind
    """The embedder of this name; None if recall uses words alone.

    Raises `InvalidConfigError` if the name is unknown, or the embedder cannot be created, for example without its API
    key.
    """
    if name == "none":
        return None
    if name == "hashing":
        return HashingEmbedder()
    if name in OURS:
        try:
            return LocalEmbedder()
        except MissingDependencyError as error:
            if name == "local":
                raise
            warnings.warn(
                f"recall works with words alone: {error}; or give open_memory(embedder=...) a LangChain Embeddings, a "
                "LlamaIndex BaseEmbedding or a callable; or silence this with MemoryConfig(embedder='none')",
                TextOnlyWarning,
                stacklevel=3,
            )
            return None
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
    if provider in _RUN_HERE:
        return _run_here(provider, model)
    offered = _asked(provider, "embedder", provider, model)
    if wants_prefixes(model):
        return WrappedEmbedder(_prefixed(offered), name=f"{name_of(offered)}+prefixes")
    return WrappedEmbedder(offered)


def given_embedder(embedder: Any, name: str) -> Embedder:
    """The given embedder, under the name in the configuration if that is one of your own."""
    model = as_embedder(embedder)
    # With provider:model it has its own name, as if it had been named alone.
    if name in OURS or ":" in name or name == model.name:
        return model
    return WrappedEmbedder(embedder, name=name)


def language_model_of(choice: Any) -> Any:
    """The model itself, or the one named ``provider:model``; raises the same errors as `embedder_of`."""
    if not isinstance(choice, str):
        return choice
    provider, _, model = choice.partition(":")
    if not (provider and model):
        raise InvalidConfigError(f"language_model must be provider:model, such as ollama:qwen3, got {choice!r}")
    return _asked(provider, "language_model", provider, model)


def _asked(provider: str, what: str, *given: str) -> Any:
    """The model that a provider creates; any failure is a configuration error."""
    offers = provider if provider in registered("model provider") else "langchain"
    make = getattr(load("model provider", offers, {}), what)
    try:
        return make(*given)
    except HybridMemoryError:
        raise
    except Exception as error:  # each provider raises what it likes
        raise InvalidConfigError(f"{what} {':'.join(given)!r} cannot be used: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:400] or type(error).__name__


def wants_prefixes(model: str) -> bool:
    """Whether a model of this name belongs to the E5 family, except those that follow instructions."""
    return bool(re.search(r"(?:^|[-_./])e5(?:[-_.]|$)", model.lower())) and "instruct" not in model.lower()


def _model_of(documents: Callable[[list[str]], Any], query: Callable[[str], Any]) -> Any:
    return SimpleNamespace(embed_documents=documents, embed_query=query)


def _prefixed(model: Any) -> Any:
    """The model with the prefixes that the E5 family needs before a text; hardly any client adds them."""
    return _model_of(
        lambda texts: model.embed_documents([f"passage: {text}" for text in texts]),
        lambda text: model.embed_query(f"query: {text}"),
    )


def _run_here(provider: str, model: str) -> WrappedEmbedder:
    """The model of this name, or in this folder, run in this process; the package downloads missing weights."""
    try:
        made = WrappedEmbedder(_RUN_HERE[provider](model), name=f"{provider}/{model}")
    except ImportError as error:
        raise MissingDependencyError((error.name or provider).replace("_", "-")) from error
    except Exception as error:  # a hub that cannot be reached, a file that is no model
        raise InvalidConfigError(f"embedder {provider}:{model} cannot be used: {_reason(error)}") from error
    if not model.rstrip("/").lower().endswith(LOCAL_MODEL):
        return made
    with_script = _model_of(  # the local embedder's last coordinate
        lambda texts: passages_in_script(made.embed_documents(texts), texts),
        lambda text: query_in_script(made.embed_query(text), text),
    )
    return WrappedEmbedder(with_script, name=f"{made.name}+script")


def _fastembed(model: str) -> Any:
    from fastembed import TextEmbedding  # noqa: PLC0415 - optional
    from fastembed.common.model_description import ModelSource, PoolingType  # noqa: PLC0415 - optional

    known = {described["model"].lower() for described in TextEmbedding.list_supported_models()}
    folder, name = Path(model).expanduser(), model
    settings: dict[str, Any] = {"specific_model_path": str(folder)} if folder.is_dir() else {}
    if settings or (model.lower() not in known and wants_prefixes(model)):
        name = f"hybrid-memory/{model}"  # fastembed lists no such model until it is added
        if name.lower() not in known:  # averaged over its tokens, of unit length
            mean, source = PoolingType.MEAN, ModelSource(hf=model)
            TextEmbedding.add_custom_model(name, pooling=mean, normalization=True, sources=source, dim=0)
    loaded = TextEmbedding(name, **settings)
    plain = _model_of(lambda texts: np.stack(list(loaded.embed(texts))), lambda text: next(iter(loaded.embed([text]))))
    if wants_prefixes(model):
        return _prefixed(plain)
    return _model_of(
        lambda texts: np.stack(list(loaded.passage_embed(texts))), lambda text: next(iter(loaded.query_embed(text)))
    )


def _sentence_transformers(model: str) -> Any:
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - optional

    loaded = SentenceTransformer(model)
    if any(loaded.prompts.values()):
        return _model_of(loaded.encode_document, loaded.encode_query)
    plain = _model_of(loaded.encode, loaded.encode)
    return _prefixed(plain) if wants_prefixes(model) else plain


_RUN_HERE = {"fastembed": _fastembed, "sentence-transformers": _sentence_transformers}
"""Providers that run an embedder in this process, without a framework."""
