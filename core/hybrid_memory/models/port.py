"""What is asked of models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from hybrid_memory.arrays import Array, Floats
from hybrid_memory.config.weights import Weights
from hybrid_memory.log.message import Message


class Embedder(Protocol):
    """Turns texts into vectors; vectors of embedders with different names are never compared."""

    @property
    def name(self) -> str:
        """Of model and variant."""
        ...

    @property
    def dim(self) -> int:
        """Width of the vectors."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Unit rows of shape (n, dim)."""
        ...

    def embed_query(self, text: str) -> Floats:
        """A unit vector of shape (dim,)."""
        ...


class MediaEmbedder(Protocol):
    """Turns images or sounds, and texts that describe them, into vectors of one space.

    Every method raises `ModelError` when the model fails.
    """

    @property
    def name(self) -> str:
        """Of model and variant."""
        ...

    @property
    def dim(self) -> int:
        """Width of the vectors."""
        ...

    @property
    def kinds(self) -> frozenset[str]:
        """What it embeds: ``image``, ``audio`` or both."""
        ...

    def embed_media(self, media: Sequence[bytes], kind: str) -> Floats:
        """Unit rows of shape (n, dim); a row of zeros for what the model cannot read."""
        ...

    def embed_query(self, text: str) -> Floats:
        """A unit vector of shape (dim,)."""
        ...


class LanguageModel(Protocol):
    """Writes text; optional everywhere, and whatever needs one has a deterministic default.

    Every method raises `ModelError` when the model fails, answers nothing, or takes longer than its time limit.
    """

    @property
    def name(self) -> str:
        """Of the model."""
        ...

    def complete(self, messages: Sequence[Message]) -> str:
        """The answer to this conversation; not empty."""
        ...

    def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
        """The answer as a JSON object that was asked to follow this JSON schema; its fields are not validated."""
        ...


class TextCompressor(Protocol):
    """Shortens a text by leaving out tokens that say little."""

    def compress(self, text: str, *, max_tokens: int) -> str:
        """The text in about so many tokens, or fewer; raises `ModelError` when that fails."""
        ...


class Ranker(Protocol):
    """Scores the candidates of a recall; those with the highest scores become its hits."""

    @property
    def name(self) -> str:
        """Of the ranker, for explanations; empty if a score is the weighted mean of the signals."""
        ...

    def score(
        self, query: str, signals: Mapping[str, Array], weights: Weights, texts: Callable[[Sequence[int]], list[str]]
    ) -> Array:
        """The score of each candidate: shape (n,), in [0, 1], higher is better; equal ones go by age.

        Raises `ModelError` when a model fails: recall then takes the weighted mean.

        Args:
            query: as it was asked.
            signals: of shape (n,), in [0, 1], under the field names of `Signals`.
            weights: of the signals, as this query applies them.
            texts: reads the words of some rows from the index.
        """
        ...
