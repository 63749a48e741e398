"""Checks whether an embedder made a store's vectors: by its name, or else by comparing one vector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from itertools import islice
from typing import Any, TypeVar, cast

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.config import CleaningLevel
from hybrid_memory.errors import EmbedderMismatchError, ModelError
from hybrid_memory.index.derive import passage_and_alone
from hybrid_memory.index.port import SemanticIndex
from hybrid_memory.index.record import Where
from hybrid_memory.models.embedders import AGREE, model_in
from hybrid_memory.models.port import Embedder, MediaEmbedder
from hybrid_memory.scope import Scope
from hybrid_memory.store.indexing import content_key

LOOKED_AT = 20
"""Among how many of the newest records of an owner, and owners, to look for a text with a vector."""

COMPARED_CHARS = 1_000
"""Longer texts are not compared: some packages cut them, others average."""

E = TypeVar("E", bound=Embedder | MediaEmbedder)


def under_stored_name(index: SemanticIndex, owners: Iterable[Scope], embedder: E, cleaning: CleaningLevel) -> E:
    """The embedder, under the name stored for it.

    Raises:
        EmbedderMismatchError: another embedder made the store's vectors.
        ModelError: it must be compared with another one, and fails.
    """
    stored = index.embedder()
    if stored is None or stored[0] == embedder.name:
        return embedder
    known_as = getattr(embedder, "also", ())
    if stored[0] not in known_as:
        model = model_in(embedder.name)
        if model is None or model != model_in(stored[0]):
            raise EmbedderMismatchError(stored, (embedder.name, None))
        cosine = _cosine(index, owners, cast("Embedder", embedder), stored[0], cleaning)
        if cosine is None or cosine < AGREE:
            raise EmbedderMismatchError(stored, (embedder.name, None), cosine=cosine)
    same: Any = copy(embedder)  # the caller's keeps its name
    same.name = stored[0]
    return cast("E", same)


def _cosine(
    index: SemanticIndex, owners: Iterable[Scope], embedder: Embedder, name: str, cleaning: CleaningLevel
) -> float | None:
    """The cosine of a stored vector and this embedder's for the same text; None without one to compare."""
    for text, vector in _embedded(index, owners, name, cleaning):
        try:
            made = embedder.embed_documents([text])[0]
        except ModelError:
            raise
        except Exception as error:  # a package of its own raises what it likes
            raise ModelError(f"embedder {embedder.name!r} failed: {type(error).__name__}: {error}") from error
        return float(made @ vector / (np.linalg.norm(vector) or 1)) if made.shape == vector.shape else 0.0
    return None


def _embedded(
    index: SemanticIndex, owners: Iterable[Scope], name: str, cleaning: CleaningLevel
) -> Iterator[tuple[str, Floats]]:
    """Texts of turns, with their vectors."""
    for owner in islice(owners, LOOKED_AT):
        records = index.get(index.search(None, Where(owner), LOOKED_AT).ids.tolist())
        before = index.previous(owner, records)
        for record in records:
            for text in passage_and_alone(record, before.get(record.id), cleaning):
                known = index.known([content_key(name, text)]) if len(text) <= COMPARED_CHARS else {}
                for vector in known.values():
                    yield text, vector
