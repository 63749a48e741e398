"""The interfaces of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from hybrid_memory.arrays import Floats
from hybrid_memory.log.message import Message


class Embedder(Protocol):
    """An embedder, which turns texts into vectors; vectors of embedders with different names are never compared."""

    @property
    def name(self) -> str:
        """Of model and variant."""

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Unit rows of shape (n, dim), always of the same width."""

    def embed_query(self, text: str) -> Floats:
        """A unit vector of shape (dim,)."""


class LanguageModel(Protocol):
    """A language model. It is optional everywhere: everything that uses one has a deterministic default.

    Every method raises `ModelError` if the model fails, returns an empty answer, or exceeds its time limit.
    """

    @property
    def name(self) -> str:
        """The name of the model."""

    def complete(self, messages: Sequence[Message]) -> str:
        """The answer to this conversation; not empty."""

    def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
        """The answer as a JSON object. The model is asked to follow this JSON schema, but fields are not validated."""


class TextCompressor(Protocol):
    """A compressor that shortens a text by removing tokens with little information."""

    def compress(self, text: str, *, max_tokens: int) -> str:
        """The text in about this many tokens, or fewer; raises `ModelError` on failure."""
