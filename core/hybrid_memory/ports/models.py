"""What is asked of models, and of the clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from hybrid_memory.ports.index import Floats
from hybrid_memory.types import Claim, Event, Message

Progress = Callable[[int, int], None]
"""Called with (done, total) while long work runs."""


class Clock(Protocol):
    """Tells the time."""

    def __call__(self) -> datetime:
        """Now; aware."""
        ...


class IdSource(Protocol):
    """Gives ids."""

    def __call__(self) -> str:
        """A new id that sorts after all earlier ones of this process."""
        ...


class FactExtractor(Protocol):
    """Reads claims from turns."""

    @property
    def name(self) -> str:
        """Of the extractor; what it has read is kept apart from what others have."""
        ...

    def extract(self, turns: Sequence[Event], before: Sequence[Event]) -> list[Claim]:
        """What these turns claim, by position; ``before`` are the turns that came before them, oldest first.

        The claims of a turn depend on the turn and those before it, not on how turns are cut into calls.

        Raises:
            ModelError: a model failed; the turns will be given again.
        """
        ...


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


class TokenCounter(Protocol):
    """Counts the tokens of a text, as the model that will read it does."""

    def __call__(self, text: str, /) -> int:
        """0 or more."""
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
