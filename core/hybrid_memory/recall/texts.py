"""``score``: how well texts that are not memories answer a query, by the arithmetic of recall."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

import numpy as np

from hybrid_memory.arrays import Array, Floats
from hybrid_memory.config.memory import Weights
from hybrid_memory.errors import InvalidInputError, ModelError, StoreUnavailableError
from hybrid_memory.index.bm25 import matches
from hybrid_memory.models.port import Embedder
from hybrid_memory.recall import signals
from hybrid_memory.recall.cache import RecallProjection
from hybrid_memory.recall.choose import diverse
from hybrid_memory.recall.gather import query_vector
from hybrid_memory.recall.hit import Scored, Signals
from hybrid_memory.recall.plan import checked_query
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.indexing import content_key, embedding
from hybrid_memory.store.services import Services
from hybrid_memory.text.tokenize import terms
from hybrid_memory.validation import checked_count, checked_text, shown

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """A validated call of score; ``vectors`` are unit rows, ``at`` is seconds since 1970, NaN if unpresent."""

    query: str
    texts: Sequence[str]
    vectors: Sequence[Floats | None]
    at: Array | None
    weights: Weights | None
    k: int
    diversity: float | None

    @classmethod
    def of(
        cls,
        query: str,
        texts: Sequence[str],
        *,
        vectors: Sequence[Any] | None = None,
        at: Sequence[datetime | None] | None = None,
        weights: Weights | None = None,
        k: int | None = None,
        diversity: float | None = None,
    ) -> Self:
        """The request; raises `InvalidInputError` if an argument is invalid."""
        texts, query = [checked_text("a text", text) for text in texts], checked_query(query)
        if diversity is not None and not 0 <= diversity <= 1:
            raise InvalidInputError(f"diversity must lie in 0 to 1, got {shown(diversity)}")
        for name, given in (("vectors", vectors), ("at", at)):
            if given is not None and len(given) != len(texts):
                raise InvalidInputError(f"{name} must have one entry per text: {len(texts)}, got {len(given)}")
        return cls(
            query=query,
            texts=texts,
            vectors=[
                _unit(row, given) for row, given in enumerate([None] * len(texts) if vectors is None else vectors)
            ],
            at=None if at is None else np.array([_seconds(instant) for instant in at], dtype=np.float64),
            weights=weights,
            k=len(texts) if k is None else checked_count("k", k, least=1),
            diversity=diversity,
        )


def _unit(row: int, given: Any) -> Floats | None:
    if given is None:
        return None
    try:
        vector = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"vectors[{row}] is not a list of numbers: {error}") from None
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise InvalidInputError(f"vectors[{row}] must be finite numbers in one row, got shape {vector.shape}")
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector


def _seconds(instant: Any) -> float:
    if instant is None:
        return float("nan")
    if not isinstance(instant, datetime) or instant.tzinfo is None:
        raise InvalidInputError(f"at must be datetimes with a time zone, or None, got {shown(instant)}")
    return instant.timestamp()


async def score(run: Runner, services: Services, request: Request) -> list[Scored]:
    """At most k of the texts, best first; of equal scores the earlier text comes first."""
    if not request.texts:
        return []
    result = await measured(run, services, request)
    order = np.argsort(-result.scores, kind="stable")
    diversity = services.config.recall.diversity if request.diversity is None else request.diversity
    if diversity:
        vectors = np.zeros((len(order), 1)) if result.vectors is None else np.nan_to_num(result.vectors[order])
        likeness = vectors.astype(np.float64) @ vectors.astype(np.float64).T  # 0 without vectors, as in an index
        order = order[diverse(result.scores[order], likeness, request.k, diversity)]
    return [
        Scored(
            row=row,
            text=request.texts[row],
            score=float(result.scores[row]),
            signals=Signals(**{name: float(column[row]) for name, column in result.columns.items()}),
            weights=result.weights,
            note=result.note,
        )
        for row in order[: request.k].tolist()
    ]


@dataclass(frozen=True, slots=True)
class Measured:
    """Columns of shape (n,), the texts' vectors (None without an embedder), and the weights as applied."""

    columns: dict[str, Array]
    scores: Array
    weights: Weights
    vectors: Floats | None
    note: str


async def measured(run: Runner, services: Services, request: Request) -> Measured:
    """The signals and the score of each text, in the given order."""
    given = request.weights or services.config.recall.weights or Weights.plain()
    # Neighbours, importance, uses and newer contradictions need a memory.
    recency = 0.0 if request.at is None else given.recency
    weights = replace(Weights.plain(), vector=given.vector, text=given.text, recency=recency)
    asked, vectors, note = await _vectors(run, services, request) if weights.vector else (None, None, "")
    if weights.vector and (asked is None or vectors is None):  # the words take the weight of both
        weights = replace(weights, vector=0.0, text=weights.vector + weights.text)
    nothing = np.zeros(len(request.texts))
    columns = {
        "vector": nothing if asked is None or vectors is None else by_meaning(asked, vectors),
        "text": by_words(request.query, request.texts),
        "recency": nothing,
    }
    if request.at is not None:
        ages = services.clock().timestamp() - request.at
        present = signals.recency_signal(ages, services.config.recall.half_life.total_seconds())
        columns["recency"] = np.nan_to_num(present, nan=0.0)
    return Measured(columns, signals.weighted_mean(columns, weights), weights, vectors, note)


async def _vectors(run: Runner, services: Services, request: Request) -> tuple[Floats | None, Floats | None, str]:
    """Vectors of the query and, if not given, of the texts; or why there are none."""
    try:
        asked, note = await query_vector(run, services, request.query)
        if asked is None or services.embedder is None:
            return None, None, note
        return asked, await _rows(run, services, services.embedder, request, len(asked)), ""
    except (ModelError, StoreUnavailableError) as error:
        _log.warning("%s; scoring by words alone", error)
        return None, None, f"words alone, {error}"


async def _rows(run: Runner, services: Services, embedder: Embedder, request: Request, width: int) -> Floats:
    """A row for each text, NaN if it is blank."""
    given = zip(request.texts, request.vectors, strict=True)
    needed = dict.fromkeys(text for text, vector in given if vector is None and text.strip())
    passages = services.state(RecallProjection).passages
    made = {text: passages.get(content_key(embedder.name, text)) for text in needed}
    missing = [text for text, vector in made.items() if vector is None]
    if missing:
        for text, vector in zip(missing, await embedding(run, embedder.embed_documents, missing), strict=True):
            made[text] = vector
            passages.put(content_key(embedder.name, text), vector)
    rows = np.full((len(request.texts), width), np.nan, dtype=np.float32)
    for row, (text, own) in enumerate(zip(request.texts, request.vectors, strict=True)):
        present = made.get(text) if own is None else own
        if present is None:
            continue
        if len(present) != width:
            raise InvalidInputError(f"vectors[{row}] has {len(present)} numbers, the query's has {width}")
        rows[row] = present
    return rows


def by_words(query: str, texts: Sequence[str]) -> Array:
    """The text signal of each text, of shape (n,)."""
    return signals.text_signal(matches(terms(query), [terms(text) for text in texts]))


def by_meaning(query: Floats, vectors: Floats) -> Array:
    """The vector signal of each text, of shape (n,): of unit rows (n, dim), 0 for a row with NaN."""
    present = np.isfinite(vectors).all(axis=1)
    if not present.any():
        return np.zeros(len(vectors))
    rows = vectors[present].astype(np.float64)
    middle = rows.mean(axis=0)
    asked = signals.centred(query.astype(np.float64), middle, len(rows))
    similarity = np.full(len(vectors), np.nan)
    similarity[present] = rows @ asked
    return np.where(present, signals.vector_signal(similarity, float(asked @ middle)), 0.0)
