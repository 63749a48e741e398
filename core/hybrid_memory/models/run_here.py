"""Embedders that run in this process, by the name of their model: fastembed and Sentence Transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.errors import InvalidConfigError, MissingDependencyError
from hybrid_memory.models.embedders import WrappedEmbedder, checked_rows, passages_in_script, query_in_script
from hybrid_memory.models.prefixes import prefixed, wants_prefixes
from hybrid_memory.models.stand_ins import LOCAL_MODEL, model_in

CUSTOM = "hybrid-memory"
"""The names under which a model that fastembed does not list is registered with it."""


def embedder(provider: str, model: str) -> WrappedEmbedder:
    """The model of this name, or in this folder; the package downloads missing weights.

    Raises:
        MissingDependencyError: the package is not installed.
        InvalidConfigError: the model does not exist, or cannot be loaded.
    """
    try:
        made = _MAKERS[provider](model)
    except ImportError as error:
        raise MissingDependencyError((error.name or provider).replace("_", "-")) from error
    except Exception as error:  # a hub that cannot be reached, a file that is no model
        said = " ".join(str(error).split())[:400] or type(error).__name__
        raise InvalidConfigError(f"embedder {provider}:{model} cannot be used: {said}") from error
    name = f"{provider}/{model}"
    if model_in(name) == LOCAL_MODEL:
        return WrappedEmbedder(_InScript(made), name=f"{name}+script")
    return WrappedEmbedder(made, name=name)


class _Asked:
    """The functions that embed texts and a question."""

    def __init__(self, documents: Callable[[list[str]], Any], query: Callable[[str], Any]) -> None:
        self.embed_documents = documents
        self.embed_query = query


class _InScript:
    """An embedder that adds the local embedder's last coordinate, so that their vectors are the same."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        rows = checked_rows(self._model.embed_documents(list(texts)), len(texts), None, LOCAL_MODEL)
        return passages_in_script(rows, texts)

    def embed_query(self, text: str) -> Floats:
        return query_in_script(checked_rows([self._model.embed_query(text)], 1, None, LOCAL_MODEL)[0], text)


def _fastembed(model: str) -> Any:
    import fastembed  # noqa: PLC0415 - optional

    known = {described["model"].lower() for described in fastembed.TextEmbedding.list_supported_models()}
    folder = Path(model).expanduser()
    settings: dict[str, Any] = {"specific_model_path": str(folder)} if folder.is_dir() else {}
    name = _described(model) if settings or (model.lower() not in known and wants_prefixes(model)) else model
    loaded = fastembed.TextEmbedding(name, **settings)
    plain = _Asked(
        lambda texts: np.stack(list(loaded.embed(texts))),
        lambda text: next(iter(loaded.embed([text]))),
    )
    if wants_prefixes(model):
        return prefixed(plain)
    return _Asked(
        lambda texts: np.stack(list(loaded.passage_embed(texts))), lambda text: next(iter(loaded.query_embed(text)))
    )


def _described(model: str) -> str:
    """Register a model that fastembed does not know: averaged over its tokens, of unit length."""
    from fastembed import TextEmbedding  # noqa: PLC0415 - optional
    from fastembed.common.model_description import ModelSource, PoolingType  # noqa: PLC0415 - optional

    name = f"{CUSTOM}/{model}"
    if not any(described["model"] == name for described in TextEmbedding.list_supported_models()):
        TextEmbedding.add_custom_model(
            name, pooling=PoolingType.MEAN, normalization=True, sources=ModelSource(hf=model), dim=0
        )
    return name


def _sentence_transformers(model: str) -> Any:
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - optional

    loaded = SentenceTransformer(model)
    if any(loaded.prompts.values()):
        return _Asked(loaded.encode_document, loaded.encode_query)
    plain = _Asked(loaded.encode, loaded.encode)
    return prefixed(plain) if wants_prefixes(model) else plain


_MAKERS = {"fastembed": _fastembed, "sentence-transformers": _sentence_transformers}
