"""Rerankers: a wrapper for models that score how well each text answers a query."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from hybrid_memory.arrays import Array
from hybrid_memory.errors import InvalidInputError, ModelError
from hybrid_memory.models.embedders import name_of
from hybrid_memory.runtime.breaker import model_limit
from hybrid_memory.validation import shown

ROW = "hybrid_memory_row"  # the metadata key of a LangChain document for its index among the texts


class WrappedReranker:
    """A reranker made from another framework's, with a time limit for each call.

    Accepts LangChain's ``BaseDocumentCompressor`` and ``BaseCrossEncoder``, LlamaIndex's ``BaseNodePostprocessor``, a
    ``CrossEncoder`` of sentence-transformers, and any callable from a query and a list of texts to one number per
    text. It does not use the frameworks' async methods, since their clients belong to one event loop.
    """

    def __init__(self, model: Any, timeout: timedelta) -> None:
        self._ask = _asker(model)
        self.name = name_of(model) or type(model).__name__
        self._limit = model_limit(f"reranker {self.name!r}", timeout)

    def score(self, query: str, texts: Sequence[str]) -> Array:
        """How well each text answers: shape (n,), in [0, 1], higher is better; NaN for a text that was left out.

        Numbers in [0, 1] stay unchanged; larger ones are all divided by the largest; if one is negative, all are taken
        as logits: ``1 / (1 + exp(-x))``. If the model returns only an order, the first of n gets 1 and the last 1 / n.

        Raises:
            ModelError: the model failed, took too long, or returned no number for a text.
        """
        if not texts:
            return np.zeros(0)
        answer = self._limit.answer(self._ask, query, list(texts))
        if answer.shape != (len(texts),) or np.isinf(answer).any():
            raise ModelError(f"reranker {self.name!r} did not return {len(texts)} finite numbers")
        return to_unit(answer)


def to_unit(values: Array) -> Array:
    """The numbers in [0, 1], in the same order; see `WrappedReranker.score`. NaN stays."""
    least, most = np.nanmin(values, initial=0.0), np.nanmax(values, initial=1.0)
    if least < 0:
        return np.asarray(1 / (1 + np.exp(-np.clip(values, -500.0, 500.0))))
    return values / most


def _asker(model: Any) -> Callable[[str, list[str]], Array]:
    if isinstance(model, type):
        raise InvalidInputError(f"{shown(model)} is a class: give an instance")
    # Both frameworks check the types of what they are given. Where the model is, so is the module.
    if callable(compress := getattr(model, "compress_documents", None)):

        def compressed(query: str, texts: list[str]) -> Array:
            document = importlib.import_module("langchain_core.documents").Document
            given = [document(page_content=text, metadata={ROW: row}) for row, text in enumerate(texts)]
            ranked = compress(given, query)
            return _placed([(one.metadata[ROW], one.metadata.get("relevance_score")) for one in ranked], len(texts))

        return compressed
    if callable(postprocess := getattr(model, "postprocess_nodes", None)):

        def postprocessed(query: str, texts: list[str]) -> Array:
            schema, count = importlib.import_module("llama_index.core.schema"), len(texts)
            given = [
                schema.NodeWithScore(node=schema.TextNode(id_=str(row), text=text), score=(count - row) / count)
                for row, text in enumerate(texts)
            ]
            ranked = postprocess(given, query_str=query)
            return _placed([(int(one.node.node_id), one.score) for one in ranked], count)

        return postprocessed
    for name in ("predict", "score"):  # sentence-transformers, LangChain
        if callable(score := getattr(model, name, None)):
            return lambda query, texts: _numbers(score([(query, text) for text in texts]))
    if callable(model):
        return lambda query, texts: _numbers(model(query, texts))
    raise InvalidInputError(
        f"{shown(model)} cannot rank: give a document compressor or cross-encoder of LangChain, a node postprocessor "
        "of LlamaIndex, or a callable from a query and texts to a number each"
    )


def _numbers(given: Any) -> Array:
    """One number per text, from a list, an array, a tensor or a generator."""
    numbers = np.asarray(given if hasattr(given, "__len__") else list(given), dtype=np.float64)
    if np.isnan(numbers).any():
        raise ValueError("one of its numbers is NaN")
    return numbers


def _placed(ranked: Sequence[tuple[int, float | None]], count: int) -> Array:
    """The score of each row, given the rows best first with a framework's scores, if any; NaN for rows not given.

    The order decides: if the scores contradict it, they are from an earlier step.
    """
    kept: dict[int, float | None] = {}
    for row, score in ranked:
        kept.setdefault(row, score)
    if not set(kept) <= set(range(count)):
        raise ValueError("it returned a text that it was not given")
    told = np.array([*kept.values()], dtype=np.float64)
    by_place = 1 - np.arange(len(told)) / max(len(told), 1)
    scores = np.full(count, np.nan)
    scores[[*kept]] = told if np.isfinite(told).all() and (np.diff(told) <= 0).all() else by_place
    return scores
